"""The stop: the shortest way to rest of the reference, in closed form and exact in discrete time.

The reference is a moving average over `m` control periods of a motion that brakes each joint by at most `A` in
periods of `h`. From speed `v = (k + f) A h` (`k` whole, `0 <= f < 1`) such a joint takes `k` periods at `A` and one
at `f A`, and covers `D(v) = A h^2 (k^2/2 + f (k + 1/2))`: continuous in `v`, and on the parabola `v^2 / 2A` at every
whole `k`. The average needs `m` periods more, and ends in the same place.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tendon.control import averaged_motion
from tendon.core.types import Array

Ticks = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Stop:
    """The motion from a state to rest; jerk is constant between its points, so one cubic a piece is the whole motion.

    Attributes:
        ticks: (k,) control periods since the state, from 0, strictly increasing.
        position: (k, n) rad or m.
        velocity: (k, n) rad/s or m/s; zero at the end.
        acceleration: (k, n) rad/s^2 or m/s^2; zero at the end.
    """

    ticks: Ticks
    position: Array
    velocity: Array
    acceleration: Array


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class History:
    """The last `m` control periods of the motion that the reference averages.

    Attributes:
        position: (m + 1, n) at the ends of the periods, the newest last.
        velocity: (m + 1, n) there.
        mean: (m, n) position averaged over each period.
    """

    position: Array
    velocity: Array
    mean: Array

    @classmethod
    def at_rest(cls, position: Array, periods: int) -> History:
        """Returns `periods` periods of standing at (n,) `position`."""
        still = np.tile(position, (periods + 1, 1))
        return cls(position=still, velocity=np.zeros_like(still), mean=still[1:])

    def extended(self, velocity: Array, period_s: float) -> History:
        """Returns the history one period later, when the acceleration in it was constant and led to (n,) `velocity`."""
        position, speeds, mean = averaged_motion.extended(self.position, self.velocity, self.mean, velocity, period_s)
        return History(position=position, velocity=speeds, mean=mean)


def stop_from(history: History, acceleration: Array, period_s: float) -> Stop:
    """Returns the stop of the reference whose past is `history`, each joint braking by (n,) `acceleration`.

    Args:
        history: of the motion that is averaged.
        acceleration: (n,) largest braking.
        period_s: control period.

    Raises:
        ValueError: a velocity is not finite, or so large that it takes a million periods to brake.
    """
    ticks, motion = averaged_motion.stop(history.position, history.velocity, history.mean, acceleration, period_s)
    return Stop(ticks=ticks, position=motion[0], velocity=motion[1], acceleration=motion[2])


def averaged_periods(acceleration: Array, jerk: Array, period_s: float) -> int:
    """Returns over how many periods a motion must be averaged for (n,) `jerk` to hold.

    Averaging over `m` periods turns steps of acceleration, at most `2 A`, into ramps of `m` periods.
    """
    return max(1, int(np.ceil((2.0 * acceleration / (jerk * period_s)).max() - 1e-9)))
