"""When a robot is at rest: the only place that says so."""

from __future__ import annotations

from collections import deque

import numpy as np
import numpy.typing as npt

from tendon.core.types import Array
from tendon.robots.profile import RobotProfile

STILL_SPEED = 0.02
"""Speed [rad/s or m/s] below which a robot counts as standing where no profile's `rest_share` is known, or where the
speed is a commanded one, without noise: what a stand-in plays, and what an evaluation or an operator waits for."""

LOOK_BACK_NS = 200_000_000
"""For how long positions tell whether a robot stands. An encoder of 4096 steps a turn flickers by less than what may be
crept in this time, at 5 % of 0.16 rad/s or more."""


class Rest:
    """Whether joints are measured to move, with the noise that a sensor may have.

    Args:
        profile: speed limits, and the part of them that counts as rest (`safety: rest_share`).

    Attributes:
        speed: (n,) up to which a joint rests.
    """

    def __init__(self, profile: RobotProfile) -> None:
        self.speed = profile.safety.rest_share * profile.vector("velocity")

    def moving(self, velocity: Array) -> npt.NDArray[np.bool_]:
        """Returns (n,) whether each joint moves, from (n,) measured velocities; one that is not a number does."""
        return np.asarray(~(np.abs(velocity) <= self.speed))


class PositionRest:
    """Whether a robot stands, by where it was measured: a driver may say 0 of each speed.

    Args:
        profile: see `Rest`.
    """

    def __init__(self, profile: RobotProfile) -> None:
        self._rest = Rest(profile)
        self._seen: deque[tuple[int, Array]] = deque()

    def stands(self, position: Array, now_ns: int) -> bool:
        """Takes (n,) positions, and returns whether no joint has moved for `LOOK_BACK_NS`, or since the one before."""
        seen = self._seen
        if seen and now_ns < seen[-1][0]:
            seen.clear()
        seen.append((now_ns, position))
        while len(seen) > 2 and now_ns - seen[1][0] >= LOOK_BACK_NS:
            seen.popleft()
        before_ns, before = seen[0]
        passed_s = max(LOOK_BACK_NS, now_ns - before_ns) * 1e-9
        return not self._rest.moving((position - before) / passed_s).any()
