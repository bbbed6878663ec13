"""When a robot is at rest: the only place that says so."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tendon.core.types import Array
from tendon.robots.profile import RobotProfile

STILL_SPEED = 0.02
"""Speed [rad/s or m/s] below which a robot counts as standing where no profile's `rest_share` is known, or where the
speed is a commanded one, without noise: what a stand-in plays, and what an evaluation or an operator waits for."""


class Rest:
    """Whether joints are measured to move, with the noise that a sensor may have.

    Args:
        profile: speed limits, and the part of them that counts as rest (`safety: rest_share`).
    """

    def __init__(self, profile: RobotProfile) -> None:
        self._speed = profile.safety.rest_share * profile.vector("velocity")

    def moving(self, velocity: Array) -> npt.NDArray[np.bool_]:
        """Returns (n,) whether each joint moves, from (n,) measured velocities; one that is not a number does."""
        return np.asarray(~(np.abs(velocity) <= self._speed))
