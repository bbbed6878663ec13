"""How long who gives a hand, or permits motion, may be silent: measured for `test_tightened`."""

from __future__ import annotations

from tendon.robots.profile import RobotProfile, StopInput
from tendon.safety.input_watch import StopInputWatch
from tests.control.robot_side import MS

DOOR = StopInput(name="door", topic="door/closed", permits=(True,), required=False)


def unheard_ms(profile: RobotProfile) -> int:
    """Returns how long somebody publishes a stop input and is not heard before that is found."""
    watch = StopInputWatch(DOOR, profile.safety)
    watch.attend(1)
    return next(ms for ms in range(0, 10_000, 10) if list(watch.findings(ms * MS)))
