"""What is seen of a graph is set against what it needs: each thing that is wrong is named, with what to do."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tendon.cli.survey import as_values, report
from tendon.core.node_status import ControlStatus, Level, NodeStatus
from tendon.graph.description import describe
from tendon.graph.expectations import expected_nodes, expected_topics
from tendon.graph.running.state import RunState
from tendon.graph.survey import Endpoint, Seen, Survey
from tendon.robots.profile import load_profile
from tests import ROOT

PROFILE = load_profile("panda")
SIMULATED = ("sim_node", "camera_node", "safety_monitor", "control_node", "policy_node")
HARDWARE = SIMULATED[2:]
MS = 10**6


def frames(offset_ms: float = 0.0, period_ms: float = 50.0, age_ms: float = 5.0) -> dict[str, object]:
    stamps = tuple(round((offset_ms + k * period_ms) * MS) for k in range(40))
    return {"count": 40, "rate_hz": 1000 / period_ms, "ages_ms": (age_ms,) * 40, "stamps_ns": stamps}


def survey(nodes: tuple[str, ...] = SIMULATED, **changes: Seen) -> Survey:
    """A graph in which all is well, but for the topics that are given (`__` stands for `/`)."""
    expected = expected_topics(PROFILE, nodes)
    seen = {}
    for each in expected:
        sender, receiver = (Endpoint(node=name, qos="reliable") for name in ("control_node", "sim_node"))
        flowing = {"count": 20, "rate_hz": each.rate_hz, "ages_ms": (1.0,)} if each.flows else {}
        if each.type.endswith("Image"):
            flowing = frames()
        seen[each.topic] = Seen(types=(each.type,), publishers=(sender,), subscribers=(receiver,), **flowing)
    statuses = {node: NodeStatus(node=node, level=Level.OK, text="running", robot="panda") for node in nodes}
    state = RunState(nodes=nodes, statuses=statuses, age_s=dict.fromkeys(nodes, 0.2))
    return Survey(
        profile=PROFILE,
        state=state,
        expected=expected,
        seen=seen | {topic.replace("__", "/"): value for topic, value in changes.items()},
    )


def change(topic: str, nodes: tuple[str, ...] = SIMULATED, **values: object) -> Survey:
    well = survey(nodes)
    return replace(well, seen={**well.seen, topic: replace(well.seen[topic], **values)})


def test_what_becomes_of_the_residual_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    well = survey()
    said = {"overruns": 0, "tracking": {}, "residual": "withdrawn: 0 of 50 [bad]"}
    control = ControlStatus(node="control_node", level=Level.OK, text="running", **said)
    statuses = {**well.state.statuses, "control_node": control}
    report(replace(well, state=replace(well.state, statuses=statuses)), as_json=False)
    assert "residual: withdrawn: 0 of 50 [bad]" in capsys.readouterr().out


SCENE, JOINTS, ARM = "camera/scene/image_raw", "joint_states", "panda_arm_controller/joint_trajectory"
TWO = (Endpoint(node="control_node", qos="reliable"), Endpoint(node="rogue", qos="reliable"))


def test_a_graph_in_which_all_is_well_has_no_problems(capsys: pytest.CaptureFixture[str]) -> None:
    assert survey().problems() == []
    assert report(survey(), as_json=False) == 0
    assert "nothing is missing" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("seen", "where", "text", "advice"),
    [
        (
            change(SCENE, HARDWARE, publishers=()),
            SCENE,
            "nobody publishes it, expected the camera's driver",
            "start the",
        ),
        (change(JOINTS, HARDWARE, publishers=()), JOINTS, "expected the robot's driver", "joint_state_broadcaster"),
        (change(ARM, HARDWARE, subscribers=()), ARM, "nobody takes it, expected the robot's controller", "start the"),
        (change(ARM, publishers=TWO), ARM, "has 2 publishers: control_node and rogue", "leave one"),
        (change(JOINTS, publishers=TWO), JOINTS, "has 2 publishers", "leave one"),
        (change(SCENE, count=0, rate_hz=None, ages_ms=(), stamps_ns=()), SCENE, "nothing came in 2 s", ""),
        (
            change(SCENE, **frames(age_ms=250.0)),
            SCENE,
            "is 250 ms old on arrival, at most 200 ms",
            "time of measurement",
        ),
        (change(JOINTS, ages_ms=(-30.0,)), JOINTS, "is stamped 30 ms in the future", "synchronise"),
        (
            change(JOINTS, types=("std_msgs/msg/String",)),
            JOINTS,
            "its type is std_msgs/msg/String",
            "publish sensor_msgs",
        ),
        (
            change(JOINTS, mismatches=("policy_node hears nothing of x: best effort publisher",)),
            JOINTS,
            "policy_node hears nothing of x",
            "quality of service",
        ),
        (
            change(SCENE, **frames(offset_ms=2000.0)),
            "cameras scene and wrist",
            "ms apart at best, at most 30.0 ms",
            "camera_skew_s",
        ),
    ],
)
def test_what_is_wrong_is_named_with_what_to_do(seen: Survey, where: str, text: str, advice: str) -> None:
    (problem,) = seen.problems()
    assert problem.where == where and problem.serious
    assert text in problem.text
    assert advice in problem.advice
    assert report(seen, as_json=True) == 1


def test_a_slow_camera_is_a_warning() -> None:
    """It works, with fewer observations: the graph is still ok."""
    seen = change(SCENE, **frames(period_ms=100.0))
    (problem,) = seen.problems()
    assert "comes 10.0 times a second, the profile says 20" in problem.text
    assert not problem.serious
    assert report(seen, as_json=True) == 0


def test_free_running_cameras_within_the_profiles_bound_are_no_problem() -> None:
    seen = change(SCENE, **frames(offset_ms=25.0))
    assert seen.problems() == []
    assert [(skew.cameras, skew.gap_ms, skew.allowed_ms) for skew in seen.skews()] == [
        (("scene", "wrist"), 25.0, pytest.approx(30.0))
    ]


def test_stamps_may_overtake_the_simulated_clock() -> None:
    early = change(JOINTS, ages_ms=(-20.0,))
    assert early.problems()
    assert not replace(early, simulated=True).problems()
    assert replace(change(JOINTS, ages_ms=(-1.8e12,)), simulated=True).problems(), "a driver that stamps by the wall"


def test_nodes_that_are_missing_silent_or_in_error_come_first() -> None:
    well = survey()
    blind = NodeStatus(node="policy_node", level=Level.ERROR, text="camera wrist: nothing has arrived")
    statuses = {**well.state.statuses, "policy_node": blind}
    ages = {node: 0.2 for node in SIMULATED if node != "camera_node"} | {"sim_node": 9.0}
    seen = replace(well, state=RunState(nodes=SIMULATED, statuses=statuses, age_s=ages))
    assert [(problem.where, problem.text) for problem in seen.problems()] == [
        ("sim_node", "has said nothing for 9 s"),
        ("camera_node", "is not heard"),
        ("policy_node", "camera wrist: nothing has arrived"),
    ]


@pytest.mark.parametrize(
    ("present", "wanted"),
    [
        (("safety_monitor", "policy_node"), HARDWARE),
        (("control_node",), ("safety_monitor", "control_node")),
        (("camera_node", "control_node"), SIMULATED[:-1]),
        (("mock_node", "control_node"), ("mock_node", "mock_camera_node", "safety_monitor", "control_node")),
    ],
)
def test_who_should_be_there_follows_from_who_is(present: tuple[str, ...], wanted: tuple[str, ...]) -> None:
    assert expected_nodes(PROFILE, present) == wanted


@pytest.mark.parametrize("backend", ["mock", "sim"])
def test_a_stand_in_without_cameras_lacks_no_camera_node(backend: str) -> None:
    """`tendon run` starts none for it, and `tendon status` called the graph broken."""
    place = str(ROOT / "docs" / "examples" / "two_joint_arm" / "profile.yaml")
    started = [process.name for process in describe({"robot": place, "backend": backend, "policy": "none"}).processes]
    assert set(expected_nodes(load_profile(place), started)) == set(started)


def test_without_a_policy_cameras_and_chunks_are_not_missed() -> None:
    nodes = ("safety_monitor", "control_node")
    well = survey(nodes)
    none = {topic: replace(well.seen[topic], publishers=()) for topic in (SCENE, "policy/action_chunk", "instruction")}
    assert replace(well, seen={**well.seen, **none}).problems() == []


def test_the_json_says_what_the_table_says() -> None:
    seen = change(SCENE, publishers=(), count=0, rate_hz=None, ages_ms=(), stamps_ns=())
    values = json.loads(json.dumps(as_values(seen, seen.problems())))
    assert values["ok"] is False and values["robot"] == "panda"
    assert values["topics"][SCENE]["rate_hz"] is None and values["topics"][SCENE]["publishers"] == {}
    assert values["topics"][JOINTS]["publishers"] == {"control_node": "reliable"}
    assert [problem["where"] for problem in values["problems"]] == [SCENE]
    assert values["nodes"]["policy_node"]["level"] == "ok" and values["nodes"]["policy_node"]["seen"] is True
