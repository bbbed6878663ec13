"""The monitor compares the robot with the commands it heard itself, and a controller that is not heard is stopped."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tendon.core.causes import Cause
from tendon.core.modes import Mode
from tendon.core.types import Array, SentTrajectory
from tendon.safety import cubics
from tendon.safety.laws import RECENT
from tendon.safety.response import Response
from tendon.safety.silence_watch import SilenceWatch
from tendon.safety.tracking_watch import PositionTracking, TrackingWatch
from tests.safety.test_laws import ARM, HOME, MS, PROFILE
from tests.safety.test_succession import HAND, SWING, TOLERANCE

ALLOWED = PROFILE.safety.tracking_factor * TOLERANCE


def whole(arm: Array) -> Array:
    return np.concatenate([arm, HOME[7:]])


def played(off: Array, missing: range = range(0), watch: TrackingWatch | None = None) -> list[str]:
    """What a watch finds when the arm follows the swing but for `off`, and commands of a range are not heard."""
    watch, found, lost = watch or TrackingWatch(PROFILE, ARM), [], False
    for k, (sent, measured) in enumerate(SWING):
        watch.measured(sent.stamp_ns, whole(measured + off[:7]))
        if k in missing:
            lost = True
            continue
        found.append(watch.commanded(sent, lost))
        lost = False
    return [reason for reason in found if reason]


@pytest.mark.parametrize("joint", range(7))
def test_a_joint_that_departs_from_what_was_heard_is_named(joint: int) -> None:
    off = np.zeros(7)
    assert played(off) == []
    allowed = PROFILE.safety.tracking_factor * PROFILE.tracking_tolerance[joint]
    off[joint] = 0.95 * allowed
    assert played(off) == []
    off[joint] = -1.05 * allowed
    found = played(off)
    assert f"{ARM.joints[joint]} is" in found[0] and len(found) > 200


def test_a_joint_that_is_stuck_is_found_when_its_command_has_gone_on() -> None:
    watch, stuck = TrackingWatch(PROFILE, ARM), SWING[60][1]
    for sent, measured in SWING[:200]:
        watch.measured(sent.stamp_ns, whole(stuck if sent.stamp_ns > SWING[60][0].stamp_ns else measured))
        if watch.commanded(sent, lost=False):
            break
    else:
        raise AssertionError("never found")
    assert np.abs(measured - stuck).max() < 1.5 * ALLOWED


@pytest.mark.parametrize("age_ms", [0, 8, 15, 40, 90])
def test_a_departure_is_found_however_long_joint_states_are_on_their_way(age_ms: int) -> None:
    """The control node takes them up to 40 ms old; from 8 ms on the monitor once compared none of them."""
    good, off = (late(age_ms, np.full(7, share * ALLOWED)) for share in (0.5, 1.5))
    assert good == [] and len(off) > 200


def late(age_ms: int, off: Array) -> list[str]:
    """What a watch finds when joint states between two commands arrive late."""
    sent = [(command.stamp_ns + MS, command, measured) for command, measured in SWING]
    seen = [(at_ns + (2 + age_ms) * MS, at_ns + 2 * MS, measured) for at_ns, _, measured in sent]
    watch, found = TrackingWatch(PROFILE, ARM), []
    for _, what, measured in sorted([*sent, *seen], key=lambda event: event[0]):
        if isinstance(what, SentTrajectory):
            found.append(watch.commanded(what, lost=False))
        else:
            watch.measured(what, whole(measured + off))
    return [reason for reason in found if reason]


@pytest.mark.parametrize("age_ms", [0, 40, 100])
def test_a_single_position_is_near_where_the_robot_is_measured(age_ms: int) -> None:
    """A first one a radian off, or a jump after a pause, once passed: nothing was looked at but the limits."""
    watch, joint = PositionTracking(PROFILE, replace(ARM, type="forward_command", timeout_s=0.1)), 3
    goal, speed = HOME[:7].copy(), PROFILE.joints[joint].velocity
    allowed = PROFILE.safety.tracking_factor * TOLERANCE + speed * (age_ms + 20) * 1e-3
    for share, found in ((0.0, ""), (0.99, ""), (1.01, ARM.joints[joint]), (float("nan"), ARM.joints[joint])):
        goal[joint] = HOME[joint] + share * allowed
        assert found in watch.commanded(goal, HOME, age_ms * 1e-3)
        assert bool(watch.commanded(goal, HOME, age_ms * 1e-3)) is bool(found)
    hand = PositionTracking(PROFILE, replace(HAND, type="forward_command", timeout_s=0.1))
    assert hand.commanded(np.zeros(1), HOME, age_ms * 1e-3) == "", "what a gripper holds keeps it off"


def test_joints_without_tolerance_and_joint_states_that_are_not_measured_are_not_judged() -> None:
    hand = TrackingWatch(PROFILE, HAND)
    for k in range(20):
        hand.measured(k * 10 * MS, np.full(8, 0.04))
        still = np.zeros((1, 1))
        sent = SentTrajectory(
            stamp_ns=k * 10 * MS, joint_names=HAND.joints, times_ns=(10 * MS,), position=still, velocity=still
        )
        assert hand.commanded(sent, lost=False) == ""


def test_joint_states_that_overtake_commands_or_come_while_some_are_lost_are_no_departure() -> None:
    """A monitor that was held up hears the newest joint state first, and of the commands the newest 20."""
    watch = TrackingWatch(PROFILE, ARM)
    for sent, measured in SWING:
        watch.measured(sent.stamp_ns, whole(measured))
    assert [reason for sent, _ in SWING if (reason := watch.commanded(sent, lost=False))] == []
    assert played(np.zeros(7), missing=range(100, 180)) == []


FAST, BRAKES_NS = 4.0, 400 * MS
"""rad/s of a joint that is commanded on for 40 ms, and then to brake for so long."""


def fast(k: int) -> SentTrajectory:
    """The k-th of commands, 10 ms apart, that move the first joint fast."""
    begin, stop_s = FAST * 0.01 * k, BRAKES_NS * 1e-9
    position, velocity = np.tile(HOME[:7], (3, 1)), np.zeros((3, 7))
    position[:, 0] = begin, begin + FAST * 0.04, begin + FAST * (0.04 + stop_s / 2)
    velocity[:, 0] = FAST, FAST, 0.0
    times = (0, 40 * MS, 40 * MS + BRAKES_NS)
    return SentTrajectory(
        stamp_ns=k * 10 * MS, joint_names=ARM.joints, times_ns=times, position=position, velocity=velocity
    )


def followed(newest: int) -> TrackingWatch:
    """Returns one that has heard fast commands up to the newest."""
    watch = TrackingWatch(PROFILE, ARM)
    assert [watch.commanded(fast(k), lost=False) for k in range(newest + 1)] == [""] * (newest + 1)
    return watch


@pytest.mark.parametrize(("lost", "found"), [(0, False), (6, False), (RECENT, False), (RECENT + 5, True)])
def test_while_nothing_is_sent_a_robot_may_play_the_stop_of_one_of_the_last_commands(lost: int, found: bool) -> None:
    watch, heard = followed(40), fast(40 - lost)
    for at_ns in range(421 * MS, 800 * MS, 2 * MS):
        watch.measured(at_ns, whole(cubics.sample(heard, at_ns)[0]))
    assert bool(watch.commanded(fast(100), lost=False)) is found


@pytest.mark.parametrize("lost", [0, 6, RECENT, RECENT + 5])
def test_while_commands_come_a_robot_that_plays_an_older_one_is_found(lost: int) -> None:
    watch, heard = followed(40), fast(40 - lost)
    found = []
    for k in range(41, 80):
        at_ns = (k * 10 - 5) * MS
        watch.measured(at_ns, whole(cubics.sample(heard, at_ns)[0]))
        found.append(watch.commanded(fast(k), lost=False))
    assert any(found)


def test_the_first_command_after_a_robot_was_moved_is_compared_with_nothing_older() -> None:
    watch = TrackingWatch(PROFILE, ARM)
    for sent, measured in SWING[:50]:
        watch.measured(sent.stamp_ns - 10**9, whole(measured + 1.0))
        assert watch.commanded(sent, lost=False) == ""


def test_a_robot_that_was_moved_while_nobody_commanded_it_is_not_stopped_by_its_next_command() -> None:
    watch = TrackingWatch(PROFILE, ARM)
    for sent, measured in SWING[:50]:
        watch.measured(sent.stamp_ns, whole(measured))
        assert watch.commanded(sent, lost=False) == ""
    last, (again, there) = SWING[49][0], SWING[50]
    end_ns = last.stamp_ns + last.times_ns[-1]
    led = there + 1.0
    for k in range(60):
        watch.measured(end_ns + 10**9 + 10 * k * MS, whole(led))
    moved = replace(again, stamp_ns=end_ns + 2 * 10**9, position=again.position + 1.0)
    assert watch.commanded(moved, lost=False) == ""
    watch.measured(moved.stamp_ns, whole(there))
    following = replace(moved, stamp_ns=moved.stamp_ns + 10 * MS)
    assert "is 1" in watch.commanded(following, lost=False), "from then on it is compared again"


def silent(watch: SilenceWatch, now_ms: int) -> list[str]:
    found = list(watch.findings(now_ms * MS))
    assert all(each.response is Response.STOP and each.cause is Cause.CONTROLLER for each in found)
    return [each.reason.split(":")[0] for each in found]


@pytest.mark.parametrize("mode", [Mode.ARMED, Mode.RUNNING])
def test_a_controller_that_says_it_moves_and_is_not_heard_is_stopped(mode: Mode) -> None:
    watch = SilenceWatch(PROFILE)
    watch.reported(mode, 10_000 * MS)
    assert silent(watch, 10_600) == []
    assert silent(watch, 10_610) == [ARM.name, HAND.name]
    watch.heard(ARM.name, 300 * MS, 10_600 * MS)
    assert silent(watch, 10_650) == [HAND.name]
    for mode_now in (Mode.STOPPING, Mode.LATCHED, Mode.STANDBY, None):
        watch.reported(mode_now, 11_000 * MS)
        assert silent(watch, 20_000) == []


def test_nothing_has_to_be_heard_while_the_robot_plays_its_stop() -> None:
    watch = SilenceWatch(PROFILE)
    watch.reported(Mode.RUNNING, 0)
    for controller in (ARM, HAND):
        watch.heard(controller.name, 700 * MS, 1000 * MS)
    watch.reported(Mode.RUNNING, 1500 * MS)
    assert silent(watch, 1000 + 700 + 600) == []
    assert silent(watch, 1000 + 700 + 610) == [ARM.name, HAND.name]
