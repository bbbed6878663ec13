"""How servos follow, found from logs: of servos whose answer is known, and of another simulator's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tendon.calibration.servos import Log, find_responses, moving_part
from tendon.core.errors import CalibrationError
from tendon.core.types import Array
from tendon.robots.profile import load_profile
from tendon.robots.servo_response import JointResponse, ServoResponse
from tendon.sim.replay import replay
from tendon.sim.response import Gravity

PROFILE = load_profile("panda")
NAMES, ARM = PROFILE.joint_names, 7
TRAVEL = PROFILE.vector("upper") - PROFILE.vector("lower")
TRUE = JointResponse(
    delay_s=0.03, settling_s=0.05, lead_s=0.02, friction=0.003, compliance=-2e-4, offset=0.002, inertia_s2=-1e-3
)


def motion(seconds: float = 30.0, seed: int = 0) -> tuple[Array, Array]:
    """Returns times and (k, n) commands: every joint of the arm swings in four rhythms of its own around home."""
    rng, times = np.random.default_rng(seed), np.arange(0.0, seconds, 0.01)
    sent = np.tile(PROFILE.vector("home"), (len(times), 1))
    for joint in range(ARM):
        for hz in rng.uniform(0.05, 0.6, 4):
            sent[:, joint] += 0.25 / (1 + 4 * hz) * np.sin(2 * np.pi * hz * times) * np.minimum(times, 1.0)
    return times, sent


@pytest.fixture(scope="module")
def log() -> Log:
    """A robot that follows as `TRUE` says, seen with noise of a tenth of a milliradian."""
    times, sent = motion()
    gravity, rng = Gravity(PROFILE), np.random.default_rng(1)
    measured = replay(PROFILE, times, sent, ServoResponse([TRUE] * len(NAMES)))
    return Log(
        times_s=times,
        commanded=sent,
        measured=measured + 1e-4 * rng.standard_normal(measured.shape),
        simulated=replay(PROFILE, times, sent),
        gravity=np.array([gravity.at(row) for row in sent]),
    )


def test_a_simulator_with_what_was_found_is_the_robot(log: Log) -> None:
    found = find_responses(log, NAMES, TRAVEL)
    assert [each.moved for each in found] == [True] * ARM + [False]
    aligned = replay(PROFILE, log.times_s, log.commanded, ServoResponse([each.response for each in found]))
    before, after = log.held_out_error(log.simulated)[:ARM], log.held_out_error(aligned)[:ARM]
    assert (before > 8e-3).all() and (after < 6e-4).all()
    np.testing.assert_allclose([each.response.friction for each in found[:ARM]], TRUE.friction, atol=4e-4)
    late = [each.response.delay_s + each.response.settling_s - each.response.lead_s for each in found[:ARM]]
    np.testing.assert_allclose(late, TRUE.delay_s + TRUE.settling_s - TRUE.lead_s, atol=3e-3)


def test_a_joint_that_does_not_move_is_left_as_it_was(log: Log) -> None:
    (found,) = [each for each, name in zip(find_responses(log, NAMES, TRAVEL), NAMES, strict=True) if "finger" in name]
    assert found.response == JointResponse() and not found.moved


def test_a_short_log_and_one_whose_time_goes_back_are_refused(log: Log) -> None:
    few = {name: getattr(log, name)[:500] for name in ("times_s", "commanded", "measured", "simulated", "gravity")}
    with pytest.raises(CalibrationError, match=r"4\.99 s long, needed are 10"):
        find_responses(Log(**few), NAMES, TRAVEL)
    with pytest.raises(CalibrationError, match="times of the log must rise"):
        find_responses(replace(log, times_s=log.times_s[::-1].copy()), NAMES, TRAVEL)


def test_what_no_servo_does_is_said(log: Log) -> None:
    """Joint states of another arm, half a radian off."""
    found = find_responses(replace(log, measured=log.measured + 0.5), NAMES, TRAVEL)
    for each in found[:ARM]:
        assert "that is no servo; are commands and joint states stamped by one clock" in each.problem
        assert each.response == JointResponse() and not each.known


def test_a_gap_in_joint_states_is_refused_with_its_place(log: Log) -> None:
    """Commands were drawn through it by a spline, and a simulator driven by that: friction came out 20 % too small."""
    kept = (log.times_s < 12.0) | (log.times_s > 13.0)
    cut = {name: getattr(log, name)[kept] for name in ("times_s", "commanded", "measured", "simulated", "gravity")}
    with pytest.raises(CalibrationError, match=r"no joint state for 1\.0. s after 12\.0 s, allowed 0\.1"):
        find_responses(Log(**cut), NAMES, TRAVEL)


def test_a_finger_moves_though_its_travel_is_short(log: Log) -> None:
    """Its largest standard deviation is what was asked of an arm's joint."""
    sent, measured = log.commanded.copy(), log.measured.copy()
    sent[:, -1] = 0.02 + 0.015 * np.sin(2.0 * log.times_s)
    measured[:, -1] = np.interp(log.times_s - 0.08, log.times_s, sent[:, -1])
    simulated = log.simulated.copy()
    simulated[:, -1] = sent[:, -1]
    found = find_responses(replace(log, commanded=sent, measured=measured, simulated=simulated), NAMES, TRAVEL)
    response = found[-1].response
    assert found[-1].known
    assert response.delay_s + response.settling_s - response.lead_s == pytest.approx(0.08, abs=2e-3)


def test_what_stands_before_and_after_a_motion_is_not_looked_at(log: Log) -> None:
    """Ten seconds until Ctrl-C made the held-out part stand, and no joint counted."""
    stood = np.repeat(log.commanded[-1:], 1000, axis=0)
    sent = np.concatenate([np.repeat(log.commanded[:1], 500, axis=0), log.commanded, stood])
    times = 0.01 * np.arange(len(sent))
    part = moving_part(times, sent)
    assert 4.0 < times[part][0] < 5.1 and 34.0 < times[part][-1] < 36.0
    assert moving_part(times[:100], sent[:100]) == slice(0, 100)
