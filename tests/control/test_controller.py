"""The whole tick against a robot side: smooth, late, starved, stale, stopped."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendon.control.executor import Placement
from tendon.control.reference import ARRIVAL_PERIODS
from tendon.control.residual.authority import Authority
from tendon.control.residual.bounded import BoundedResidual
from tendon.core.base_motion import BaseMotion
from tendon.core.causes import Cause, Reason
from tendon.core.errors import InvalidDataError, StoppedError
from tendon.core.filter_input import LEAD_TICKS
from tendon.core.modes import Mode
from tendon.core.types import ActionChunk, Array, Observation
from tests.control.limits_checker import PROFILE, make_chunk
from tests.control.robot_side import MS, PERIOD_NS, Robot
from tests.laws import law_settings
from tests.robots.calibrated import calibration_file

HOME = PROFILE.vector("home")
SWING = np.array([0.4, 0.3, 0.3, 0.4, 0.5, 0.5, 0.5, -0.03])


def swing(observation_ns: int, begin_ns: int, rows: int = 16) -> ActionChunk:
    """A motion from home and back that is smooth and inside the limits, as seen from one observation."""
    times_s = np.maximum(observation_ns - begin_ns + 100 * MS * np.arange(1, rows + 1), 0) * 1e-9
    return make_chunk(HOME + SWING * (0.5 - 0.5 * np.cos(2.0 * times_s))[:, None], observation_ns)


def running(residual: BoundedResidual | None = None, acknowledges: bool = True) -> Robot:
    robot = Robot(residual=residual, acknowledges=acknowledges)
    robot.arm()
    robot.controller.submit(swing(robot.now_ns, robot.now_ns), robot.now_ns)
    for _ in range(50):
        tick = robot.tick()
    assert tick.mode is Mode.RUNNING and tick.target is not None
    return robot


def settle(robot: Robot, ticks: int = 80) -> None:
    for _ in range(ticks):
        robot.tick()


def test_a_command_is_committed_points_then_a_stop() -> None:
    robot = running()
    now_ns = robot.now_ns + PERIOD_NS
    command = robot.tick().command
    assert command is not None and command.stamp_ns == now_ns
    trajectory = command.trajectory
    assert trajectory.time_from_start_ns[: LEAD_TICKS + 1] == (0, 10 * MS, 20 * MS, 30 * MS, 40 * MS)
    assert len(trajectory.time_from_start_ns) > LEAD_TICKS and not trajectory.velocity[-1].any()
    following = robot.tick().command
    assert following is not None
    assert np.array_equal(following.trajectory.position[:3], trajectory.position[1:4]), "committed points changed"


def test_the_robot_is_where_the_plan_says_when_it_says() -> None:
    robot = Robot()
    robot.arm()
    settle(robot, 10)
    begin_ns = robot.now_ns
    errors = []
    for k in range(300):
        if k % 15 == 0:
            # Inference took 80 ms.
            assert robot.controller.submit(swing(robot.now_ns - 80 * MS, begin_ns), robot.now_ns) is Placement.ACCEPTED
        robot.tick()
        since_s = (robot.now_ns - begin_ns) * 1e-9
        errors.append(np.abs(robot.side.sample(robot.now_ns)[0] - HOME - SWING * (0.5 - 0.5 * np.cos(2.0 * since_s))))
    assert np.max(errors[40:]) < 5e-3
    robot.assert_inside()


def test_a_robot_that_moves_late_is_commanded_earlier(tmp_path: Path) -> None:
    """By the latency of its calibration, so that it is where the plan says when it says."""
    late_ns = 50 * MS
    robot = Robot(profile=replace(PROFILE, calibration=calibration_file(tmp_path, command_s=0.05)))
    robot.arm()
    settle(robot, 10)
    begin_ns = robot.now_ns
    errors = []
    for k in range(200):
        if k % 15 == 0:
            robot.controller.submit(swing(robot.now_ns - 80 * MS, begin_ns), robot.now_ns)
        robot.tick()
        since_s = (robot.now_ns + late_ns - begin_ns) * 1e-9
        errors.append(np.abs(robot.side.sample(robot.now_ns)[0] - HOME - SWING * (0.5 - 0.5 * np.cos(2.0 * since_s))))
    assert np.max(errors[40:]) < 5e-3
    robot.assert_inside()


@law_settings(max_examples=30)
@given(
    seed=st.integers(0, 2**32 - 1),
    skips=st.booleans(),
    hostile=st.booleans(),
    hz=st.sampled_from([100.0, 250.0, 500.0]),
)
def test_late_commands_and_missed_ticks_never_break_a_limit_at_the_robot(
    seed: int, skips: bool, hostile: bool, hz: float
) -> None:
    rng = np.random.default_rng(seed)
    robot = Robot(profile=replace(PROFILE, control_hz=hz))
    latest_ns = round(ARRIVAL_PERIODS * robot.controller.period_ns)
    robot.arm()
    begin_ns = robot.now_ns
    for _ in range(120):
        if rng.random() < 0.15:
            observation_ns = robot.now_ns - int(rng.integers(0, 300)) * MS
            chunk = swing(observation_ns, begin_ns)
            if hostile:
                rows = rng.uniform(PROFILE.vector("lower") - 0.5, PROFILE.vector("upper") + 0.5, (16, 8))
                chunk = make_chunk(rows, observation_ns, int(rng.integers(10, 120)) * MS)
            robot.controller.submit(chunk, robot.now_ns)
        skip = int(rng.integers(1, 8)) if skips and rng.random() < 0.1 else 0
        robot.tick(delay_ns=int(rng.integers(0, latest_ns)), skip=skip)
    robot.pass_time(1000 * MS)
    robot.assert_inside()
    assert not robot.velocities[-1].any(), "not at rest after its last command"


def test_killed_in_motion_the_robot_comes_to_rest_on_its_own() -> None:
    robot = running()
    assert np.abs(robot.velocities[-1]).max() > 0.1
    robot.pass_time(LEAD_TICKS * PERIOD_NS + 300 * MS)
    assert not robot.velocities[-1].any()
    robot.assert_inside()


def test_starved_it_stops_by_the_end_of_the_plan_without_latching_and_resumes() -> None:
    robot = running()
    end_ns = robot.controller.guidance.end_ns
    assert end_ns is not None
    while robot.now_ns < end_ns:
        tick = robot.tick()
    assert tick.mode is Mode.RUNNING and any("starved" in reason for reason in tick.reasons)
    assert tick.target is None and not robot.side.sample(end_ns)[1].any()
    robot.controller.submit(swing(robot.now_ns, robot.now_ns - 1000 * MS), robot.now_ns)
    for _ in range(40):
        tick = robot.tick()
    assert tick.reasons == () and tick.target is not None
    robot.assert_inside()


def test_a_stop_brakes_at_once_latches_and_needs_reset_and_arm() -> None:
    robot = running()
    robot.controller.stop(Reason(Cause.REQUESTED, "operator"))
    stopped_ns = robot.now_ns
    while robot.tick().mode is Mode.STOPPING:
        pass
    assert robot.controller.mode is Mode.LATCHED
    # Braking takes at most v / a of the slowest joint; the lead and one tick come on top.
    assert robot.now_ns - stopped_ns <= 300 * MS + (LEAD_TICKS + 1) * PERIOD_NS
    robot.pass_time(100 * MS)
    held = robot.positions[-1]
    assert robot.controller.submit(swing(robot.now_ns, robot.now_ns), robot.now_ns) is Placement.IDLE
    tick = robot.tick()
    assert tick.command is None and tick.reasons == ("operator",) and tick.cause is Cause.REQUESTED
    with pytest.raises(StoppedError, match="reset first"):
        robot.controller.arm()
    robot.controller.reset()
    robot.tick()
    assert robot.controller.mode is Mode.STANDBY
    robot.controller.arm()
    settle(robot)
    assert np.allclose(robot.positions[-1], held, atol=1e-12), "reset or arm moved the robot"


def test_stale_joint_states_stop_and_latch_within_50_ms() -> None:
    robot = running()
    robot.stale_ns = 51 * MS
    tick = robot.tick()
    assert tick.mode is Mode.STOPPING and tick.cause is Cause.STALE_JOINTS
    assert "stale joint state: 51 ms" in tick.reasons[0]
    settle(robot)
    with pytest.raises(StoppedError, match="stale joint state"):
        robot.controller.reset()
    robot.stale_ns = 0
    robot.tick()
    robot.controller.reset()
    robot.assert_inside()


def test_no_joint_state_at_all_stops_too() -> None:
    robot = running()
    robot.now_ns += PERIOD_NS
    assert robot.controller.tick(robot.now_ns, None).reasons[0] == "no joint state"


def test_a_joint_off_its_reference_stops_and_latches() -> None:
    robot = running()
    robot.offset[2] = 0.09
    tick = robot.tick()
    assert tick.mode is Mode.STOPPING
    assert tick.reasons[0].startswith("tracking: panda_joint3 is 0.0") and "allowed 0.080" in tick.reasons[0]
    assert tick.cause is Cause.TRACKING


def test_a_gripper_held_off_its_target_is_no_tracking_error() -> None:
    robot = running()
    robot.offset[7] = 0.04
    assert robot.tick().mode is Mode.RUNNING


def test_three_invalid_chunks_in_a_row_latch_and_a_valid_one_clears_the_count() -> None:
    robot = running()
    robot.controller.reject("NaN")
    robot.controller.reject("NaN")
    robot.controller.submit(swing(robot.now_ns, robot.now_ns - 500 * MS), robot.now_ns)
    with pytest.raises(InvalidDataError, match="rows of 7"):
        robot.controller.submit(make_chunk(np.zeros((4, 7)), robot.now_ns), robot.now_ns)
    robot.controller.reject("NaN")
    assert robot.tick().mode is Mode.RUNNING
    robot.controller.reject("NaN")
    tick = robot.tick()
    assert "3 invalid chunks in a row, the last: NaN" in tick.reasons[0] and tick.cause is Cause.CHUNKS
    settle(robot)
    with pytest.raises(StoppedError, match="invalid chunks"):
        robot.controller.reset()
    assert robot.controller.submit(swing(robot.now_ns, robot.now_ns), robot.now_ns) is Placement.IDLE
    robot.controller.reset()


@pytest.mark.parametrize("jump_ms", [-3_600_000, 3_600_000, 2_700])
def test_a_jump_of_the_clock_or_a_long_pause_stops_and_sends_nothing(jump_ms: int) -> None:
    robot = running()
    sampled_ns = robot.now_ns
    robot.now_ns += jump_ms * MS
    measured = Observation(
        stamp_ns=robot.now_ns, joint_position=robot.side.sample(sampled_ns)[0], joint_velocity=np.zeros(8)
    )
    tick = robot.controller.tick(robot.now_ns, measured)
    assert tick.mode in (Mode.STOPPING, Mode.LATCHED) and tick.command is None
    assert tick.cause in (Cause.CLOCK, Cause.STANDSTILL)
    for _ in range(80):
        robot.now_ns += PERIOD_NS
        tick = robot.controller.tick(robot.now_ns, replace(measured, stamp_ns=robot.now_ns))
        assert tick.command is None
    assert tick.mode is Mode.LATCHED


@pytest.mark.parametrize("missed", [6, 15, 25, 60, 200, 240])
@pytest.mark.parametrize("moment", [0, 7, 40])
def test_one_standstill_is_a_hold_that_ends_by_itself_and_breaks_no_limit(missed: int, moment: int) -> None:
    """The robot plays its stop to the end, nothing is sent meanwhile, and a chunk leads it on from where it is."""
    robot = running()
    begin_ns = robot.now_ns
    settle(robot, moment)
    tick = robot.tick(skip=missed)
    assert tick.mode is Mode.RUNNING and tick.command is None and "stood still" in tick.reasons[0]
    while tick.command is None:
        tick = robot.tick()
        assert tick.mode is Mode.RUNNING
        assert robot.now_ns - begin_ns < 6e9, "the hold has no end"
    assert len(tick.command.trajectory.position) == 1, "it settles: what the robot holds is not known"
    settle(robot, 31)
    robot.controller.submit(swing(robot.now_ns, robot.now_ns - 500 * MS), robot.now_ns)
    moved = [robot.tick() for _ in range(60)]
    assert all(tick.mode is Mode.RUNNING for tick in moved)
    assert np.abs(robot.velocities[-1]).max() > 0.05
    robot.assert_inside()


def test_a_joint_state_that_was_on_its_way_while_the_loop_was_held_up_is_not_stale() -> None:
    """Of 60 ms; 1 of 6 latched. One that still does not come is found as soon as ever."""
    robot = running()
    robot.stale_ns = 60 * MS
    assert robot.tick(skip=5).mode is Mode.RUNNING
    robot.stale_ns = 0
    settle(robot, 40)
    assert robot.controller.mode is Mode.RUNNING
    seen_ns = robot.now_ns
    modes = []
    for skip in (5, 0, 0, 0, 0):
        robot.stale_ns = robot.now_ns - seen_ns + (1 + skip) * PERIOD_NS
        modes.append(robot.tick(skip=skip).mode)
    assert modes[:3] == [Mode.RUNNING] * 3 and modes[-1].stopped
    robot.assert_inside()


def test_a_second_standstill_soon_after_latches() -> None:
    robot = running()
    robot.tick(skip=20)
    settle(robot, 200)
    assert robot.controller.mode is Mode.RUNNING
    tick = robot.tick(skip=20)
    assert "twice within 10 s" in tick.reasons[0] and tick.cause is Cause.STANDSTILL
    settle(robot)
    assert robot.controller.mode is Mode.LATCHED
    robot.assert_inside()


@pytest.mark.parametrize("too_late", [False, True])
def test_nobody_arms_a_robot_that_still_plays_its_stop(too_late: bool) -> None:
    """It was latched at once, and who reset and armed it in the same moment cut into its braking."""
    robot = running()
    robot.tick(skip=20)
    settle(robot, 200)
    robot.controller.submit(swing(robot.now_ns, robot.now_ns - 500 * MS), robot.now_ns)
    settle(robot, 25)
    if too_late:
        assert robot.tick().command is not None
        robot.lose()
        robot.controller.abandon(40 * MS)
        robot.pass_time(40 * MS)
    tick = robot.tick(skip=0 if too_late else 6)
    assert tick.mode is Mode.STOPPING and np.abs(robot.side.sample(robot.now_ns)[1]).max() > 0.02
    while robot.tick().mode is Mode.STOPPING:
        with pytest.raises(StoppedError):
            robot.controller.reset()
    assert robot.controller.mode is Mode.LATCHED
    np.testing.assert_allclose(robot.side.sample(robot.now_ns)[1], 0.0, atol=1e-9)
    robot.controller.reset()
    robot.arm()
    robot.assert_inside()


def test_a_machine_that_wakes_up_in_fits_stood_still_once_but_not_for_ever() -> None:
    robot = running()
    robot.tick(skip=100)
    settle(robot, 12)
    tick = robot.tick(skip=15)
    assert tick.mode is Mode.RUNNING and tick.command is None, "a part of the same standstill"
    settle(robot, 60)
    assert robot.controller.mode is Mode.RUNNING
    assert "twice within 10 s" in robot.tick(skip=15).reasons[0], "0.6 s later it is another"
    robot.assert_inside()

    robot = running()
    reasons = []
    for _ in range(10):
        settle(robot, 12)
        reasons += robot.tick(skip=40).reasons
    assert robot.controller.mode in (Mode.STOPPING, Mode.LATCHED)
    assert any("at most 2.5 is a hold" in reason for reason in reasons)
    robot.assert_inside()


def test_a_robot_that_is_not_where_its_stop_ends_latches_after_a_standstill() -> None:
    robot = running()
    robot.tick(skip=20)
    robot.offset[2] = 0.09
    settle(robot, 200)
    assert robot.controller.mode is Mode.LATCHED
    assert "panda_joint3 is 0.09" in robot.tick().reasons[0]


def test_a_stop_that_is_asked_for_during_a_standstill_latches_at_its_end() -> None:
    robot = running()
    robot.tick(skip=20)
    robot.controller.stop(Reason(Cause.REQUESTED, "somebody pressed it"))
    assert robot.controller.mode is Mode.STOPPING
    settle(robot, 200)
    assert robot.controller.mode is Mode.LATCHED and robot.tick().reasons[0] == "somebody pressed it"
    robot.assert_inside()


def test_joint_states_that_stay_away_after_a_standstill_latch() -> None:
    robot = running()
    robot.tick(skip=20)
    robot.stale_ns = 60 * MS
    settle(robot, 20)
    assert robot.controller.mode in (Mode.STOPPING, Mode.LATCHED)


def test_ticks_that_are_late_again_and_again_latch() -> None:
    robot = running()
    ticks = [robot.tick(skip=1) for _ in range(6)]
    assert [tick.late_ticks for tick in ticks] == [1] * 6
    assert ticks[4].mode is Mode.RUNNING and "6 late control ticks" in ticks[5].reasons[0]
    assert ticks[4].cause is None and ticks[5].cause is Cause.LATE
    robot.assert_inside()


def test_arming_needs_a_fresh_joint_state_and_a_robot_at_rest() -> None:
    robot = Robot()
    robot.stale_ns = 60 * MS
    robot.tick()
    with pytest.raises(StoppedError, match="stale joint state"):
        robot.controller.arm()
    moving = Observation(stamp_ns=robot.now_ns, joint_position=HOME, joint_velocity=np.full(8, 0.2))
    robot.controller.tick(robot.now_ns, moving)
    with pytest.raises(StoppedError, match="panda_joint1 moves"):
        robot.controller.arm()
    short = Observation(stamp_ns=robot.now_ns, joint_position=HOME[:-1], joint_velocity=np.zeros(7))
    robot.controller.tick(robot.now_ns, short)
    with pytest.raises(StoppedError, match="joint state of 7 joints, expected 8"):
        robot.controller.arm()


def test_armed_again_and_again_it_does_not_sink() -> None:
    robot = Robot()
    robot.offset[1] = 0.004  # gravity
    robot.arm()
    settle(robot, 40)
    held = robot.positions[-1]
    for _ in range(5):
        robot.controller.stop(Reason(Cause.REQUESTED, "test"))
        settle(robot, 10)
        robot.controller.reset()
        robot.arm()
        settle(robot, 40)
    assert np.array_equal(robot.positions[-1], held)


def test_chunks_from_before_the_robot_has_settled_are_not_run() -> None:
    robot = Robot()
    before = swing(robot.now_ns - 20 * MS, robot.now_ns)
    robot.controller.arm()
    settle(robot, 20)
    settling = swing(robot.now_ns, robot.now_ns)
    settle(robot, 20)
    assert robot.controller.submit(before, robot.now_ns) is Placement.OLDER
    assert robot.controller.submit(settling, robot.now_ns) is Placement.OLDER
    assert robot.tick().mode is Mode.ARMED
    assert robot.controller.submit(swing(robot.now_ns, robot.now_ns), robot.now_ns) is Placement.ACCEPTED
    assert robot.tick().mode is Mode.RUNNING


class Push:
    def step(self, observation: Observation, base: BaseMotion) -> tuple[Array, Array]:
        return np.full(8, 1.0), np.zeros(8)


def test_a_residual_moves_the_target_by_its_bound_at_most() -> None:
    authority = Authority(10_000_000, 10**9, rise_s=0.0)
    plain, pushed = running(), running(BoundedResidual(Push(), PROFILE, np.full(8, 0.02), 1.0, authority))
    for _ in range(20):
        difference = pushed.tick().target - plain.tick().target
        assert np.allclose(difference, 0.02)
    pushed.assert_inside()
