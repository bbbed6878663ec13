"""A command is held against the robot and against the one before it: where it starts, after a gap, and when it came."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tendon.core.causes import Cause, Reason
from tendon.core.modes import Mode
from tendon.core.types import ActionChunk, Array, SentTrajectory
from tendon.robots.trajectory_controller import TrajectoryController
from tendon.safety.cubics import sample
from tendon.safety.laws import CommandLaws, Delivery, start_allowance
from tests.control.robot_side import Robot
from tests.laws import law_settings
from tests.safety.test_laws import ARM, COLUMNS, HOME, MS, PROFILE, command, laws_of, rest_to_rest

HAND = PROFILE.controllers[1]
TOLERANCE = PROFILE.joints[0].tracking_tolerance or 0.0


def of_arm(robot: Robot, skip: int = 0) -> SentTrajectory | None:
    """The next command that a robot's controller sends to the arm."""
    tick = robot.tick(skip=skip)
    if tick.command is None:
        return None
    points = tick.command.trajectory
    return SentTrajectory(
        stamp_ns=tick.command.stamp_ns,
        joint_names=ARM.joints,
        times_ns=points.time_from_start_ns,
        position=points.position[:, COLUMNS[ARM.name]],
        velocity=points.velocity[:, COLUMNS[ARM.name]],
    )


def swinging(ticks: int = 300) -> Iterator[tuple[SentTrajectory, Array]]:
    """Commands of a robot that swings, and where it is measured."""
    robot = Robot()
    robot.tick()
    robot.controller.arm()
    for k in range(ticks):
        if k > 40 and k % 10 == 0:
            rows = np.tile(HOME, (10, 1))
            rows[:, 0] += 0.8 * np.sin((k + 10 * np.arange(10)) * 0.07)
            stamp_ns = robot.now_ns
            chunk = ActionChunk(
                actions=rows, start_ns=stamp_ns + 50 * MS, step_ns=100 * MS, observation_stamp_ns=stamp_ns
            )
            robot.controller.submit(chunk, stamp_ns)
        sent = of_arm(robot)
        if sent is not None and k > 30:  # it has settled
            yield sent, sample(sent, sent.stamp_ns)[0]


SWING = list(swinging())


def heard(laws: CommandLaws, sent: SentTrajectory, measured: Array, **more: object) -> str:
    """Which law a command breaks, "" for none, when the robot is measured as it arrives."""
    breach = laws.check(sent, Delivery(measured=measured, measured_ns=sent.stamp_ns, **more))  # type: ignore[arg-type]
    return "" if breach is None else breach.law


def following(laws: CommandLaws, until: int) -> None:
    """Lets the laws hear the swing up to a command."""
    laws.check(command([SWING[0][0].position[0]], np.zeros((1, 7)), (10,), SWING[0][0].stamp_ns - 10 * MS), at(0))
    for sent, measured in SWING[:until]:
        assert heard(laws, sent, measured) == ""


def at(k: int) -> Delivery:
    return Delivery(measured=SWING[k][1], measured_ns=SWING[k][0].stamp_ns)


@pytest.mark.parametrize("points", [1, 21])
def test_a_first_command_starts_where_the_robot_is_measured(points: int) -> None:
    first = rest_to_rest(0.05) if points > 1 else command([HOME[:7]], np.zeros((1, 7)), (300,))
    assert heard(laws_of(), first, HOME[:7] + 0.9 * start_allowance(PROFILE)[:7]) == ""
    assert heard(laws_of(), first, HOME[:7] + 1.0) == "start"
    assert heard(laws_of(), first, HOME[:7] + 1.1 * start_allowance(PROFILE)[:7]) == "start"
    breach = laws_of().check(first, Delivery())
    assert breach is not None and breach.law == "start" and "nothing is known" in breach.reason


def test_a_first_command_starts_at_rest() -> None:
    sent, measured = max(SWING, key=lambda pair: float(np.abs(pair[0].velocity[0]).max()))
    assert heard(laws_of(), sent, measured) == "start"


@pytest.mark.parametrize("settles", [True, False])
def test_so_does_the_first_one_after_a_rest(settles: bool) -> None:
    laws = laws_of()
    assert heard(laws, rest_to_rest(0.0), HOME[:7]) == ""
    points, times = (1, (300,)) if settles else (2, (0, 10))
    later = command([HOME[:7]] * points, np.zeros((points, 7)), times, 1000 * MS)
    assert heard(laws, later, HOME[:7] + 1.0) == "start"


def test_a_robot_that_gravity_pulls_off_starts_from_where_it_was_held() -> None:
    """The measured pose differs from the start by what the controller allows, and by more after it has settled."""
    robot, laws = Robot(), laws_of()
    robot.tick()
    for sag in (0.0, 0.9 * PROFILE.safety.held_share * TOLERANCE, 3 * PROFILE.safety.held_share * TOLERANCE):
        robot.offset[:7] = sag
        robot.tick()
        robot.controller.arm()
        for k in range(90):
            if (sent := of_arm(robot)) is None:
                continue  # it settles
            assert heard(laws, sent, robot.observe().joint_position[:7]) == "", (sag, k)
        robot.controller.stop(Reason(Cause.REQUESTED, "asked"))
        while robot.controller.mode is not Mode.LATCHED:
            if (sent := of_arm(robot)) is not None:
                assert heard(laws, sent, robot.observe().joint_position[:7]) == ""
        robot.controller.reset()


def grip(position: float, stamp_ns: int) -> SentTrajectory:
    return SentTrajectory(
        stamp_ns=stamp_ns,
        joint_names=HAND.joints,
        times_ns=[300 * MS],
        position=np.array([[position]]),
        velocity=np.zeros((1, 1)),
    )


def test_a_gripper_that_holds_something_keeps_its_setpoint_and_goes_nowhere_else() -> None:
    laws, width = laws_of(HAND), np.array([0.03])
    assert heard(laws, grip(0.001, 0), width) == "", "an earlier controller may have left it there"
    assert heard(laws, grip(0.001, 1000 * MS), width) == ""
    assert heard(laws, grip(0.02, 2000 * MS), width) == "start"


def test_the_start_is_judged_as_soon_as_it_is_known_where_the_robot_is() -> None:
    laws, goal = laws_of(), np.tile(HOME[:7], (1, 1))
    old = Delivery(measured=HOME[:7] + 1.0, measured_ns=-500 * MS)
    assert laws.check(command(goal, np.zeros((1, 7)), (300,)), old) is None
    assert heard(laws, command(goal, np.zeros((1, 7)), (290,), 10 * MS), HOME[:7] + 1.0) == "start"


def test_nobody_is_asked_to_settle_in_mid_motion() -> None:
    laws = laws_of()
    following(laws, 150)
    sent, measured = SWING[150]
    assert heard(laws, command([measured], np.zeros((1, 7)), (300,), sent.stamp_ns), measured) == "settle"


@pytest.mark.parametrize("gap", [2, 5, 20, 50])
def test_after_a_gap_only_the_stop_of_the_command_before_goes_on(gap: int) -> None:
    """Nothing was lost: the robot plays that stop, and a command that goes on elsewhere makes it jump."""
    laws = laws_of()
    following(laws, 150)
    at_ns = SWING[149][0].stamp_ns + gap * 10 * MS
    last = laws.last
    assert last is not None
    points = [sample(last, at_ns + k * 10 * MS) for k in range(40)]
    position, velocity = (np.array([point[k] for point in points]) for k in (0, 1))
    times = tuple(10.0 * k for k in range(40))
    stop = command(position, velocity, times, at_ns)
    jump = command(position + 0.01, velocity, times, at_ns)
    assert heard(laws, jump, jump.position[0]) == "agree"
    laws = laws_of()
    following(laws, 150)
    assert heard(laws, stop, position[0]) == ""


def test_what_lost_commands_may_have_led_to_passes_and_no_more() -> None:
    for missed in (1, 2, 3, 6, 15):
        laws = laws_of()
        following(laws, 150)
        sent, measured = SWING[150 + missed]
        assert heard(laws, sent, measured, lost=True) == "", missed
        for by in (0.1, 0.5):
            laws = laws_of()
            following(laws, 150)
            other = command(sent.position + by, sent.velocity, [t / MS for t in sent.times_ns], sent.stamp_ns)
            assert heard(laws, other, measured, lost=True) in ("agree", "start"), (missed, by)


def test_after_half_a_second_of_lost_commands_the_robot_has_to_be_where_the_next_one_goes_on() -> None:
    laws = laws_of()
    following(laws, 150)
    sent, measured = SWING[200]
    assert heard(laws, sent, measured + 1.1 * TOLERANCE, lost=True) == "start"
    laws = laws_of()
    following(laws, 150)
    assert heard(laws, sent, measured + 0.9 * TOLERANCE, lost=True) == ""


def test_after_a_silence_the_robot_rests_whatever_was_lost() -> None:
    """A control node that starts again counts its messages anew: its first command is no more than a first one."""
    laws = laws_of()
    following(laws, 150)
    last, sent = laws.last, SWING[160][0]
    assert last is not None and sent.velocity[0].any()
    measured = last.position[-1]
    late = command(sent.position + measured - sent.position[0], sent.velocity, [t / MS for t in sent.times_ns], 10**14)
    assert heard(laws, late, measured, lost=True) == "start"


def test_after_a_silence_a_command_that_goes_on_from_the_stop_is_no_first_one() -> None:
    """After a standstill of 2 s a robot hangs a little below its setpoint, as it did before."""
    laws = laws_of()
    following(laws, 150)
    last = laws.last
    assert last is not None
    begins = SWING[0][0]  # at rest, as each that begins
    times_ms = [t / MS for t in begins.times_ns]
    goes_on = command(last.position[-1] + begins.position - begins.position[0], begins.velocity, times_ms, 10**14)
    sags = start_allowance(PROFILE)[:7] + 0.5 * TOLERANCE
    assert (sags < TOLERANCE).all()
    assert heard(laws, goes_on, last.position[-1] - sags, lost=True) == ""
    laws = laws_of()
    following(laws, 150)
    assert heard(laws, goes_on, last.position[-1] - 1.1 * TOLERANCE, lost=True) == "start"


def test_a_first_command_whose_start_nobody_knew_is_judged_by_the_next() -> None:
    laws, (sent, measured), (following_one, _) = laws_of(), SWING[0], SWING[1]
    old = Delivery(measured=measured, measured_ns=sent.stamp_ns - 10**9)
    assert laws.check(sent, old) is None
    assert heard(laws, following_one, measured + 1.1 * TOLERANCE) == "start"


@pytest.mark.parametrize("off_s", [3600.0, -3600.0, 0.2])
def test_a_stamp_far_from_the_arrival_is_a_breach_and_spoils_nothing(off_s: float) -> None:
    laws = laws_of()
    following(laws, 150)
    sent, measured = SWING[150]
    wrong = command(sent.position, sent.velocity, [t / MS for t in sent.times_ns], sent.stamp_ns + round(off_s * 1e9))
    assert heard(laws, wrong, measured, arrived_ns=sent.stamp_ns) == "stamp"
    assert heard(laws, sent, measured, arrived_ns=sent.stamp_ns + 5 * MS) == "", "the next one is no breach"


@pytest.mark.parametrize("late_ms", [5, 15, 25, 29, 35, 45])
def test_a_command_is_late_when_a_robot_that_takes_it_on_arrival_would_jump(late_ms: int) -> None:
    """The robot's own replay tells: `TrajectoryController` replaces on arrival, as ros2_control does."""
    laws, robot = laws_of(), TrajectoryController(ARM.joints, SWING[0][0].position[0])
    following(laws, 100)
    robot.accept(SWING[99][0], SWING[99][0].stamp_ns)
    breaches = jumps = 0
    for sent, measured in SWING[100:250]:
        arrived_ns = sent.stamp_ns + late_ms * MS
        before, speed = robot.sample(arrived_ns)
        robot.accept(sent, arrived_ns)
        after, speed_after = robot.sample(arrived_ns)
        jump = (np.abs(after - before) > 1e-5 * PROFILE.vector("velocity")[:7]).any() or (
            np.abs(speed_after - speed) > 1e-3 * PROFILE.vector("velocity")[:7]
        ).any()
        law = heard(laws, sent, measured, arrived_ns=arrived_ns)
        assert law == ("late" if jump else "")
        breaches, jumps = breaches + (law == "late"), jumps + jump
    assert (jumps > 50) == (late_ms > 30)


def test_a_late_command_to_a_robot_at_rest_is_none() -> None:
    laws = laws_of()
    still = np.tile(HOME[:7], (2, 1))
    for k in range(10):
        sent = command(still, np.zeros((2, 7)), (0, 10), k * 10 * MS)
        assert heard(laws, sent, HOME[:7], arrived_ns=sent.stamp_ns + 60 * MS) == ""


@law_settings(max_examples=25)
@given(
    st.lists(st.tuples(st.sampled_from([0] * 8 + [1, 2, 5, 9, 12, 40]), st.booleans(), st.booleans()), max_size=120),
    arrays(np.float64, (6, 10, 8), elements=st.floats(-2.0, 2.0)),
)
def test_whatever_holds_up_the_controller_or_gets_lost_its_commands_obey(
    story: list[tuple[int, bool, bool]], targets: Array
) -> None:
    """Missed ticks, standstills, commands that were ready too late and taken back, and some that the monitor missed."""
    robot, laws, lost, late = Robot(), laws_of(), False, 0
    robot.tick()
    robot.controller.arm()
    for k, (skip, miss, slow) in enumerate([(0, False, False)] * 40 + story):
        if k % 9 == 0:
            stamp_ns = robot.now_ns
            times = {"start_ns": stamp_ns + 50 * MS, "step_ns": 100 * MS, "observation_stamp_ns": stamp_ns}
            robot.controller.submit(ActionChunk(actions=HOME + targets[k % 6], **times), stamp_ns)
        sent = of_arm(robot, skip)
        if sent is None:
            continue
        if slow and k > 60 and not late:
            late = k
            robot._flying.pop()  # it was not sent
            robot.controller.abandon(20 * MS)
            continue
        if miss and k % 4 == 0:
            lost = True
            continue
        assert (
            heard(laws, sent, robot.observe().joint_position[:7], lost=lost, arrived_ns=sent.stamp_ns + 19 * MS) == ""
        )
        lost = False
