"""A leader arm is the joint states of another graph: a mock SO-101 in its namespace leads a mock SO-101 in ours."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from tendon.robots.profile import load_profile
from tests.ros2_nodes.running_graph import RunningGraph
from tests.ros2_nodes.teleop.person import Typist
from tests.ros2_nodes.teleop.strikes import Seat

pytestmark = [pytest.mark.graph, pytest.mark.laws]
SO101 = load_profile("so101")


def test_a_robot_follows_the_joints_of_another_graph_while_a_key_is_held(tmp_path: Path) -> None:
    """The leader swings its pan joint by itself; the follower follows from where both are, and rests when let go."""
    follower = RunningGraph(tmp_path / "follower.log", "robot:=so101", "backend:=mock", "policy:=none", profile=SO101)
    leader = RunningGraph(
        tmp_path / "leader.log",
        "robot:=so101",
        "backend:=mock",
        "policy:=none",
        "namespace:=leader",
        "clock:=realtime",
        profile=SO101,
    )
    try:
        for graph in (follower, leader):
            graph.ready()
        leader.set_in_motion()
        follower.arm()
        command = Seat.command_of(follower, "leader:so101@/leader+keyboard")
        with Typist(command, os.environ, clock_ns=follower.now_ns, delay_s=0.0) as typist:
            typist.await_panel()
            typist.hold(" ")
            first = len(follower.states)
            follower.wait(lambda: len(follower.states) > first + 400, "four seconds")
            swung = np.ptp([position[0] for _, position, _ in follower.states[first + 100 :]])
            assert swung > 0.15, f"it swung by {swung:.2f} rad"
            typist.release()
            follower.wait(follower.operator.at_rest, "rest")
            follower.pause(0.3)
            assert follower.operator.at_rest(), "the leader moves on, the follower does not"
        follower.check_limits()
    finally:
        leader.end()
        follower.end()
