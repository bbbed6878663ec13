"""A simulated robot whose profile says how the real one's servos follow."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from tendon.core.types import Array
from tendon.evaluation.suites import load_suite
from tendon.robots.profile import RobotProfile, load_profile
from tendon.robots.profile_edit import name_response
from tendon.robots.servo_response import JointResponse, ServoResponse, write_response
from tendon.sim.engine import PERIOD_NS
from tendon.sim.engine_world import open_engine_world
from tendon.sim.replay import replay
from tendon.sim.response import Gravity, Responding
from tendon.sim.simulators import SIMULATORS
from tests import ROOT

PROFILE = load_profile("panda")
NAMES, HOME = PROFILE.joint_names, PROFILE.vector("home")
PERIOD_S = PERIOD_NS * 1e-9
TIMES_S = np.arange(0.0, 3.0, 0.01)
WAVE = HOME + np.outer(0.2 * np.sin(2.0 * TIMES_S) * np.minimum(TIMES_S, 1.0), [1, 1, 1, 1, 1, 1, 1, 0])


def all_joints(**values: float) -> ServoResponse:
    return ServoResponse([JointResponse(**values)] * len(NAMES))


def path_of(response: ServoResponse, sent: Array) -> tuple[Array, Array]:
    answer = Responding(response, PROFILE, PERIOD_S)
    answer.restart(sent[0])
    steps = [answer.step(row) for row in sent[1:]]
    return np.array([position for position, _ in steps]), np.array([velocity for _, velocity in steps])


def test_a_response_of_nothing_changes_nothing() -> None:
    positions, velocities = path_of(all_joints(), WAVE)
    np.testing.assert_allclose(positions, WAVE[1:], atol=1e-12)
    np.testing.assert_allclose(velocities, np.diff(WAVE, axis=0) / PERIOD_S, atol=1e-9)


@pytest.mark.parametrize("steps", [0.0, 0.4, 1.0, 7.25, 70.0])
def test_a_delay_is_as_long_as_it_says(steps: float) -> None:
    ramp = HOME + np.outer(np.arange(200), np.full(len(HOME), 1e-3))
    positions, _ = path_of(all_joints(delay_s=steps * PERIOD_S), ramp)
    np.testing.assert_allclose(positions[100:] + 1e-3 * steps, ramp[101:], atol=1e-9)


def test_a_step_is_done_to_two_thirds_after_the_time_constant() -> None:
    sent = np.vstack([HOME, np.tile(HOME + 1.0, (300, 1))])
    positions, _ = path_of(all_joints(settling_s=30 * PERIOD_S), sent)
    np.testing.assert_allclose(positions[29] - HOME, 1 - np.exp(-1), atol=1e-6)


def test_a_servo_that_gives_way_hangs_lower() -> None:
    """The second joint of a Panda at home carries the forearm: by this much."""
    load = Gravity(PROFILE).at(HOME)
    assert abs(load[0]) < 1e-6 < 5.0 < abs(load[1])
    reached = replay(PROFILE, TIMES_S, np.tile(HOME, (len(TIMES_S), 1)), all_joints(compliance=-1e-3))
    np.testing.assert_allclose(reached[-1] - HOME, -1e-3 * load, atol=2e-3)


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_both_simulators_move_as_it_says(simulator: str) -> None:
    plain = replay(PROFILE, TIMES_S, WAVE, simulator=simulator)
    late = replay(PROFILE, TIMES_S, WAVE, all_joints(delay_s=0.1), simulator)
    np.testing.assert_allclose(late[20:], plain[10:-10], atol=6e-3)


def responding(folder: Path, **values: float) -> RobotProfile:
    """Returns a Panda whose profile names a response."""
    shutil.copytree(ROOT / "robots" / "panda", folder)
    write_response(all_joints(**values), folder / "response.yaml", "panda", NAMES)
    name_response(folder / "profile.yaml", "response.yaml")
    return load_profile(folder / "profile.yaml")


def test_the_worlds_of_suites_move_as_the_profile_says_and_anew_in_each_scene(tmp_path: Path) -> None:
    suite, profile = load_suite("reach"), responding(tmp_path / "panda", delay_s=0.1)
    world = open_engine_world(suite, profile)
    try:
        for _ in range(2):
            world.reset(suite.scene(profile, 100_000))
            start = world.joint_state()[0].copy()
            world.set_target(start + 0.05, np.zeros(len(start)))
            moved = []
            for _ in range(60):
                world.step()
                moved.append(np.abs(world.joint_state()[0] - start)[:7].max())
            assert moved[27] < 1e-3 and moved[-1] > 0.03
    finally:
        world.close()
