"""The start of a motion, tried with robots that are not where their setpoint is: gripped objects, gravity, a push."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tendon.control.settling import SENT_SHARE, SENT_TIMES, Settling
from tendon.core.causes import Cause, Reason
from tendon.core.errors import StoppedError
from tendon.core.modes import Mode
from tests.control.limits_checker import PROFILE
from tests.control.robot_side import MS, Robot
from tests.control.test_controller import swing

GRIPPER = 7
TOLERANCE = 0.08
"""Of the arm's joints."""


def ticks(robot: Robot, count: int) -> None:
    for _ in range(count):
        robot.tick()


def armed(robot: Robot) -> Robot:
    robot.controller.arm()
    ticks(robot, 150)
    assert robot.controller.mode is Mode.ARMED
    return robot


def armed_again(robot: Robot) -> Robot:
    robot.controller.stop(Reason(Cause.REQUESTED, "test"))
    ticks(robot, 10)
    robot.controller.reset()
    robot.tick()
    return armed(robot)


def test_armed_again_with_an_object_held_the_gripper_keeps_its_setpoint() -> None:
    robot = armed(Robot())
    robot.offset[GRIPPER] = -0.025  # where an object would hold it
    held, since = robot.positions[-1][GRIPPER], len(robot.positions)
    for _ in range(3):
        armed_again(robot)
    assert {row[GRIPPER] for row in robot.positions[since:]} == {held}
    robot.assert_inside(since)


def test_what_the_last_commands_before_a_stop_asked_for_may_not_have_arrived() -> None:
    """The robot side takes none without permission: it holds the end of an earlier stop."""
    robot = armed(Robot())
    robot.controller.submit(swing(robot.now_ns, robot.now_ns), robot.now_ns)
    ticks(robot, 60)
    robot.pass_time(2 * MS)
    for k in range(60):
        if k == 3:
            robot.controller.stop(Reason(Cause.REQUESTED, "test"))
        robot.tick()
        robot._flying.clear()
    robot.controller.reset()
    robot.tick()
    since = len(robot.positions)
    armed(robot)
    assert np.allclose(robot.positions[-1], robot.controller._filter.position, atol=1e-9)
    robot.assert_inside(since)


def test_a_start_from_an_unknown_setpoint_keeps_the_limits() -> None:
    """The control node was killed while the gripper held something: nobody knows the setpoint any more."""
    robot = Robot(known=False)
    robot.offset[:7], robot.offset[GRIPPER] = 0.9 * TOLERANCE, -0.04
    robot.tick()
    since = len(robot.positions)
    measured = robot.observe().joint_position
    robot.controller.arm()
    robot.offset[:] = 0.0
    ticks(robot, 150)
    assert np.allclose(robot.positions[-1], measured, atol=1e-12)
    robot.assert_inside(since)


def test_a_gripper_that_is_measured_beyond_its_stop_starts_at_its_limit() -> None:
    """It yields by micrometres: once a fault bench heard 0.5 s of commands 2.4 um outside the limits."""
    robot = Robot(known=False)
    robot.offset[GRIPPER] = 2.4e-6
    robot.tick()
    armed(robot)
    assert robot.positions[-1][GRIPPER] == PROFILE.vector("upper")[GRIPPER]
    robot.assert_inside()


@pytest.mark.parametrize("push", [0.02, 0.05, 0.9 * TOLERANCE])
def test_a_joint_that_was_pushed_off_is_led_to_where_it_is_through_the_filter(push: float) -> None:
    robot = armed(Robot())
    since = len(robot.positions)
    held = robot.positions[-1]
    robot.controller.stop(Reason(Cause.REQUESTED, "test"))
    ticks(robot, 10)
    robot.offset[3] = push
    robot.tick()
    measured = robot.observe().joint_position
    robot.controller.reset()
    robot.tick()
    robot.controller.arm()
    ticks(robot, 30)
    assert np.array_equal(robot.positions[-1], held), "first it stays at its setpoint"
    for _ in range(120):  # it is held where it is: what is commanded comes to it
        robot.offset[3] = measured[3] - robot.side.sample(robot.now_ns)[0][3]
        robot.tick()
    assert np.allclose(robot.positions[-1], measured, atol=1e-9)
    robot.assert_inside(since)


def test_a_joint_that_is_beyond_its_tolerance_starts_from_where_it_is_and_keeps_the_limits() -> None:
    """Somebody has led the arm by hand: nothing can hold it at its old setpoint."""
    robot = armed(Robot())
    since = len(robot.positions)
    robot.controller.stop(Reason(Cause.REQUESTED, "test"))
    ticks(robot, 10)
    robot.controller.reset()
    robot.offset[3] = 0.8
    robot.tick()
    measured = robot.observe().joint_position
    robot.controller.arm()
    for _ in range(150):
        robot.offset[:] = measured - robot.side.sample(robot.now_ns)[0]
        robot.tick()
    assert np.allclose(robot.positions[-1], measured, atol=1e-12)
    robot.assert_inside(since)


@pytest.mark.parametrize("opened", [False, True])
def test_an_arm_that_was_led_by_hand_keeps_what_its_gripper_holds(opened: bool) -> None:
    """It once let go as soon as it was armed: the gripper began where it was measured, as the arm did."""
    robot = armed(Robot())
    robot.offset[GRIPPER] = -0.025
    ticks(robot, 5)
    robot.controller.stop(Reason(Cause.REQUESTED, "test"))
    ticks(robot, 10)
    robot.controller.reset()
    held, since = robot.positions[-1], len(robot.positions)
    robot.offset[3] = 0.8
    if opened:
        robot.offset[GRIPPER] = -0.015
    robot.tick()
    measured = robot.observe().joint_position
    robot.controller.arm()
    for _ in range(150):
        robot.offset[3] = (measured - robot.side.sample(robot.now_ns)[0])[3]
        robot.tick()
    wanted = measured[GRIPPER] if opened else held[GRIPPER]
    assert abs(robot.positions[-1][GRIPPER] - wanted) < 1e-9 and abs(robot.positions[-1][3] - measured[3]) < 1e-9
    robot.assert_inside(since)


@pytest.mark.parametrize("skip", [0, 4, 8, 12, 34, 80])
def test_a_machine_that_stands_still_right_after_arming_takes_no_time_from_the_robot(skip: int) -> None:
    """Nothing was sent, or too late: 1.35 times the acceleration after 120 ms, a jump after 80 ms."""
    robot = armed(Robot())
    robot.controller.stop(Reason(Cause.REQUESTED, "test"))
    ticks(robot, 10)
    robot.controller.reset()
    robot.offset[3] = 0.8
    robot.tick()
    measured, since = robot.observe().joint_position, len(robot.positions)
    robot.controller.arm()
    for k in range(300):
        robot.offset[3] = (measured - robot.side.sample(robot.now_ns)[0])[3]
        robot.tick(skip=0 if k else skip)
    assert robot.controller.mode is Mode.ARMED, robot.controller._modes.reason
    assert np.allclose(robot.positions[-1], measured, atol=1e-9)
    robot.assert_inside(since)


def test_a_robot_side_that_was_reset_is_asked_for_no_jump() -> None:
    """Another scene was loaded into the simulator: the arm is at home, and its gripper open."""
    robot = armed(Robot())
    robot.controller.stop(Reason(Cause.REQUESTED, "test"))
    ticks(robot, 10)
    robot.controller.reset()
    other = PROFILE.vector("home") + 0.3
    other[GRIPPER] = 0.0
    robot.side.reset(other)
    robot.tick()
    since = len(robot.positions)
    armed(robot)
    assert np.array_equal(robot.positions[-1], other)
    robot.assert_inside(since)


@pytest.mark.parametrize("push", [0.004, 0.05, 0.9 * TOLERANCE])
def test_a_robot_side_that_joins_from_its_measured_state_is_not_hurried(push: float) -> None:
    """Sent up to its end, the settling point asked for 13.7 rad/s in the last 10 ms."""
    robot = armed(Robot(from_measured=True))
    robot.controller.stop(Reason(Cause.REQUESTED, "test"))
    ticks(robot, 10)
    robot.offset[1] = -push
    robot.tick()
    measured = robot.observe().joint_position
    robot.controller.reset()
    robot.controller.arm()
    for _ in range(150):  # it leans against something
        robot.offset[:] = measured - robot.side.sample(robot.now_ns)[0]
        robot.tick()
        speeds = np.abs(robot.velocities[-1]) / PROFILE.vector("velocity")
        assert speeds.max() <= 0.5


def test_what_was_never_sent_is_not_held() -> None:
    """It is stopped right after it was armed where somebody had moved it: the robot side has heard nothing."""
    robot = armed(Robot())
    held = robot.positions[-1]
    robot.controller.stop(Reason(Cause.REQUESTED, "test"))
    ticks(robot, 10)
    robot.controller.reset()
    robot.offset[3] = 0.8
    robot.tick()
    robot.controller.arm()
    robot.controller.stop(Reason(Cause.REQUESTED, "test"))
    robot.offset[:] = 0.0
    ticks(robot, 120)
    robot.controller.reset()
    robot.tick()
    robot.controller.arm()
    ticks(robot, 40)
    assert np.array_equal(robot.positions[-1], held)


def test_the_settling_point_is_sent_a_few_times_and_a_stop_then_latches() -> None:
    robot = Robot(known=False)
    robot.controller.arm()
    sent = [robot.tick().command is not None for _ in range(20)]
    assert sum(sent) == SENT_TIMES and sent[0] and sent.index(False) == 1
    assert [k for k, each in enumerate(sent) if each][-1] * robot.controller.period_ns >= 120 * MS
    robot.controller.stop(Reason(Cause.REQUESTED, "test"))
    assert robot.tick().mode is Mode.STOPPING, "the robot side is still on its way there"
    ticks(robot, 60)
    assert robot.tick().mode is Mode.LATCHED
    with pytest.raises(StoppedError):
        robot.controller.arm()


@pytest.mark.parametrize("control_hz", [50.0, 100.0, 250.0, 500.0])
@pytest.mark.parametrize("gap_ms", [0, 40, 100, 180])
def test_a_held_up_loop_leaves_the_robot_side_its_time(control_hz: float, gap_ms: int) -> None:
    """At 50 Hz the last point went out 190 ms late after a hiccup: 1.95 times the acceleration, 2.7 the jerk."""
    settling = Settling(replace(PROFILE, control_hz=control_hz))
    settling.begin(PROFILE.vector("home"), 0)
    period_ns, latest_ns = round(1e9 / control_hz), round(SENT_SHARE * PROFILE.safety.arm_settle_s * 1e9)
    ticks_ns = [k * period_ns for k in range(round(control_hz)) if not 0 < k * period_ns <= gap_ms * MS]
    sent = [now_ns for now_ns in ticks_ns if settling.send(now_ns)]
    assert sent[0] == 0 and sent[-1] <= latest_ns and len(sent) <= SENT_TIMES
    assert gap_ms or len(sent) >= SENT_TIMES - 1


def test_a_chunk_in_the_middle_of_that_way_is_followed_from_there() -> None:
    robot = armed(Robot())
    robot.controller.stop(Reason(Cause.REQUESTED, "test"))
    ticks(robot, 10)
    robot.controller.reset()
    robot.offset[3] = 0.1
    robot.tick()
    since = len(robot.positions)
    robot.controller.arm()
    ticks(robot, 45)
    robot.controller.submit(swing(robot.now_ns, robot.now_ns), robot.now_ns)
    robot.offset[:] = 0.0
    ticks(robot, 200)
    assert robot.controller.mode in (Mode.ARMED, Mode.RUNNING), robot.controller.mode
    robot.assert_inside(since)


@pytest.mark.parametrize("moment", [3, 20, 40])
def test_a_robot_that_was_moved_in_a_standstill_while_it_settled_is_stopped_where_it_is(moment: int) -> None:
    """It was told nothing yet but to settle: then it has to be where it settles, or where it held before."""
    robot = Robot()
    robot.controller.arm()
    ticks(robot, moment)
    robot.offset[0] = 0.3
    robot.tick(skip=9)
    ticks(robot, 200)
    assert robot.controller.mode is Mode.LATCHED
    robot.assert_inside()


def test_a_robot_that_is_pressed_on_while_it_settles_is_not_led_back_from_where_it_is_not_yet() -> None:
    """Its setpoint is on the way for 0.3 rad, and a way back would begin at the end of that."""
    robot = Robot()
    robot.offset[0] = 0.3
    robot.tick()
    robot.controller.arm()
    ticks(robot, 300)
    assert robot.controller.mode is Mode.LATCHED
    robot.assert_inside()
