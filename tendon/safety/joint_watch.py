"""Whether joint states are alive: they follow what the robot is commanded, and what they say of its speed.

A stamp proves nothing: a driver may stamp the same joint state for ever. Content is compared, and only while the robot
moves.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from tendon.core.causes import Cause
from tendon.core.types import Array
from tendon.robots.profile import RobotProfile
from tendon.robots.rest import Rest
from tendon.robots.safety_settings import nanoseconds
from tendon.safety.response import Finding, Response

REPEATED_SHARE = 0.5
"""Part of the age that a joint state may have for which it may be sent again: a driver may publish more often than it
reads its bus. The rest is for the joint state that then says otherwise."""
NEVER_NS = np.iinfo(np.int64).max // 2


class JointWatch:
    """Joint states that stay the same, bit by bit, while commands, or they themselves, say that the robot moves.

    Only joints with a tracking tolerance are looked at, as others may rightly be held off their target. Commands that
    went on are held against them while commands come: a robot that is not commanded stands still, and one that was
    kept from following the last ones must not be locked out by them.

    Args:
        profile: the joints, and when they count as frozen.
    """

    def __init__(self, profile: RobotProfile) -> None:
        self._names = profile.joint_names
        tolerance = profile.tracking_tolerance
        settings = profile.safety
        self._frozen_ns = nanoseconds(settings.frozen_s)
        self._repeats_ns = nanoseconds(REPEATED_SHARE * settings.joint_state_age_s)
        self._motion = settings.frozen_share * tolerance
        self._implied = settings.implied_share * tolerance
        self._speed, self._rest = np.zeros(len(tolerance)), Rest(profile)
        self._followed = np.isfinite(self._motion)
        self._commanded: Array | None = None
        self._commanded_ns = 0
        self._content = b""
        self._since_ns = 0
        self._newest_ns = 0
        self._commanded_then: Array | None = None
        self._never_sent_ns = self._sent_since_ns = np.full(len(tolerance), NEVER_NS)
        self._position = np.zeros(len(tolerance))

    def commanded(self, columns: list[int], position: Array, now_ns: int) -> None:
        """Takes where a new command begins: (k,) positions of the joints in `columns`."""
        self._commanded_ns = now_ns
        if self._commanded is None:
            self._commanded = np.full(len(self._names), np.nan)
        self._commanded = self._commanded.copy()
        self._commanded[columns] = position

    def measured(self, position: Array, velocity: Array, now_ns: int) -> None:
        """Takes a joint state, (n,) each."""
        content = position[self._followed].tobytes() + velocity[self._followed].tobytes()
        self._newest_ns, self._position = now_ns, position
        if content != self._content:
            self._content, self._since_ns, self._commanded_then = content, now_ns, self._commanded
            self._speed = np.where(self._rest.moving(velocity), np.abs(velocity), 0.0)
            self._sent_since_ns = self._never_sent_ns
            return
        begun = self._sent_on() > self._implied
        self._sent_since_ns = np.where(begun, np.minimum(self._sent_since_ns, now_ns), NEVER_NS)

    def findings(self, now_ns: int) -> Iterable[Finding]:
        """Returns a stop when they are frozen."""
        lasted_ns = self._newest_ns - self._since_ns
        said = self._speed * (lasted_ns * 1e-9)
        if lasted_ns > self._repeats_ns and len(moved := np.flatnonzero(said > self._implied)):
            why = f"they say that {self._names[moved[0]]} moves by {self._speed[moved[0]]:.3f} a second"
        elif len(moved := self._sent_away()):
            why = f"{self._names[moved[0]]} was sent on"
        else:
            return []
        reason = f"joint states are frozen: they have not changed for {lasted_ns / 1e6:.0f} ms, while {why}"
        return [Finding(source="joint states", response=Response.STOP, cause=Cause.BAD_JOINTS, reason=reason)]

    def _sent_on(self) -> Array:
        """Returns (n,) how far commands have gone since the content last changed; NaN where none has come yet."""
        if self._commanded is None or self._commanded_then is None:
            return np.zeros(len(self._names))
        return np.abs(self._commanded - self._commanded_then)

    def _sent_away(self) -> npt.NDArray[np.int64]:
        """Returns the joints that were sent on, and away from where they are said to be.

        The first command after the robot was moved by hand jumps to where it is: that is no motion.
        """
        for_ns = self._newest_ns - self._sent_since_ns
        over = self._newest_ns - self._commanded_ns > self._frozen_ns
        if self._commanded is None or over or (for_ns < self._frozen_ns).all():
            return np.empty(0, np.int64)
        away = np.abs(self._commanded - self._position) > self._motion
        return np.flatnonzero((for_ns >= self._frozen_ns) & (self._sent_on() > self._motion) & away)
