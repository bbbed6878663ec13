"""The stop: each joint's shortest way to rest, in closed form and exact in discrete time.

From speed `v = (m + f) A h` (`m` whole, `0 <= f < 1`), a joint that brakes by at most `A` in periods of `h` takes
`m` periods at `A` and one at `f A`. It covers `D(v) = A h^2 (m^2/2 + f (m + 1/2))`, a continuous function of `v` that
meets the parabola `v^2 / 2A` at every whole `m`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tendon.core.types import Array


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Stop:
    """The motion from a state to rest; acceleration is constant between its points.

    Attributes:
        ticks: (k,) control periods since the state, from 0, strictly increasing.
        position: (k, n) rad or m.
        velocity: (k, n) rad/s or m/s; zero at the end.
        acceleration: (k, n) rad/s^2 or m/s^2, from each point to the next; zero at the end.
    """

    ticks: npt.NDArray[np.int64]
    position: Array
    velocity: Array
    acceleration: Array


def stop_from(position: Array, velocity: Array, acceleration: Array, period_s: float) -> Stop:
    """Returns the stop from (n,) `position` and `velocity` at (n,) largest `acceleration`."""
    full_step = acceleration * period_s
    speed = np.abs(velocity)
    full = np.floor(speed / full_step)
    rest = np.maximum(speed - full * full_step, 0.0)
    ends = full + (rest > 0.0)
    ticks = np.array(sorted({0.0, *full.tolist(), *ends.tolist()}))
    sign = np.copysign(1.0, velocity)
    column = ticks[:, None]
    braked = np.minimum(column, full)
    over = column > full
    slowed = np.where(over, 0.0, speed - braked * full_step)
    elapsed = braked * period_s
    travelled = elapsed * (speed - 0.5 * acceleration * elapsed) + (0.5 * period_s) * rest * over
    braking = np.where(column < full, acceleration, np.where(over, 0.0, rest / period_s))
    slowed[-1] = 0.0
    return Stop(
        ticks=ticks.astype(np.int64),
        position=position + sign * travelled,
        velocity=sign * slowed,
        acceleration=-sign * braking,
    )


def stopping_distance(speed: Array, acceleration: Array, period_s: float) -> Array:
    """Returns `D(speed)`: how far the stop goes from (n,) speeds of at least zero."""
    full_step = acceleration * period_s
    full = np.floor(speed / full_step)
    # D = A h^2 (m^2/2 + f (m + 1/2)) with f = v / (A h) - m.
    return np.asarray(period_s * (speed * (full + 0.5) - 0.5 * full_step * full * (full + 1.0)))


def approach_speed(room: Array, acceleration: Array, period_s: float) -> Array:
    """Returns the largest speed at the end of the next period from which the stop still ends inside `room`.

    With `w` that speed, the period itself covers half a period at the present speed, which the caller has
    taken off `room`, and half a period at `w`; so this inverts `G(w) = w h/2 + D(w)`. For `w = (m + f) A h`,
    `G = A h^2 (m (m + 1)/2 + f (m + 1))`.

    Args:
        room: (..., n) at least zero.
        acceleration: (n,) largest braking.
        period_s: control period.
    """
    full_step = acceleration * period_s
    room = room / (full_step * period_s)
    full = np.floor(0.5 * np.sqrt(1.0 + 8.0 * room) - 0.5)
    return np.asarray((0.5 * full + room / (full + 1.0)) * full_step)
