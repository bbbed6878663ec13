"""What a robot's controllers commanded, sample by sample: when it stood, when it braked."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tendon.core.types import Array
from tendon.robots.profile import RobotProfile

REST = 1e-3
"""Part of the speed limit below which the robot is commanded to stand."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Motion:
    """What the controllers commanded.

    Attributes:
        profile: the robot.
        time_ns: (k,) time of each sample.
        position: (k, n) rad or m.
        velocity: (k, n) rad/s or m/s.
    """

    profile: RobotProfile
    time_ns: npt.NDArray[np.int64]
    position: Array
    velocity: Array

    def between(self, start_ns: float, end_ns: float) -> Motion:
        """Returns the part from start to end."""
        inside = (self.time_ns >= start_ns) & (self.time_ns <= end_ns)
        return replace(
            self, time_ns=self.time_ns[inside], position=self.position[inside], velocity=self.velocity[inside]
        )

    @property
    def speed(self) -> Array:
        """(k,) the fastest joint's speed, as a part of its limit."""
        return np.asarray(np.abs(self.velocity / self.profile.vector("velocity")).max(axis=1))

    def rest_ns(self, after_ns: float) -> int | None:
        """Returns when it came to rest for good after a moment; `None` when it did not, that moment when it stood."""
        moving = np.flatnonzero((self.time_ns >= after_ns) & (self.speed >= REST))
        if not len(moving):
            return round(after_ns)
        last = int(moving[-1])
        return None if last + 1 >= len(self.time_ns) else int(self.time_ns[last + 1])

    def braking_ns(self, after_ns: float) -> int | None:
        """Returns when the braking to rest began that ends the motion after a moment."""
        rest_ns = self.rest_ns(after_ns)
        if rest_ns is None or rest_ns <= after_ns:
            return None
        part = self.between(after_ns, rest_ns)
        high = np.flatnonzero(part.speed >= 0.95 * part.speed.max())
        return int(part.time_ns[high[-1]])
