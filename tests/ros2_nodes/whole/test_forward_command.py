"""`backend:=mock` with a controller that takes single positions: what it follows, refuses, and takes after a latch."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import numpy as np
import pytest
import yaml
from std_msgs.msg import Float64MultiArray, String

from tendon.core.modes import Mode, PermissionState
from tendon.graph import topics
from tendon.robots.profile import load_profile
from tendon.ros2_nodes.base import qos
from tests import ROOT
from tests.ros2_nodes.repeating import repeating
from tests.ros2_nodes.running_graph import RunningGraph

pytestmark = pytest.mark.graph
MOVED = 2e-3
"""What a held joint may sag or tremble [rad]; a rogue command asks for a hundred times as much."""
EXAMPLE = ROOT / "docs" / "examples" / "two_joint_arm" / "profile.yaml"


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGraph]:
    """A robot whose controller takes positions, and has no stop on the wire."""
    folder, example = tmp_path_factory.mktemp("forward"), EXAMPLE.parent
    values = yaml.safe_load(EXAMPLE.read_text())
    values |= {key: str(example / values[key]) for key in ("urdf", "collisions")}
    values["controllers"][0] |= {"type": "forward_command", "timeout_s": 0.1}
    path = folder / "profile.yaml"
    path.write_text(yaml.safe_dump(values))
    arguments = (f"robot:={path}", "backend:=mock", "policy:=none")
    running = RunningGraph(folder / "log", *arguments, profile=load_profile(path), source="teleop")
    try:
        running.ready()
        running.operator.node.create_publisher(String, "control/source", qos.LATCHED).publish(String(data="teleop"))
        yield running
    finally:
        assert running.end() in (0, -signal.SIGINT)


def test_a_forward_command_controller_is_followed_and_nonsense_on_it_is_refused(graph: RunningGraph) -> None:
    """NaN on its topic is refused by the mock, which says so."""
    node = graph.operator.node
    graph.set_in_motion()
    graph.check_limits()
    graph.hold_still()
    graph.wait(graph.operator.at_rest, "rest")
    wrong = node.create_publisher(Float64MultiArray, "arm_controller/commands", qos.NEWEST)

    def refused() -> bool:
        wrong.publish(Float64MultiArray(data=[float("nan"), 0.0]))
        return "must be finite" in graph.log.read_text()

    try:
        graph.wait(refused, "a refusal")
        assert np.isfinite(graph.states[-1][1]).all()
    finally:
        node.destroy_publisher(wrong)


def test_a_controller_without_a_stop_on_the_wire_brakes_first_and_takes_nothing_after_that(
    graph: RunningGraph,
) -> None:
    """It needs the control node's commands until it is at rest. See `test_permission_gate.py` for the others."""
    profile = graph.profile
    graph.set_in_motion()
    del graph.states[:-2]
    topic = topics.commands(profile.controllers[0])
    rogue = graph.operator.node.create_publisher(Float64MultiArray, topic, qos.NEWEST)
    graph.wait(lambda: graph.state() is PermissionState.LATCHED, "latched")
    graph.wait(lambda: graph.mode() is Mode.LATCHED and graph.operator.at_rest(), "rest")
    graph.pause(1.0)
    states = np.array([state[2] for state in graph.states])
    step_s = np.diff([state[0] for state in graph.states]).max()
    braking = np.abs(np.diff(states, axis=0)).max(axis=0) / step_s
    assert (braking <= 1.2 * profile.vector("acceleration")).all(), "it was not braked, it was halted"
    stood = graph.states[-1][1]
    target = stood + np.where(stood > 0, -0.3, 0.3)
    with repeating(lambda: rogue.publish(Float64MultiArray(data=target.tolist()))):
        graph.pause(2.0)
    assert np.abs(graph.states[-1][1] - stood).max() < MOVED
