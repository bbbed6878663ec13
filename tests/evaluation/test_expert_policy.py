"""The expert in a policy's place: it does the tasks of every suite through the controller, with robots of all kinds."""

from __future__ import annotations

import numpy as np
import pytest

import tendon
from tendon.core.errors import InstructionError, InvalidDataError, MismatchError
from tendon.core.types import Observation
from tendon.evaluation.expert_policy import ExpertPolicy
from tendon.evaluation.suites import load_suite, suite_for
from tendon.robots.profile import load_profile
from tests.evaluation.turning import TURNING

SEEDS = range(100_000, 100_003)


@pytest.mark.parametrize(
    ("robot", "suite", "simulator"),
    [
        ("so101", "tabletop", "mujoco"),
        ("ur5e_2f85", "tabletop", "pybullet"),
        pytest.param("ur10e", "tabletop", "pybullet", marks=pytest.mark.laws),
        pytest.param("xarm7", "tabletop", "mujoco", marks=pytest.mark.laws),
        ("panda_pair", "bimanual", "pybullet"),
        pytest.param("panda_pair", "bimanual", "mujoco", marks=pytest.mark.laws),
        ("ur5e", "reach", "pybullet"),
        ("g1_arms", "reach", "mujoco"),
    ],
)
def test_it_does_the_tasks_of_the_suite_that_fits_a_robot(robot: str, suite: str, simulator: str) -> None:
    assert suite_for(load_profile(robot)) == suite
    result = tendon.evaluate("expert", SEEDS, robot=robot, simulator=simulator, timing="overwrite")
    assert result.success.successes == len(SEEDS), result
    assert all(episode.peak_acceleration <= 1.0 + 1e-9 and not episode.stop for episode in result.episodes)


@pytest.mark.parametrize("simulator", [pytest.param("pybullet", marks=pytest.mark.laws), "mujoco"])
def test_it_assembles(simulator: str) -> None:
    result = tendon.evaluate("expert", SEEDS, suite="assembly", simulator=simulator, timing="overwrite")
    assert result.success.successes == len(SEEDS), result


def observation(instruction: str) -> Observation:
    home = load_profile("ur5e").vector("home")
    return Observation(stamp_ns=0, joint_position=home, joint_velocity=np.zeros(6), instruction=instruction)


def test_it_says_what_it_lacks() -> None:
    profile, suite = load_profile("ur5e"), load_suite("reach")
    with pytest.raises(InvalidDataError, match="waits for the simulated world"):
        ExpertPolicy(suite, profile, lambda: None).infer(observation("move the tool to the red ball"))
    world = suite.world(profile)
    expert = ExpertPolicy(suite, profile, lambda: (world.scene, world.state()))
    with pytest.raises(InstructionError, match="'dance' asks for nothing that this scene has: 'move the"):
        expert.infer(observation("dance"))
    chunk = expert.infer(observation("move the tool to the red ball"))
    world.close()
    assert chunk.actions.shape == (16, 6) and chunk.start_ns == 100_000_000
    np.testing.assert_allclose(chunk.actions[-1], world.scene.posture)
    with pytest.raises(MismatchError, match="this suite has no expert"):
        ExpertPolicy(TURNING, profile, lambda: None)
