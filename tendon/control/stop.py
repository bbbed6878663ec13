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

from tendon.core.types import Array

Ticks = npt.NDArray[np.int64]
Moment = tuple[Array, Array, Array]
"""(n,) position, velocity and acceleration."""


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
        before, last = self.velocity[-1], self.position[-1]
        position = last + (0.5 * period_s) * (before + velocity)
        mean = last + period_s * (before * (1.0 / 3.0) + velocity * (1.0 / 6.0))
        return History(
            position=_shifted(self.position, position),
            velocity=_shifted(self.velocity, velocity),
            mean=_shifted(self.mean, mean),
        )

    def average(self, period_s: float) -> Moment:
        """Returns where the reference is now."""
        span_s = len(self.mean) * period_s
        return (
            self.mean[0] if len(self.mean) == 1 else np.add.reduce(self.mean) / len(self.mean),
            (self.position[-1] - self.position[0]) / span_s,
            (self.velocity[-1] - self.velocity[0]) / span_s,
        )


def _shifted(rows: Array, newest: Array) -> Array:
    """Returns (k, n) rows without the first, and with the newest at the end."""
    shifted = np.empty_like(rows)
    shifted[:-1], shifted[-1] = rows[1:], newest
    return shifted


def stop_from(history: History, acceleration: Array, period_s: float, now: Moment | None = None) -> Stop:
    """Returns the stop of the reference whose past is `history`, each joint braking by (n,) `acceleration`.

    Args:
        history: of the motion that is averaged.
        acceleration: (n,) largest braking.
        period_s: control period.
        now: what `history.average` says, for whoever has it.
    """
    window, speed = len(history.mean), np.abs(history.velocity[-1])
    full_step = acceleration * period_s
    full = np.floor(speed / full_step)
    rest = np.maximum(speed - full * full_step, 0.0)
    knots = {*full.tolist(), *(full + (rest > 0.0)).tolist()}
    ticks = np.array(sorted({*range(window + 1), *knots, *(knot + window for knot in knots)}), dtype=np.float64)
    # What is averaged, at each knot and a window before it.
    braked = np.concatenate([ticks, np.maximum(ticks - window, 0.0)])[:, None]
    elapsed = np.minimum(braked, full) * period_s
    over = braked > full
    lost = acceleration * elapsed
    slowed = np.where(over, 0.0, speed - lost)
    travelled = elapsed * (speed - 0.5 * lost)
    # The integral over time of the way travelled; one period of `rest` to zero adds h^2/3 of it.
    area = elapsed * elapsed * (0.5 * speed - lost * (1.0 / 6.0))
    end = travelled + (0.5 * period_s) * rest
    area += over * (period_s * (travelled + (period_s / 3.0) * rest) + (braked - full - 1.0) * period_s * end)
    travelled = np.where(over, end, travelled)

    here = history.position[-1]
    sign = np.copysign(1.0, history.velocity[-1])
    count = len(ticks)
    way, rate, area = here + sign * travelled, sign * slowed, sign * area
    past, past_rate, past_area = way[count:], rate[count:], area[count:]
    # Before the state it is not braked: the history itself. Knots 0 to window are the first rows.
    past[: window + 1] = history.position
    past_rate[: window + 1] = history.velocity
    past_area[:window] = -period_s * np.add.accumulate((history.mean - here)[::-1])[::-1]
    past_area[window] = 0.0
    span_s = window * period_s
    position, velocity, braking = (
        here + (area[:count] - past_area) / span_s,
        (way[:count] - past) / span_s,
        (rate[:count] - past_rate) / span_s,
    )
    # Not different in the last digit.
    position[0], velocity[0], braking[0] = history.average(period_s) if now is None else now
    position[-1], velocity[-1], braking[-1] = way[count - 1], 0.0, 0.0
    return Stop(ticks=ticks.astype(np.int64), position=position, velocity=velocity, acceleration=braking)


def stopping_distance(speed: Array, acceleration: Array, period_s: float) -> Array:
    """Returns `D(speed)`: how far the stop goes from (n,) speeds of at least zero."""
    full_step = acceleration * period_s
    full = np.floor(speed / full_step)
    # D = A h^2 (k^2/2 + f (k + 1/2)) with f = v / (A h) - k.
    return np.asarray(period_s * (speed * (full + 0.5) - 0.5 * full_step * full * (full + 1.0)))


def approach_speed(room: Array, acceleration: Array, period_s: float) -> Array:
    """Returns the largest speed at the end of the next period from which the stop still ends inside `room`.

    With `w` that speed, the period itself covers half a period at the present speed, which the caller has
    taken off `room`, and half a period at `w`; so this inverts `G(w) = w h/2 + D(w)`. For `w = (k + f) A h`,
    `G = A h^2 (k (k + 1)/2 + f (k + 1))`.

    Args:
        room: (..., n) at least zero.
        acceleration: (n,) largest braking.
        period_s: control period.
    """
    full_step = acceleration * period_s
    room = room / (full_step * period_s)
    full = np.floor(0.5 * np.sqrt(1.0 + 8.0 * room) - 0.5)
    return np.asarray((0.5 * full + room / (full + 1.0)) * full_step)


def averaged_periods(acceleration: Array, jerk: Array, period_s: float) -> int:
    """Returns over how many periods a motion must be averaged for (n,) `jerk` to hold.

    Averaging over `m` periods turns steps of acceleration, at most `2 A`, into ramps of `m` periods.
    """
    return max(1, int(np.ceil((2.0 * acceleration / (jerk * period_s)).max() - 1e-9)))
