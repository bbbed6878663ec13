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

from tendon.core.compiled import NUMBER, ROW, ROWS, compiled
from tendon.core.types import Array

Ticks = npt.NDArray[np.int64]
Moment = tuple[Array, Array, Array]
"""(n,) position, velocity and acceleration."""


@compiled(ROWS, ROWS, ROWS, ROW, NUMBER)
def _extended(
    position: Array, velocity: Array, mean: Array, newest: Array, period_s: float
) -> tuple[Array, Array, Array]:
    """Returns the rows of a history one period later, with (n,) `newest` velocity."""
    window, count = mean.shape
    later = np.empty_like(position), np.empty_like(velocity), np.empty_like(mean)
    for k in range(window):
        for i in range(count):
            later[0][k, i], later[1][k, i] = position[k + 1, i], velocity[k + 1, i]
            if k:
                later[2][k - 1, i] = mean[k, i]
    for i in range(count):
        before, last = velocity[window, i], position[window, i]
        later[0][window, i] = last + (0.5 * period_s) * (before + newest[i])
        later[1][window, i] = newest[i]
        later[2][window - 1, i] = last + period_s * (before * (1.0 / 3.0) + newest[i] * (1.0 / 6.0))
    return later


@compiled(ROWS, ROWS, ROWS, NUMBER)
def _average(position: Array, velocity: Array, mean: Array, period_s: float) -> Array:
    """Returns (3, n): position, velocity and acceleration of the reference now."""
    window, count = mean.shape
    now = np.empty((3, count))
    for i in range(count):
        total = mean[0, i]
        for k in range(1, window):
            total += mean[k, i]
        now[0, i] = total / window
        now[1, i] = (position[window, i] - position[0, i]) / (window * period_s)
        now[2, i] = (velocity[window, i] - velocity[0, i]) / (window * period_s)
    return now


@compiled(NUMBER, NUMBER, NUMBER, NUMBER, NUMBER)
def _braked(
    periods: float, speed: float, full: float, acceleration: float, period_s: float
) -> tuple[float, float, float]:
    """Returns how far one joint has come after so many periods of braking, how fast it is, and the integral of its way.

    Args:
        periods: since it began to brake, at least zero.
        speed: with which it began, at least zero.
        full: periods in which it brakes by all of `acceleration`.
        acceleration: largest braking.
        period_s: control period.
    """
    rest = max(speed - full * (acceleration * period_s), 0.0)  # braked in the period after those
    elapsed = min(periods, full) * period_s
    lost = acceleration * elapsed
    way = elapsed * (speed - 0.5 * lost)
    area = elapsed * elapsed * (0.5 * speed - lost * (1.0 / 6.0))
    if periods <= full:
        return way, speed - lost, area
    end = way + (0.5 * period_s) * rest
    # One period of `rest` to zero adds h^2/3 of it to the integral.
    area += period_s * (way + (period_s / 3.0) * rest) + (periods - full - 1.0) * period_s * end
    return end, 0.0, area


@compiled(ROWS, ROWS, ROWS, ROW, NUMBER)
def _stop(position: Array, velocity: Array, mean: Array, acceleration: Array, period_s: float) -> tuple[Ticks, Array]:
    """Returns the (k,) ticks of a stop, and its (3, k, n) positions, velocities and accelerations."""
    window, count = mean.shape
    full = np.floor(np.abs(velocity[window]) / (acceleration * period_s))
    knots = np.zeros(int(full.max()) + window + 2, dtype=np.bool_)
    knots[: window + 1] = True
    for i in range(count):
        for knot in (int(full[i]), int(full[i] + (abs(velocity[window, i]) > full[i] * (acceleration[i] * period_s)))):
            knots[knot] = knots[knot + window] = True
    ticks = np.flatnonzero(knots)
    motion, now, span_s = (
        np.empty((3, len(ticks), count)),
        _average(position, velocity, mean, period_s),
        window * period_s,
    )
    for i in range(count):
        here, speed = position[window, i], abs(velocity[window, i])
        sign = np.copysign(1.0, velocity[window, i])
        for j in range(len(ticks)):
            way, rate, area = _braked(float(ticks[j]), speed, full[i], acceleration[i], period_s)
            way, rate, area = here + sign * way, sign * rate, sign * area
            # What the average covers begins a window before: in the history, as long as that is not braked.
            begin = ticks[j] - window
            if begin > 0:
                past, past_rate, past_area = _braked(float(begin), speed, full[i], acceleration[i], period_s)
                past, past_rate, past_area = here + sign * past, sign * past_rate, sign * past_area
            else:
                past, past_rate, past_area = position[ticks[j], i], velocity[ticks[j], i], 0.0
                for k in range(window - 1, ticks[j] - 1, -1):
                    past_area += mean[k, i] - here
                past_area *= -period_s
            motion[0, j, i] = here + (area - past_area) / span_s
            motion[1, j, i] = (way - past) / span_s
            motion[2, j, i] = (rate - past_rate) / span_s
        # Not different in the last digit.
        motion[0, 0, i], motion[1, 0, i], motion[2, 0, i] = now[0, i], now[1, i], now[2, i]
        motion[0, -1, i], motion[1, -1, i], motion[2, -1, i] = way, 0.0, 0.0
    return ticks, motion


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
        position, speeds, mean = _extended(self.position, self.velocity, self.mean, velocity, period_s)
        return History(position=position, velocity=speeds, mean=mean)

    def average(self, period_s: float) -> Moment:
        """Returns where the reference is now."""
        position, velocity, acceleration = _average(self.position, self.velocity, self.mean, period_s)
        return position, velocity, acceleration


def stop_from(history: History, acceleration: Array, period_s: float) -> Stop:
    """Returns the stop of the reference whose past is `history`, each joint braking by (n,) `acceleration`.

    Args:
        history: of the motion that is averaged.
        acceleration: (n,) largest braking.
        period_s: control period.
    """
    ticks, motion = _stop(history.position, history.velocity, history.mean, acceleration, period_s)
    return Stop(ticks=ticks, position=motion[0], velocity=motion[1], acceleration=motion[2])


def averaged_periods(acceleration: Array, jerk: Array, period_s: float) -> int:
    """Returns over how many periods a motion must be averaged for (n,) `jerk` to hold.

    Averaging over `m` periods turns steps of acceleration, at most `2 A`, into ramps of `m` periods.
    """
    return max(1, int(np.ceil((2.0 * acceleration / (jerk * period_s)).max() - 1e-9)))
