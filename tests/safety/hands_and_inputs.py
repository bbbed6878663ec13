"""How long who gives a hand, or permits motion, may be silent, and a machine may stand: for `test_tightened`."""

from __future__ import annotations

from tendon.control.deadman import Deadman
from tendon.control.standstill import Standstill, gap_ticks
from tendon.core.types import Observation
from tendon.robots.easing import Easing
from tendon.robots.profile import RobotProfile, StopInput
from tendon.safety.input_watch import StopInputWatch
from tests.control.robot_side import MS

DOOR = StopInput(name="door", topic="door/closed", permits=(True,), required=False)


def unheard_ms(profile: RobotProfile) -> int:
    """Returns how long somebody publishes a stop input and is not heard before that is found."""
    watch = StopInputWatch(DOOR, profile.safety)
    watch.attend(1)
    return next(ms for ms in range(0, 10_000, 10) if list(watch.findings(ms * MS)))


def hold_ms(profile: RobotProfile) -> int:
    """Returns how old the last chunk of a hold is when it ends."""
    deadman = Deadman(profile)
    assert deadman.take(MS, 1000 * MS, 1000 * MS)
    return next(ms for ms in range(1000) if deadman.lapse((1000 + ms) * MS))


def eased_ms(profile: RobotProfile) -> int:
    """Returns for how long a robot that goes on moving after its stop is looked at."""
    easing, home = Easing(profile), profile.vector("home")
    easing.begin()
    seen = Observation(stamp_ns=1, joint_position=home, joint_velocity=profile.vector("velocity"))
    for ms in range(0, 1000, 10):
        easing.look(home, seen, (1000 + ms) * MS)
        if easing.over:
            return ms
    raise AssertionError("for ever")


def hiccup_ms(profile: RobotProfile) -> int:
    """Returns after how long a loop of 1000 Hz was held up, and counts it as a machine that stood still."""
    most = gap_ticks(profile.safety, MS)
    for ms in range(most):
        hold = Standstill(profile.safety, MS)
        if hold.begin(ms * MS, 10**12, 0) or hold.begin(ms * MS, 10**12 + 1000 * MS, 0):
            return most + ms
    return 2 * most
