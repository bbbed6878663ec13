"""Shapes velocities so that the robot slides along what it must not touch, instead of stopping in front of it.

One small quadratic program (DAQP; Arnstrom et al. 2022): the velocity nearest to the wanted one for which no clearance,
linearised at the place where the robot would come to rest, falls below its margin. It proposes only: when it
fails or is wrong, the check of the real motion refuses the step and the stored stop is played.
"""

from __future__ import annotations

import daqp
import numpy as np
import numpy.typing as npt

from tendon.control.clearance.model import Clearance
from tendon.core.types import Array

SLACK_M = 0.0005
LOOK_S = 0.004
"""About how long the motion between two looks of the check is; clearance that it cannot vouch for is kept free."""
HOLDING = 1e4
"""Weight of a joint that may hold something. The arm is led around; a gripper that opened a little to keep its fingers
off the table (0.7 mm was seen) would drop what it holds."""
_SOLVED = 1


class Avoidance:
    """Not thread-safe.

    Args:
        clearance: what must be kept.
        holding: (n,) whether a joint may hold something: it goes where it is told to, as long as others can give way.
    """

    def __init__(self, clearance: Clearance, holding: npt.NDArray[np.bool_]) -> None:
        self._clearance = clearance
        self._weight = np.where(holding, HOLDING, 1.0)

    def shape(
        self,
        wanted: Array,
        low: Array,
        high: Array,
        braked: Array,
        lever_s: Array,
        rest: Array,
        away: Array | None = None,
    ) -> Array:
        """Returns the (n,) velocity for the end of the next period.

        Args:
            wanted: (n,) velocity that would serve the target, between `low` and `high`.
            low: (n,) smallest velocity that the joints' own limits allow.
            high: (n,) largest.
            braked: (n,) velocity after a period of braking, from where the robot comes to rest at `rest`.
            lever_s: (n,) how much farther the place of rest moves per unit of velocity.
            rest: (n,) position.
            away: (n,) how far the robot was measured from where it was told to be.
        """
        distances = self._clearance.distances(rest)
        if away is not None:
            distances = np.minimum(distances, self._clearance.distances(rest + away))
        room = distances - self._clearance.margin
        reach = self._clearance.reach
        blur = LOOK_S * (reach @ np.abs(wanted)) + SLACK_M
        near = (room < blur + reach @ (lever_s * np.abs(wanted - braked))).nonzero()[0]  # no other can be reached
        if not len(near):
            return wanted
        gradients = self._clearance.gradients(rest, near.tolist()) * lever_s
        # One that is too small already must not become smaller.
        floor = np.minimum(blur[near] - room[near], 0.0) + gradients @ braked
        if (gradients @ wanted >= floor).all():
            return wanted
        count = len(wanted)
        solution, _, status, _ = daqp.solve(
            np.diag(self._weight),
            -self._weight * wanted,
            np.ascontiguousarray(gradients),
            np.concatenate([high, np.full(len(near), 1e30)]),
            np.concatenate([low, floor]),
            np.zeros(count + len(near), dtype=np.int32),
        )
        if status != _SOLVED or not np.isfinite(solution).all():
            return braked
        return np.asarray(np.minimum(np.maximum(solution, low), high))
