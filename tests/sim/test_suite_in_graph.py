"""A suite that is made harder is the same in a graph, whose nodes know no perturbations, as in an evaluation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tendon.core.errors import ConfigError
from tendon.evaluation.perturbed_policy import PerturbedPolicy
from tendon.evaluation.suites import SUITES, load_suite
from tendon.robots.profile import load_profile
from tendon.ros2_nodes.stand_ins.simulated_robot import SimulatedRobot
from tendon.sim.suite import Difficulty

PANDA = load_profile("panda")
SEED = 200_007


def test_scene_and_zeros_are_those_of_an_evaluation() -> None:
    plain, hard = load_suite("tabletop"), load_suite("tabletop_hard")
    robot = SimulatedRobot(PANDA, hard.for_graph(), hard.for_graph().scene(PANDA, SEED))
    nobody: Any = None
    seen = PerturbedPolicy(nobody, robot.world, hard.difficulty.arm)
    scene = seen.begin(hard.harder({}), hard.scene(PANDA, SEED))
    assert repr(robot.scene) == repr(scene) != repr(plain.scene(PANDA, SEED))
    said, true = robot.joint_state()[0], robot.world.joint_state()[0]
    np.testing.assert_allclose(said - true, seen.joint_zero, rtol=0, atol=1e-12)
    assert np.abs(seen.joint_zero[:7]).max() > 0.01
    robot.world.close()


@pytest.mark.parametrize("name", SUITES)
def test_every_suite_is_one_that_a_graph_can_have(name: str) -> None:
    assert not load_suite(name).for_graph().difficulty.perturbations


def test_what_no_graph_has_is_said() -> None:
    blurred = replace(load_suite("tabletop"), difficulty=Difficulty(perturbations={"blur": 1.0}))
    with pytest.raises(ConfigError, match="harder by blur, which a graph has not"):
        blurred.for_graph()
