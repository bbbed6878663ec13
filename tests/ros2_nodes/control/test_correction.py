"""What is kept of a residual: which outcomes count, and what a restart, arming or another backend may not change."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from rcl_interfaces.msg import SetParametersResult
from rclpy.parameter import Parameter
from rclpy.serialization import serialize_message
from std_srvs.srv import SetBool

from tendon.control.residual.gate import Evidence, Tally
from tendon.control.residual.space import MOST_EMBEDDING, MOST_POINTS, ResidualSpace
from tendon.control.tick import Tick
from tendon.core.errors import ConfigError
from tendon.core.modes import Mode
from tendon.core.node_status import NOT_KEPT
from tendon.core.types import ActionChunk, Features
from tendon.graph.parameters import RESIDUAL_AUTHORITY
from tendon.robots.profile import load_profile
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base.shell import NodeShell
from tendon.ros2_nodes.control.correction import Correction, Since, read_record
from tests.policies.residual.tiny import write_constant

PROFILE = load_profile("panda")
BASE = "b" * 64
SHOWN = Evidence(base=Tally(successes=0, total=200), residual=Tally(successes=200, total=200))
ROW = np.zeros(len(PROFILE.joint_names))


class Node:
    """What a correction needs of the control node."""

    profile = PROFILE

    def __init__(self, backend: str = "hardware", namespace: str = "/") -> None:
        self.backend, self.namespace = backend, namespace
        self.set: Callable[[Sequence[Parameter]], SetParametersResult]
        self.parameters: dict[str, object] = {}
        self.said: list[str] = []

    def get_logger(self) -> Any:
        return SimpleNamespace(warning=self.said.append)

    def get_namespace(self) -> str:
        return self.namespace

    def get_parameter(self, _: str) -> Any:
        return SimpleNamespace(value=self.backend)

    def set_parameters(self, parameters: Sequence[Parameter]) -> None:
        self.parameters |= {each.name: each.value for each in parameters}

    def add_on_set_parameters_callback(self, callback: Callable[[Sequence[Parameter]], SetParametersResult]) -> None:
        self.set = callback

    def create_publisher(self, *_: object) -> Any:
        return SimpleNamespace(publish=lambda _: None)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TENDON_STATE", str(tmp_path / "state"))
    write_constant(tmp_path / "up", (0.0, 0.0, 1.0, 0.0), BASE, ResidualSpace(), evidence=SHOWN)
    return tmp_path / "up"


def begun(place: Path, node: Node | None = None, authority: float = 1.0, acts: bool = True) -> Correction:
    """Returns one that acts, or is left out: 9 of 10 act."""
    for _ in range(1000):
        correction = Correction(cast(NodeShell, node or Node()), place, authority)
        if ("left out" not in correction.state) is acts:
            return correction
    raise AssertionError("never drawn")


def lead(correction: Correction, authority: float = 1.0, by_policy: bool = True) -> None:
    """Has the policy move the robot for a tick, or somebody else."""
    chunk = ActionChunk(actions=np.array([ROW, ROW]), observation_stamp_ns=1, start_ns=1, step_ns=10**8)
    correction._features[1] = Features(policy=BASE, embedding=np.zeros(0), points=np.zeros((0, 3)))
    correction.follow(correction.attach(chunk))
    correction.residual.authority.now = authority
    base = ROW if by_policy else None
    tick = Tick(mode=Mode.RUNNING, reference=ROW, acceleration=ROW, target=ROW, base=base, committed=ROW)
    correction.tell(1, tick)


def outcome(correction: Correction, success: bool) -> str:
    """Returns why it did not count; empty when it did."""
    answer = correction._ended(SetBool.Request(data=success), SetBool.Response())
    return "" if answer.success else str(answer.message)


def kept(correction: Correction) -> tuple[Tally, Tally]:
    record = read_record(correction._file)
    return record.base, record.residual


def limit(node: Node, value: float) -> None:
    assert node.set([Parameter(RESIDUAL_AUTHORITY, value=value)]).successful


@pytest.mark.parametrize("acts", [True, False])
def test_an_outcome_counts_once_the_policy_has_moved_the_robot(place: Path, acts: bool) -> None:
    correction = begun(place, acts=acts)
    assert "has not moved" in outcome(correction, True)
    lead(correction)
    assert outcome(correction, True) == ""
    one, none = Tally(successes=1, total=1), Tally()
    assert kept(correction) == ((none, one) if acts else (one, none))
    assert "has not moved" in outcome(correction, True), "the same outcome again"


def test_arming_again_does_not_draw_again(place: Path) -> None:
    """Else one could arm until it acts, whatever share it has earned."""
    for acts in (True, False):
        correction = begun(place, acts=acts)
        for _ in range(100):
            correction.begin()
            assert ("left out" not in correction.state) is acts


def test_a_residual_that_never_had_its_whole_authority_is_not_judged(place: Path) -> None:
    correction = begun(place)
    lead(correction, authority=0.98)
    assert "not acted at its whole authority" in outcome(correction, True)
    correction = begun(place)
    lead(correction, authority=0.0)
    assert "not acted at its whole authority" in outcome(correction, False)
    correction = begun(place)
    lead(correction)
    lead(correction, authority=0.3)  # the detector slowed the robot, as it does where things go wrong
    assert outcome(correction, False) == ""
    assert kept(correction)[1] == Tally(successes=0, total=1)


@pytest.mark.parametrize(("limited", "authority"), [(1.0, 0.97), (0.5, 0.5), (0.5, 0.3)])
def test_a_residual_that_harms_with_a_part_of_its_authority_is_withdrawn(
    place: Path, limited: float, authority: float
) -> None:
    """It was drawn, acted in 904 of 1000 episodes, and none of its failures counted."""
    node = Node()
    correction = begun(place, node, authority=limited)
    for _ in range(300):
        acts = "left out" not in correction.state
        lead(correction, authority=authority)
        assert outcome(correction, not acts) == ""
        if correction.state.startswith("withdrawn"):
            break
    assert correction.state.startswith("withdrawn") and "withdrawn" in node.said[-1]
    assert "withdrawn" in Correction(cast(NodeShell, node), place, limited).state and "delete" in node.said[-1]


def test_at_its_limit_a_residual_is_judged_and_what_came_of_less_says_nothing_of_more(place: Path) -> None:
    node = Node()
    correction = begun(place, node)
    limit(node, 0.5)
    correction.begin()
    lead(correction, authority=0.5)
    assert outcome(correction, True) == "" and kept(correction)[1] == Tally(successes=1, total=1)
    limit(node, 1.0)
    assert kept(correction)[1] == Tally()


@pytest.mark.parametrize("content", [None, "folder", "link", "{}", '{"withdrawn": null}', "[]", "1"])
def test_what_was_kept_is_not_lost_without_a_word(place: Path, content: str | None) -> None:
    file = begun(place)._file
    file.parent.mkdir(parents=True, exist_ok=True)
    whole = {"base": {"successes": 0, "total": 0}, "residual": {"successes": 0, "total": 0}, "limit": 1.0}
    if content is None:
        file.write_text(json.dumps({**whole, "withdrawn": "", "more": 1}))
    elif content == "folder":
        file.mkdir()
    elif content == "link":
        file.symlink_to(place / "nowhere")
    else:
        file.write_text(content)
    with pytest.raises(ConfigError, match=re.escape(str(file))):
        Correction(cast(NodeShell, Node()), place, 1.0)
    if file.is_file():
        for wrong in (None, False, 0):
            file.write_text(json.dumps({**whole, "withdrawn": wrong}))
            with pytest.raises(ConfigError, match="withdrawn is"):
                Correction(cast(NodeShell, Node()), place, 1.0)


def test_a_chunk_that_is_not_followed_says_nothing_of_the_plan(place: Path) -> None:
    correction = begun(place)
    lead(correction)
    late = ActionChunk(actions=np.array([ROW, ROW]), observation_stamp_ns=7, start_ns=1, step_ns=10**8)
    correction.attach(late)  # of a policy whose features were lost; the executor finds it too old
    tick = Tick(mode=Mode.RUNNING, reference=ROW, acceleration=ROW, target=ROW, base=ROW, committed=ROW)
    correction.tell(2, tick)
    assert outcome(correction, True) == ""


def test_who_takes_the_residual_back_does_not_hide_its_failure(place: Path) -> None:
    node = Node()
    correction = begun(place, node)
    lead(correction)
    limit(node, 0.0)
    assert outcome(correction, False) == ""
    assert kept(correction)[1] == Tally(successes=0, total=1)
    limit(node, 1.0)
    correction = begun(place, node)
    lead(correction)
    limit(node, 0.5)
    limit(node, 1.0)
    assert "limit of the residual was changed" in outcome(correction, True)


@pytest.mark.parametrize("acts", [True, False])
def test_a_rescue_is_no_success(place: Path, acts: bool) -> None:
    correction = begun(place, acts=acts)
    lead(correction)
    lead(correction, by_policy=False)
    assert "somebody else moved the robot" in outcome(correction, True)
    correction = begun(place, acts=acts)
    lead(correction)
    lead(correction, by_policy=False)
    assert outcome(correction, False) == ""
    correction = begun(place, acts=acts)
    lead(correction, by_policy=False)  # on its way to where the episode begins
    lead(correction)
    assert outcome(correction, True) == ""


def test_a_limit_outlives_the_node_and_its_parameter_says_so(place: Path) -> None:
    node = Node()
    begun(place, node)
    limit(node, 0.0)
    again = Node()
    assert begun(place, again).state == "switched off"
    assert again.parameters == {RESIDUAL_AUTHORITY: 0.0}
    limit(again, 1.0)
    begun(place, Node())


def test_a_robot_its_simulation_and_its_twin_do_not_share_what_is_known(place: Path) -> None:
    nodes = Node(), Node("sim"), Node("mock"), Node(namespace="/left"), Node(namespace="/right")
    assert len({begun(place, node)._file for node in nodes}) == len(nodes)
    assert begun(place, Node())._file == begun(place, Node())._file


@pytest.mark.parametrize("authority", [100.0, -0.1, float("nan")])
def test_an_authority_out_of_range_is_refused_at_the_start(place: Path, authority: float) -> None:
    with pytest.raises(ConfigError, match="residual_authority is"):
        Correction(cast(NodeShell, Node()), place, authority)


def test_a_disk_that_is_full_is_said_and_the_outcome_counts(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    correction = begun(place)
    lead(correction)
    monkeypatch.setattr("tendon.ros2_nodes.control.correction.replace_file", full)
    answer = correction._ended(SetBool.Request(data=True), SetBool.Response())
    assert answer.success and f"; what comes of it {NOT_KEPT} in " in answer.message, "beside what it draws"
    assert correction._gate.record.residual.total == 1


def test_a_limit_that_cannot_be_kept_is_said_beside_what_it_does(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    correction = begun(place)
    monkeypatch.setattr("tendon.ros2_nodes.control.correction.replace_file", full)
    assert correction._set([Parameter(RESIDUAL_AUTHORITY, value=0.0)]).successful
    assert correction.state.startswith(f"switched off; what comes of it {NOT_KEPT} in ")


def test_the_largest_features_of_a_residual_go_through_one_message() -> None:
    features = Features(policy=BASE, embedding=np.ones(MOST_EMBEDDING), points=np.ones((MOST_POINTS, 3)))
    stamp_ns, read = wire.read_features(serialize_message(wire.features_message(features, 1, "base")))
    assert (stamp_ns, len(read.embedding), len(read.points)) == (1, MOST_EMBEDDING, MOST_POINTS)
    with pytest.raises(ConfigError, match="embedding"):
        replace(ResidualSpace(), embedding=MOST_EMBEDDING + 1)


def test_nothing_is_doubted_of_a_plain_episode() -> None:
    assert not Since(moved=True, whole=True).doubt(acts=True, success=True)
