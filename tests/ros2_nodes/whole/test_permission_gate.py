"""Whoever goes on to command the robot after the latch, with real processes: it plays its stop and then holds."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from trajectory_msgs.msg import JointTrajectory

from tendon.core.modes import Mode, PermissionState
from tendon.core.permission import Permission
from tendon.core.types import SentTrajectory
from tendon.evaluation.limits import worst_of
from tendon.evaluation.motion import Motion
from tendon.graph import topics
from tendon.robots.easing import BELIEVED
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.clients.witness import Witness
from tests import ROOT
from tests.ros2_nodes.repeating import repeating
from tests.ros2_nodes.running_graph import PROFILE, RunningGraph

pytestmark = pytest.mark.graph

ARM = PROFILE.controllers[0]
COLUMNS = [PROFILE.joint_names.index(name) for name in ARM.joints]
MOVED = 2e-3
"""What a held joint may sag or tremble [rad]; a rogue command asks for a hundred times as much."""
EXAMPLE = ROOT / "docs" / "examples" / "two_joint_arm" / "profile.yaml"


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGraph]:
    running = RunningGraph(tmp_path_factory.mktemp("graph") / "log", "policy:=none", "scene:=100062")
    running.ready()
    yield running
    running.end()


def rogue_command(graph: RunningGraph, witness: Witness) -> bytes:
    """A command that any controller takes: stamped now, from where the arm is commanded, 0.3 rad on and to rest."""
    motion = witness.motion()
    position, velocity = motion.position[-1][COLUMNS], motion.velocity[-1][COLUMNS]
    way = np.where(position > 0, -0.3, 0.3)
    return wire.write_trajectory(
        SentTrajectory(
            stamp_ns=graph.now_ns(),
            joint_names=ARM.joints,
            times_ns=[1_000_000, 1_000_000_000],
            position=np.array([position, position + way]),
            velocity=np.array([velocity, np.zeros(len(way))]),
        )
    )


def latched(graph: RunningGraph) -> bool:
    return graph.state() is PermissionState.LATCHED


def holds(graph: RunningGraph, witness: Witness) -> None:
    """Nothing commands the robot on, and it stays where its stop ended, for two seconds as the witness sees them."""
    graph.wait(lambda: graph.mode() is Mode.LATCHED and graph.operator.at_rest(), "rest")
    graph.pause(0.3)
    began_ns, seen = graph.now_ns(), len(graph.states)

    def motion_since() -> Motion:
        return witness.motion().between(began_ns, witness.newest_ns())

    graph.wait(lambda: witness.newest_ns() > began_ns + 2_000_000_000, "two seconds of commanded motion")
    graph.wait(lambda: len(motion_since().time_ns) > 300, "enough of it")
    motion = motion_since()
    assert (motion.position == motion.position[0]).all() and not motion.velocity.any(), "it was commanded on"
    assert np.ptp([state[1][COLUMNS] for state in graph.states[seen:]], axis=0).max() < MOVED


@pytest.mark.parametrize("with_permission", [False, True], ids=["commands", "commands and permissions"])
def test_a_rogue_publisher_that_goes_on_after_the_latch_moves_nothing(
    graph: RunningGraph, with_permission: bool
) -> None:
    """It sends a hundred commands a second, each of them one that a trajectory controller takes. In one case it says
    besides, as often, that the robot is armed, by an arming later than any.
    """
    node = graph.operator.node
    witness = Witness(node, PROFILE)
    graph.set_in_motion()
    witness.forget()
    rogue = node.create_publisher(JointTrajectory, topics.commands(ARM), qos.NEWEST)
    liar = node.create_publisher(DiagnosticArray, wire.PERMISSION.name, qos.NEWEST) if with_permission else None
    count = 0

    def send() -> None:
        nonlocal count
        if not latched(graph) or not witness.newest_ns():
            return
        count += 1
        if liar is not None:
            lie = Permission(state=PermissionState.ARMED, event=time.time_ns() + count, reason="")
            liar.publish(wire.PERMISSION.encode(lie, graph.now_ns()))
        rogue.publish(rogue_command(graph, witness))

    try:
        with repeating(send):
            graph.wait(lambda: latched(graph), "latched")
            holds(graph, witness)
            graph.wait(lambda: count > 50, "enough of the rogue")
            worst = worst_of(witness.motion())
            assert worst.broken == 0, worst
    finally:
        for publisher in filter(None, (rogue, liar)):
            node.destroy_publisher(publisher)
    graph.set_in_motion()
    graph.hold_still()
    graph.stop()


def test_what_the_arm_meets_while_it_brakes_is_not_pressed_on(graph: RunningGraph) -> None:
    """The stop that it holds goes on beyond what holds a joint, and no later command of the control node is taken.

    On a busy machine the stop may come so late that nobody believes how far off the joint is, or where the arm turns
    and hardly moves: then once more.
    """
    joint, node = PROFILE.joint_names[graph.joint], graph.operator.node
    allowed = float(PROFILE.tracking_tolerance[graph.joint])
    held_by = PROFILE.safety.held_share * allowed  # off by less, a joint counts as held: it may swing at rest
    pressed = 0.0
    while not 2 * held_by < pressed <= BELIEVED * allowed:
        witness = Witness(node, PROFILE)
        graph.set_in_motion()
        graph.operator.set_parameter("sim_node", "jammed", joint)
        try:
            graph.stop()
            graph.wait(graph.operator.at_rest, "rest")
            graph.pause(1.0)
            motion, held = witness.motion(), graph.states[-1][1][COLUMNS]
            pressed = np.abs(motion.position[-400:, graph.joint] - held[graph.joint]).max(initial=0.0)
        finally:
            graph.operator.set_parameter("sim_node", "jammed", "")
    left = np.abs(motion.position[-1][COLUMNS] - held).max()
    assert left < held_by, f"pressed on by {left:.3f} rad"
    worst = worst_of(motion)
    assert worst.broken == 0, worst
    graph.set_in_motion()
    graph.hold_still()
    graph.stop()


def test_a_rogue_publisher_from_before_the_latch_is_at_its_end_with_it(graph: RunningGraph) -> None:
    """What it could do while the robot was armed ends: no command of its own is taken after the latch."""
    node = graph.operator.node
    witness = Witness(node, PROFILE)
    graph.set_in_motion()
    rogue = node.create_publisher(JointTrajectory, topics.commands(ARM), qos.NEWEST)
    graph.wait(lambda: witness.newest_ns() > 0, "what the arm is commanded")
    try:
        with repeating(lambda: rogue.publish(rogue_command(graph, witness))):
            graph.wait(lambda: latched(graph), "latched")
            graph.pause(1.5)
            holds(graph, witness)
    finally:
        node.destroy_publisher(rogue)
