"""The whole graph with robots of all kinds, led by the expert of their suite: the task is done, no limit is broken."""

from __future__ import annotations

import pytest

from tendon.testing import assert_limits, assert_no_stop
from tendon.testing.plugin import StartGraph
from tests import ROOT
from tests.sim.test_robot_body import ROBOTS

pytestmark = pytest.mark.graph


def lead(start: StartGraph, robot: str, simulator: str, suite: str = "auto") -> None:
    graph = start(robot=robot, policy="expert", suite=suite, simulator=simulator, scene=100_008)
    graph.arm()
    graph.say(graph.instruction)
    graph.wait_until_done(within_s=45.0)  # on a busy machine the expert may have to try again
    assert_limits(graph)
    assert_no_stop(graph)


def test_an_arm_of_five_joints_does_its_task_in_mujoco(tendon_graph: StartGraph) -> None:
    lead(tendon_graph, "so101", "mujoco")


def test_an_arm_without_a_camera_does_the_task_of_a_suite_of_ones_own(tendon_graph: StartGraph) -> None:
    """What `tendon robot new` drafts has none: the state of the world is published all the same.

    The suite needs no change to Tendon.
    """
    lead(tendon_graph, str(ROOT / "docs/examples/two_joint_arm/profile.yaml"), "mujoco", "examples.own_suite:PRECISE")


@pytest.mark.laws
@pytest.mark.parametrize("simulator", ["pybullet", "mujoco"])
@pytest.mark.parametrize("robot", ROBOTS)
def test_every_robot_does_its_task_in_both_simulators(tendon_graph: StartGraph, robot: str, simulator: str) -> None:
    lead(tendon_graph, robot, simulator)
