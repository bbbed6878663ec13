"""A network that is gone between controller and robot: the robot plays the stop of a command, nobody knows of which."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendon.core.causes import Cause, Reason
from tendon.core.modes import Mode
from tests.control.far_robot import FarRobot
from tests.control.limits_checker import PROFILE
from tests.control.monitors_laws import breach_of, every_law
from tests.control.robot_side import MS, Robot
from tests.control.test_controller import HOME, running, settle, swing
from tests.laws import law_settings

GRIPPER = 7


def cut_for(robot: Robot, ticks: int) -> None:
    robot.cut = True
    settle(robot, ticks)
    robot.cut = False


class Watched:
    """A robot whose monitor checks each command, and hears none either while both are cut off from the controller.

    Args:
        alone: whether the monitor is on the controller's side, and hears all commands but no joint states.
        acknowledges: see `Robot`.
    """

    def __init__(self, alone: bool, acknowledges: bool) -> None:
        self.robot, self._laws = Robot(acknowledges=acknowledges), every_law()
        self._alone, self._missed = alone, False
        self.begin_ns = self.robot.now_ns

    def tick(self, skip: int = 0) -> None:
        robot = self.robot
        command = robot.tick(skip=skip).command
        if command is None:
            return
        if robot.cut and not self._alone:
            self._missed = True
            return
        breach = breach_of(self._laws, command, robot.observe(), self._missed)
        assert breach is None, breach
        self._missed = False

    def lead(self, ticks: int) -> None:
        """Sends a chunk every 150 ms, which swings on as if nothing had been."""
        for k in range(ticks):
            if k % 15 == 0:
                self.propose()
            self.tick()

    def propose(self) -> None:
        self.robot.controller.submit(swing(self.robot.now_ns - 50 * MS, self.begin_ns), self.robot.now_ns)

    def arm(self) -> None:
        self.robot.controller.arm()
        self.tick()


@law_settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
def test_an_outage_of_any_length_at_any_moment_breaks_no_limit_and_no_law(
    seed: int, alone: bool, acknowledges: bool
) -> None:
    rng = np.random.default_rng(seed)
    watched = Watched(alone, acknowledges)
    robot = watched.robot
    watched.arm()
    for _ in range(4):
        watched.lead(int(rng.integers(1, 80)))
        robot.cut = True
        for _ in range(int(rng.integers(1, 25))):
            if rng.random() < 0.1:
                watched.propose()
            if rng.random() < 0.02:
                robot.controller.stop(Reason(Cause.REQUESTED, "test"))
            watched.tick(skip=int(rng.integers(1, 9)) if rng.random() < 0.05 else 0)
        robot.cut = False
        if robot.controller.mode.stopped:
            for _ in range(80):
                watched.tick()
            assert robot.controller.mode is Mode.LATCHED
            robot.controller.reset()
            watched.tick()
            watched.arm()
    watched.lead(250)
    assert robot.controller.mode is Mode.RUNNING
    robot.assert_inside()


@pytest.mark.parametrize("gripped", [False, True])
def test_an_outage_just_after_arming_forgets_nothing(gripped: bool) -> None:
    """The robot side may hold any setpoint within its tolerance, and may not have been told where to settle."""
    held, off = HOME.copy(), np.r_[np.full(7, 0.07), 0.0]
    if gripped:
        held[GRIPPER], off = 0.0, np.r_[np.zeros(7), 0.035]
    robot = Robot(position=held, known=False)
    robot.offset = off
    settle(robot, 5)
    robot.controller.arm()
    cut_for(robot, 3)
    settle(robot, 300)
    assert robot.controller.mode is Mode.ARMED
    robot.assert_inside()


@pytest.mark.parametrize("skip", [6, 8, 30])
@pytest.mark.parametrize("moment", range(0, 60, 7))
def test_a_command_that_is_lost_alone_right_before_a_standstill_breaks_no_limit(skip: int, moment: int) -> None:
    """Nobody can be asked any more whether it came, and nothing tells of it."""
    robot = running()
    settle(robot, moment)
    robot.lose()
    robot.tick(skip=skip)
    settle(robot, 300)
    assert robot.controller.mode is Mode.RUNNING
    robot.assert_inside()


def test_an_outage_of_30_ms_is_a_hold_that_ends_by_itself() -> None:
    robot = running()
    begin_ns = robot.now_ns
    cut_for(robot, 3)
    tick = robot.tick()
    assert tick.command is None and tick.mode is Mode.RUNNING
    assert tick.reasons == ("held: the last commands may not have come to the robot",)
    while tick.command is None:
        assert robot.now_ns - begin_ns < 2e9, "the hold has no end"
        tick = robot.tick()
    assert len(tick.command.trajectory.position) == 1, "it settles: what the robot holds is not known"
    for _ in range(8):
        robot.controller.submit(swing(robot.now_ns, begin_ns), robot.now_ns)
        settle(robot, 10)
    assert np.abs(robot.velocities[-500:]).max() > 0.05
    robot.assert_inside()


@pytest.mark.parametrize(("ticks", "holds"), [(1, False), (2, True)])
def test_an_outage_is_noticed_where_the_next_joint_state_is_fresh_again(ticks: int, holds: bool) -> None:
    """After two ticks without joint states, as where they come at 500 Hz and were lost for 21 ms or more."""
    robot = running(acknowledges=False)
    cut_for(robot, ticks)
    assert (robot.tick().command is None) is holds
    settle(robot, 150)
    assert robot.controller.mode is Mode.RUNNING
    robot.assert_inside()


def test_a_tick_that_is_late_is_no_gap_between_joint_states() -> None:
    robot = running(acknowledges=False)
    cut_for(robot, 2)
    settle(robot, 60)
    assert robot.tick().command is not None, "it goes on, where joint states were lost a moment ago"
    assert robot.tick(skip=1).command is not None
    robot.assert_inside()


def test_an_outage_that_begins_before_the_loop_is_held_up_is_noticed_in_its_hold() -> None:
    robot = running(acknowledges=False)
    robot.cut = True
    robot.tick()
    robot.tick(skip=8)
    cut_for(robot, 2)
    settle(robot, 150)
    assert robot.controller.mode is Mode.RUNNING
    robot.assert_inside()


@pytest.mark.parametrize("ticks", [5, 7, 10, 20])
def test_a_longer_one_latches_and_nothing_is_sent_after_it(ticks: int) -> None:
    """The commands of its stop would be another stop than the one that the robot plays."""
    robot = running()
    cut_for(robot, ticks)
    after = [robot.tick() for _ in range(60)]
    assert all(tick.command is None for tick in after)
    assert after[-1].mode is Mode.LATCHED and after[-1].cause is Cause.STALE_JOINTS
    assert not robot.velocities[-1].any()
    robot.assert_inside()


@pytest.mark.parametrize("acknowledges", [True, False])
def test_joint_states_alone_that_are_late_hold_nothing(acknowledges: bool) -> None:
    robot = running(acknowledges=acknowledges)
    robot.stale_ns = 39 * MS
    assert all(robot.tick().command is not None for _ in range(40))
    robot.assert_inside()


def test_what_a_gripper_holds_it_keeps_over_an_outage() -> None:
    robot = running()
    robot.offset[GRIPPER] = -0.02
    settle(robot, 5)
    cut_for(robot, 3)
    held = robot.positions[-1][GRIPPER]
    settle(robot, 150)
    assert robot.controller.mode is Mode.RUNNING
    assert abs(robot.positions[-1][GRIPPER] - held) < 0.003, "it closes on, by its stop, and does not let go"
    robot.assert_inside()


def test_somebody_who_moves_the_robot_during_the_hold_latches_it() -> None:
    robot = running()
    cut_for(robot, 3)
    robot.offset[2] = 0.2
    settle(robot, 150)
    assert robot.controller.mode is Mode.LATCHED
    assert "panda_joint3 is 0.19" in robot.tick().reasons[0]


def test_a_stop_that_is_asked_for_during_an_outage_latches_when_the_robot_rests() -> None:
    robot = running()
    cut_for(robot, 3)
    robot.tick()
    robot.controller.stop(Reason(Cause.REQUESTED, "somebody pressed it"))
    assert robot.tick().mode is Mode.STOPPING
    settle(robot, 60)
    assert robot.controller.mode is Mode.LATCHED and not robot.velocities[-1].any()
    robot.assert_inside()


@law_settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["stands still", "stands still, one lost", "cut", "cut for both"]))
def test_what_leans_on_a_robot_while_it_waits_breaks_no_law(seed: int, fault: str) -> None:
    """By less than the tracking tolerance: it is not told from a robot that heard another of the last commands."""
    rng = np.random.default_rng(seed)
    watched = Watched(alone=fault != "cut for both", acknowledges=True)
    robot = watched.robot
    watched.arm()
    watched.lead(int(rng.integers(60, 140)))
    if fault == "stands still, one lost":
        robot.lose()
    if fault.startswith("cut"):
        robot.cut = True
        for _ in range(3):
            watched.tick()
        robot.cut = False
    else:
        watched.tick(skip=int(rng.integers(6, 40)))
    robot.offset[rng.integers(0, GRIPPER)] = 0.9 * rng.uniform(-1.0, 1.0) * PROFILE.tracking_tolerance[0]
    watched.lead(250)
    assert robot.controller.mode is Mode.RUNNING
    robot.assert_inside()


@law_settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
def test_what_a_gripper_closes_on_while_the_network_is_out_breaks_no_law(seed: int, alone: bool, swings: bool) -> None:
    """Its setpoint goes on, and where it stands does not tell which of the last commands it heard."""
    rng = np.random.default_rng(seed)
    watched = Watched(alone, acknowledges=True)
    robot = watched.robot
    watched.arm()
    watched.lead(40)
    object_m, close = float(rng.uniform(0.02, 0.035)), np.r_[np.zeros(7), -0.04]
    begin_ns, cut = robot.now_ns, int(rng.integers(5, 60))
    for k in range(300):
        robot.cut = cut <= k < cut + 3
        if k % 15 == 0:
            plan = swing(robot.now_ns - 50 * MS, watched.begin_ns if swings else robot.now_ns + 10**10)
            share = np.clip((robot.now_ns - begin_ns + 100 * MS * np.arange(1, 17)) / 1e9, 0.0, 1.0)
            grip = HOME[GRIPPER] + share * close[GRIPPER]
            rows = np.column_stack([plan.actions[:, :GRIPPER], grip])
            robot.controller.submit(replace(plan, actions=rows), robot.now_ns)
        held_m = robot.side.sample(robot.now_ns)[0][GRIPPER]
        robot.offset[GRIPPER] = max(0.0, object_m - held_m)
        watched.tick()
    assert robot.controller.mode is Mode.RUNNING
    robot.assert_inside()


@law_settings(max_examples=40)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 2, 4, 6, 8]),
    st.sampled_from([1, 2, 4, 5, 10]),
    st.integers(8, 45),
)
def test_what_is_on_its_way_when_the_network_goes_counts_too(seed: int, way: int, every: int, lasts: int) -> None:
    """Two commands that are sent in an outage of 16 ms, and one that was on its way: three in a row."""
    rng = np.random.default_rng(seed)
    robot = FarRobot(way * MS, every * MS)
    begin_ns = robot.now_ns
    settle(robot, 3)
    robot.controller.arm()
    outage = int(rng.integers(80, 140))
    for k in range(outage + 100):
        if k % 15 == 0:
            robot.controller.submit(swing(robot.now_ns - 50 * MS, begin_ns), robot.now_ns)
        if k == outage:
            robot.go_out(int(rng.integers(0, 10)) * MS, lasts * MS)
        robot.tick()
    robot.assert_inside()
