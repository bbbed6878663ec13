"""A residual in the running graph: it moves what it may, is told of tick by tick, switched off, and withdrawn."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from trajectory_msgs.msg import JointTrajectory

from tendon.control.residual.gate import Evidence, Record, Tally
from tendon.control.residual.space import ResidualSpace
from tendon.control.residual.tools import joint_bound
from tendon.core.errors import ConfigError, StoppedError
from tendon.core.files import replace_file
from tendon.core.node_status import ControlStatus
from tendon.graph import topics
from tendon.graph.parameters import RESIDUAL_AUTHORITY
from tendon.policies.bundle.bundle import load_bundle, write_bundle
from tendon.policies.inference.identity import policy_digest
from tendon.robots.kinematics import Kinematics
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.control.correction import read_record
from tests.policies.residual.tiny import write_constant
from tests.ros2_nodes.running_graph import PROFILE, RunningGraph
from tests.ros2_nodes.tiny_bundle import write_tiny_bundle

pytestmark = pytest.mark.graph
SPACE = ResidualSpace()
UP = (0.0, 0.0, 1.0, 0.0)
SHOWN = Evidence(base=Tally(successes=0, total=200), residual=Tally(successes=200, total=200))
EPISODES = 400
RAMP_S = 0.8


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGraph]:
    folder = tmp_path_factory.mktemp("residual")
    bundle = load_bundle(write_tiny_bundle(folder / "tiny"))
    write_constant(folder / "up", UP, policy_digest(bundle.manifest), SPACE, evidence=SHOWN)
    write_bundle(folder / "other", replace(bundle.manifest, name="other"), bundle.content)
    policies = f"policy:={folder / 'tiny'}", f"standby:={folder / 'other'}"
    running = RunningGraph(
        folder / "log", "backend:=mock", *policies, f"residual:={folder / 'up'}", "instruction:=left"
    )
    running.ready()
    yield running
    running.end()
    shutil.rmtree(folder, ignore_errors=True)


class Steps:
    """What `control/residual` has said: (k, 3, n) base, target, committed."""

    def __init__(self, graph: RunningGraph) -> None:
        self._rows: list[np.ndarray] = []
        node = graph.operator.node
        node.create_subscription(JointTrajectory, topics.RESIDUAL, self._take, qos.EACH, raw=True)

    def _take(self, data: bytes) -> None:
        self._rows.append(wire.read_trajectory(data).position)

    def __len__(self) -> int:
        return len(self._rows)

    def rows(self, first: int = 0) -> np.ndarray:
        return np.array(self._rows[first:])


class Judge:
    """Tells outcomes that count.

    Attributes:
        state: what becomes of the residual, as the last answer said.
    """

    def __init__(self, graph: RunningGraph) -> None:
        self._outcome, self.state = graph.operator.outcome, "acts, perhaps"

    def tell(self, success: bool) -> str:
        """Tells it when the policy has moved the robot, and a residual has acted at its whole authority."""
        for _ in range(100):
            time.sleep(RAMP_S if "acts" in self.state else 0.005)
            try:
                self.state = self._outcome(success)
            except StoppedError as error:
                if "has not moved" not in str(error):
                    self.state = "acts, perhaps"
            else:
                return self.state
        raise AssertionError("nothing counts")

    def until_it_acts(self) -> None:
        for _ in range(EPISODES):
            if "acts" in self.tell(True):
                return
        raise AssertionError("it never acted")


def test_what_came_of_nothing_does_not_count(graph: RunningGraph) -> None:
    """It is the first that is told: nobody has armed yet."""
    for _ in range(3):
        with pytest.raises(StoppedError, match="not counted: the policy has not moved the robot since"):
            graph.operator.outcome(False)


def test_it_corrects_within_its_bounds_ramps_in_and_can_be_switched_off(graph: RunningGraph) -> None:
    steps = Steps(graph)
    graph.arm_until_it_moves()
    Judge(graph).until_it_acts()
    first = len(steps)
    graph.wait(lambda: len(steps) > first + 150, "one and a half seconds of steps")
    rows = steps.rows(first)
    change = rows[:, 1] - rows[:, 0]
    assert (np.abs(change) <= joint_bound(PROFILE, SPACE) + 1e-9).all()
    assert (np.abs(np.diff(change, axis=0)) <= 0.02).all(), "it jumps"
    tool = Kinematics(PROFILE)
    lifted = [tool.tool_pose(row[1])[0][2] - tool.tool_pose(row[0])[0][2] for row in rows[-20:]]
    assert np.allclose(lifted, SPACE.tool_m, atol=3e-3)
    lower, upper = PROFILE.vector("lower"), PROFILE.vector("upper")
    assert (rows[:, 2] >= lower).all() and (rows[:, 2] <= upper).all(), "the filter has the last word"
    graph.operator.set_parameter("control_node", RESIDUAL_AUTHORITY, 0.0)
    graph.wait(lambda: "switched off" in residual(graph), "off in the diagnostics")
    first = len(steps)
    graph.wait(lambda: len(steps) > first + 60, "steps without it")
    last = steps.rows()[-10:]
    assert (last[:, 0] == last[:, 1]).all()
    with pytest.raises(StoppedError, match=r"must be 0\.0"):
        graph.operator.set_parameter("control_node", RESIDUAL_AUTHORITY, 1.5)
    graph.operator.set_parameter("control_node", RESIDUAL_AUTHORITY, 1.0)
    graph.check_limits()


def test_what_another_policy_did_does_not_count(graph: RunningGraph) -> None:
    """Its failures had the residual withdrawn, or it hid them."""
    steps = Steps(graph)
    Judge(graph).until_it_acts()
    graph.operator.select("other")
    graph.wait(lambda: "another policy" in residual(graph), "said in the diagnostics")
    with pytest.raises(StoppedError, match="not counted: the robot was moved by another policy"):
        graph.operator.outcome(False)
    graph.wait(lambda: len(steps) > 100 and np.allclose(*steps.rows()[-1, :2], atol=1e-4), "no correction")
    graph.operator.select("tiny")
    graph.wait(lambda: "another policy" not in residual(graph), "the policy that it corrects")
    with pytest.raises(StoppedError, match="not counted"):
        graph.operator.outcome(False)
    Judge(graph).until_it_acts()


def test_one_that_fails_where_the_policy_succeeds_is_withdrawn_and_stays_so(graph: RunningGraph) -> None:
    judge = Judge(graph)
    state = judge.tell(True)
    for _ in range(EPISODES):
        state = judge.tell("acts" not in state)
        if state.startswith("withdrawn"):
            break
    assert state.startswith("withdrawn"), f"not within {EPISODES} episodes"
    graph.wait(lambda: residual(graph) == state, "the same in the diagnostics")
    assert judge.tell(True) == state


def residual(graph: RunningGraph) -> str:
    status = graph.operator.reports.newest(ControlStatus)
    return "" if status is None else status.residual


def test_what_was_learned_of_it_outlives_the_node(tmp_path: Path) -> None:
    assert read_record(tmp_path / "none.json") == Record()
    record = Record(base=Tally(successes=3, total=4), withdrawn="0 of 9 episodes succeeded with it")
    replace_file(tmp_path / "deep" / "record.json", json.dumps(asdict(record)).encode())
    assert read_record(tmp_path / "deep" / "record.json") == record


@pytest.mark.parametrize("total", [".nan", ".inf", "2.5", "true", "-1"])
def test_what_was_kept_holds_whole_numbers(total: str, tmp_path: Path) -> None:
    file = tmp_path / "record.json"
    kept = "residual: {successes: 0, total: 0}\nwithdrawn: ''\nlimit: 1.0\n"
    file.write_text(f"base: {{successes: 0, total: {total}}}\n{kept}")
    with pytest.raises(ConfigError, match=r"record.json base: total is .*, must be a whole number"):
        read_record(file)
