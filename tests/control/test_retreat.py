"""After contact the setpoint comes to where the robot is held, in the very command that stops it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendon.control.clearance.model import Clearance
from tendon.control.controller import Controller
from tendon.core.causes import Cause, Reason
from tendon.core.modes import Mode
from tendon.core.types import Array
from tendon.robots.environment import load_environment
from tests.control.limits_checker import PROFILE, make_chunk
from tests.control.monitors_laws import breach_of, every_law
from tests.control.robot_side import MS, PERIOD_NS, Robot
from tests.control.test_controller import running, swing
from tests.control.test_sources import armed, to
from tests.laws import law_settings

GRIPPER = 7


def blocked(robot: Robot, joints: Array, ticks: int) -> Array:
    """Ticks a robot whose `joints` stay where they are now; returns (8,) where it is found at last."""
    held = robot.observe().joint_position
    found = held
    for _ in range(ticks):
        commanded = robot.side.sample(robot.now_ns + PERIOD_NS)[0]
        robot.offset = np.where(joints, held - commanded, 0.0)
        found = robot.observe().joint_position
        robot.tick()
    return found


@pytest.mark.parametrize("joint", range(7))
def test_a_blocked_joint_is_not_pressed_on(joint: int) -> None:
    robot = running()
    since, place = len(robot.positions), robot.observe().joint_position
    blocked(robot, np.arange(8) == joint, 200)
    assert robot.controller.mode is Mode.LATCHED
    pressed = abs(robot.positions[-1][joint] - place[joint])
    assert pressed < 1e-9, f"its setpoint stays {pressed:.3f} rad beyond where it is held"
    robot.assert_inside(since)


@law_settings(max_examples=20)
@given(start=st.integers(1, 90), joints=st.lists(st.booleans(), min_size=7, max_size=7), delay=st.integers(0, 15))
def test_whatever_is_blocked_and_when_no_limit_and_no_law_of_the_monitor_is_broken(
    start: int, joints: list[bool], delay: int
) -> None:
    robot = Robot()
    robot.arm()
    robot.controller.submit(swing(robot.now_ns, robot.now_ns), robot.now_ns)
    laws = every_law()
    held = None
    since = len(robot.positions)
    for k in range(260):
        if k >= start:
            held = robot.observe().joint_position if held is None else held
            commanded = robot.side.sample(robot.now_ns + PERIOD_NS)[0]
            robot.offset = np.where([*joints, False], held - commanded, 0.0)
        command = robot.tick(delay_ns=delay * MS).command
        if command is not None:
            assert breach_of(laws, command, robot.observe()) is None
    robot.assert_inside(since)
    if robot.controller.mode is Mode.LATCHED and held is not None:
        last = np.array(robot.positions[-1])
        assert np.allclose(last[:7][joints], held[:7][joints], atol=1e-9)


def test_what_a_gripper_holds_it_keeps() -> None:
    robot = running()
    robot.offset[GRIPPER] = -0.02
    blocked(robot, np.arange(8) == 2, 200)
    end = robot.controller._sent.newest
    assert end is not None
    assert robot.positions[-1][GRIPPER] == end.position[GRIPPER] > 0.0
    assert robot.controller.mode is Mode.LATCHED


def test_a_way_back_is_the_last_that_is_sent() -> None:
    """So the control node sends it more than once: it may be lost."""
    robot = running()
    place = robot.observe().joint_position
    ticks = []
    for _ in range(200):
        robot.offset[2] = place[2] - robot.side.sample(robot.now_ns + PERIOD_NS)[0][2]
        ticks.append(robot.tick())
    sent = [tick for tick in ticks if tick.command is not None]
    assert [tick.last for tick in sent] == [False] * (len(sent) - 1) + [True]


def test_armed_again_it_stays_where_it_was_held() -> None:
    robot = running()
    place = blocked(robot, np.arange(8) == 3, 200)
    robot.controller.reset()
    robot.tick()
    robot.controller.arm()
    since = len(robot.positions)
    for _ in range(100):
        robot.tick()
    moved = np.abs(np.array(robot.positions[since:]) - robot.positions[since])
    assert moved.max() < 1e-9 and abs(robot.positions[-1][3] - place[3]) < 1e-9


@pytest.mark.parametrize("arrives", [True, False])
def test_armed_again_it_keeps_its_limits_whether_the_way_back_arrived_or_not(arrives: bool) -> None:
    """It was lost in the tick in which the monitor latched: 0.32 rad in 0.3 s took 1.5 times the acceleration."""
    robot = armed()
    robot.controller.submit(to(0, 40.0, robot.now_ns), robot.now_ns)
    for _ in range(60):
        robot.tick()
    place = robot.observe().joint_position

    def hold(ticks: int) -> None:
        for _ in range(ticks):
            was = robot.controller.mode
            robot.offset[0] = (place - robot.side.sample(robot.now_ns + PERIOD_NS)[0])[0]
            robot.tick()
            if not arrives and was is Mode.RUNNING and robot.controller.mode is Mode.STOPPING:
                robot._flying.clear()

    hold(200)
    assert robot.controller.mode is Mode.LATCHED
    pressed = abs(robot.positions[-1][0] - place[0])
    assert pressed < 1e-9 if arrives else pressed > 0.3
    robot.controller.reset()
    robot.tick()
    since = len(robot.positions)
    robot.controller.arm()
    hold(200)
    assert abs(robot.positions[-1][0] - place[0]) < 1e-9 and robot.controller.mode is Mode.ARMED
    robot.assert_inside(since)


@pytest.mark.parametrize("moves", [False, True])
def test_a_hand_that_takes_single_positions_lets_the_arm_come_back_while_it_rests(moves: bool) -> None:
    """It holds no way: one that moves needs its commands to come to rest. Once the arm stayed pressed on either way."""
    arm, hand = PROFILE.controllers
    profile = replace(PROFILE, controllers=(arm, replace(hand, type="forward_command", timeout_s=0.1)))
    robot = Robot()
    robot.controller = Controller(profile, held=PROFILE.vector("home"))
    robot.tick()
    robot.arm()
    rows = swing(robot.now_ns, robot.now_ns).actions.copy()
    rows[:, GRIPPER] = np.linspace(rows[0, GRIPPER], 0.0, len(rows)) if moves else rows[0, GRIPPER]
    robot.controller.submit(make_chunk(rows, robot.now_ns), robot.now_ns)
    for _ in range(50):
        robot.tick()
    place = robot.observe().joint_position
    blocked(robot, np.arange(8) == 2, 200)
    assert robot.controller.mode is Mode.LATCHED
    pressed = abs(robot.positions[-1][2] - place[2])
    assert pressed < 1e-9
    robot.assert_inside()


def test_a_measurement_that_jumps_is_not_believed() -> None:
    """An encoder that is wrong by half a radian does not lead the robot there."""
    robot = running()
    robot.offset[3] = 0.5
    end = robot.controller._reference.newest.stop.position[-1][3]
    for _ in range(200):
        robot.tick()
    assert robot.controller.mode is Mode.LATCHED
    assert abs(robot.positions[-1][3] - end) < 0.05


@pytest.mark.parametrize("met", [0, 5, 12])
def test_what_it_meets_while_it_brakes_is_not_pressed_on(met: int) -> None:
    """The stop was asked for, and a joint meets something later, by less than its tolerance: nothing latches for it."""
    robot = running()
    since = len(robot.positions)
    for tick in range(met + 1):
        if not tick:
            robot.controller.stop(Reason(Cause.REQUESTED, "test"))
        robot.tick()
    place = robot.observe().joint_position
    blocked(robot, np.arange(8) == 0, 200)
    assert robot.controller.mode is Mode.LATCHED
    assert robot.controller._modes.reason == Reason(Cause.REQUESTED, "test")
    pressed = abs(robot.positions[-1][0] - place[0])
    assert pressed <= PROFILE.safety.held_share * PROFILE.tracking_tolerance[0], f"{pressed:.3f} rad are left"
    robot.assert_inside(since)


def test_what_gravity_pulls_off_its_setpoint_stays_there() -> None:
    """An arm that came to where it is measured would sink with each stop."""
    robot = running()
    robot.offset[3] = 0.9 * PROFILE.safety.held_share * PROFILE.tracking_tolerance[3]
    robot.controller.stop(Reason(Cause.REQUESTED, "test"))
    command = robot.tick().command
    assert command is not None
    for _ in range(200):
        robot.tick()
    assert np.allclose(robot.positions[-1], command.trajectory.position[-1], atol=1e-9)


def test_it_does_not_come_back_through_what_must_be_kept_apart() -> None:
    """A measured position that the model calls a collision is no place to go to: it stops as for any other reason."""
    clearance = Clearance(PROFILE, load_environment("tabletop"))
    controller = Controller(PROFILE, clearance=clearance, held=PROFILE.vector("home"))
    stop = controller._filter.step(None).stop
    into_the_table = PROFILE.vector("home") + np.array([0.0, 1.2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert controller._filter.retreat(stop, into_the_table) is None
    near = PROFILE.vector("home") - 0.02
    longer = controller._filter.retreat(stop, near)
    assert longer is not None and np.array_equal(longer.position[-1], near)


@pytest.mark.parametrize(("moment", "eased"), [(2, False), (6, True)])
def test_after_a_standstill_in_a_stop_it_is_let_go_where_it_is_known_what_the_robot_holds(
    moment: int, eased: bool
) -> None:
    """The last commands of a stop all end in one place; until then one that was lost would make it leap."""
    robot = running()
    robot.controller.stop(Reason(Cause.REQUESTED, "test"))
    robot.offset[1] = 0.06
    for _ in range(moment):
        robot.tick()
    ticks = [robot.tick(skip=7), *(robot.tick() for _ in range(200))]
    assert any(tick.last for tick in ticks) is eased
    assert robot.controller.mode is Mode.LATCHED
    robot.assert_inside()
