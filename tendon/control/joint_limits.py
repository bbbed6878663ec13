"""What the limits of each joint allow for the next control period, one joint after the other.

Limits are (5, n): lowest and highest position, largest velocity, acceleration and jerk. The range in force is (2, n),
lowest and highest position: wider than the limits where the robot is outside of them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tendon.core.compiled import NUMBER, ROW, ROWS, compiled
from tendon.core.types import Array

TOLERANCE = 1e-10
"""Of rounding only, as a part of each limit."""
JERK_TOLERANCE = 1e-7
"""The same for jerk, a difference of differences."""
CONSTRAINTS = ("position", "velocity", "acceleration", "jerk")
POSITION, VELOCITY, ACCELERATION, NONE = 0, 1, 2, -1


@compiled(NUMBER, NUMBER, NUMBER)
def clamped(value: float, low: float, high: float) -> float:
    """Returns the value, or the bound that it is beyond."""
    return min(max(value, low), high)


@compiled(NUMBER, NUMBER, NUMBER)
def stopping_distance(speed: float, acceleration: float, period_s: float) -> float:
    """Returns `D(speed)` of `tendon.control.stop`: how far the stop goes from a speed of at least zero."""
    full_step = acceleration * period_s
    full = np.floor(speed / full_step)
    # D = A h^2 (k^2/2 + f (k + 1/2)) with f = v / (A h) - k.
    return float(period_s * (speed * (full + 0.5) - 0.5 * full_step * full * (full + 1.0)))


@compiled(NUMBER, NUMBER, NUMBER)
def approach_speed(room: float, acceleration: float, period_s: float) -> float:
    """Returns the largest speed at the end of the next period from which the stop still ends inside `room`.

    With `w` that speed, the period itself covers half a period at the present speed, which the caller has
    taken off `room`, and half a period at `w`; so this inverts `G(w) = w h/2 + D(w)`. For `w = (k + f) A h`,
    `G = A h^2 (k (k + 1)/2 + f (k + 1))`.

    Args:
        room: at least zero.
        acceleration: largest braking.
        period_s: control period.
    """
    full_step = acceleration * period_s
    steps = room / (full_step * period_s)
    full = np.floor(0.5 * np.sqrt(1.0 + 8.0 * steps) - 0.5)
    return float((0.5 * full + steps / (full + 1.0)) * full_step)


@compiled(ROWS, ROW)
def range_in_force(limits: Array, position: Array) -> Array:
    """Returns the (2, n) range of a robot at (n,) position."""
    span = limits[:2].copy()
    for i in range(len(position)):
        span[0, i], span[1, i] = min(limits[0, i], position[i]), max(limits[1, i], position[i])
    return span


@compiled(ROW, ROW, ROW, ROW, ROWS, ROWS, NUMBER, NUMBER)
def approach(
    goal: Array,
    rate: Array,
    position: Array,
    velocity: Array,
    limits: Array,
    span: Array,
    scale: float,
    period_s: float,
) -> tuple[Array, Array, Array, Array]:
    """Returns (n,) velocities for the end of a period: what would serve the target, and that between the others.

    Those are the smallest and the largest that the limits allow: from each, a stop ends inside the range.

    Args:
        goal: (n,) where to be; beyond a limit it counts at the limit, at rest.
        rate: (n,) velocity there; faster than a robot can follow it counts at the velocity limit.
        position: (n,) of the motion before it is averaged.
        velocity: (n,) of it.
        limits: (5, n).
        span: (2, n) range in force.
        scale: of the largest velocity.
        period_s: control period.
    """
    allowed, wanted, low, high = np.empty_like(goal), np.empty_like(goal), np.empty_like(goal), np.empty_like(goal)
    half_s = 0.5 * period_s
    for i in range(len(goal)):
        speed, acceleration = velocity[i], limits[3, i]
        step, top = acceleration * period_s, scale * limits[2, i]
        inside = clamped(goal[i], limits[0, i], limits[1, i])
        along = clamped(rate[i], -top, top) if inside == goal[i] else 0.0
        middle = position[i] + half_s * speed
        distance = inside - middle - half_s * along
        wanted[i] = along + np.copysign(approach_speed(abs(distance), acceleration, period_s), distance)
        # Below zero only by rounding: the stop from here is inside, and it goes at least to `middle`.
        up = approach_speed(max(span[1, i] - middle, 0.0), acceleration, period_s)
        down = approach_speed(max(middle - span[0, i], 0.0), acceleration, period_s)
        # Slowed down while faster than that, it brakes at its limit, not at once.
        low[i] = max(max(speed - step, min(-top, speed + step)), -down)
        high[i] = min(min(speed + step, max(top, speed - step)), up)
        allowed[i] = clamped(wanted[i], low[i], high[i])
    return allowed, wanted, low, high


@compiled(ROW, ROW, ROW, ROWS, NUMBER, NUMBER)
def reached(
    allowed: Array, wanted: Array, before: Array, limits: Array, scale: float, period_s: float
) -> npt.NDArray[np.int64]:
    """Returns which limit keeps each joint from its wanted velocity: an index of `CONSTRAINTS`, or `NONE`.

    Args:
        allowed: (n,) velocity for the end of the period.
        wanted: (n,) what would serve the target.
        before: (n,) velocity at the begin of the period.
        limits: (5, n).
        scale: of the largest velocity.
        period_s: control period.
    """
    found = np.full(len(allowed), NONE)
    for i in range(len(allowed)):
        if not abs(allowed[i] - wanted[i]) > TOLERANCE:
            continue
        if abs(allowed[i]) >= scale * limits[2, i] - TOLERANCE:
            found[i] = VELOCITY
        elif abs(allowed[i] - before[i]) >= limits[3, i] * period_s - TOLERANCE:
            found[i] = ACCELERATION
        else:
            found[i] = POSITION
    return found


@compiled(ROW, ROW, ROW, NUMBER)
def braking(position: Array, velocity: Array, acceleration: Array, period_s: float) -> tuple[Array, Array, Array]:
    """Returns the (n,) velocity after a period of braking, where it then rests, and the lever of that on the place.

    The lever is how much farther the place of rest moves per unit of the velocity after that period [s].
    """
    braked, end, lever = np.empty_like(position), np.empty_like(position), np.empty_like(position)
    for i in range(len(position)):
        step = acceleration[i] * period_s
        braked[i] = velocity[i] - clamped(velocity[i], -step, step)
        way = np.copysign(stopping_distance(abs(braked[i]), acceleration[i], period_s), braked[i])
        end[i] = position[i] + 0.5 * period_s * velocity[i] + 0.5 * period_s * braked[i] + way
        lever[i] = period_s * (np.floor(abs(braked[i]) / step) + 1.0)
    return braked, end, lever


@compiled(ROW, ROW, ROW, ROW, ROWS, ROWS, NUMBER)
def use_of_limits(
    position: Array, velocity: Array, before: Array, jerk: Array, limits: Array, span: Array, period_s: float
) -> tuple[bool, int, float]:
    """Returns whether a step leaves a stop inside all limits, which of 4 n limits is the tightest, and its use.

    The index counts joints first: of joint `i` in the constraint `c` it is `c n + i`. A joint that rests on its
    position limit is not about to break it.

    Args:
        position: (n,) at the end of the step, of the motion before it is averaged.
        velocity: (n,) there.
        before: (n,) velocity at its begin.
        jerk: (n,) of the averaged motion.
        limits: (5, n).
        span: (2, n) range in force.
        period_s: control period.
    """
    count = len(velocity)
    used = np.empty((len(CONSTRAINTS), count))
    for i in range(count):
        way = np.copysign(stopping_distance(abs(velocity[i]), limits[3, i], period_s), velocity[i])
        centre, half = 0.5 * (span[1, i] + span[0, i]), 0.5 * (span[1, i] - span[0, i])
        used[0, i] = abs(position[i] + way - centre) / half
        used[1, i] = abs(velocity[i]) / limits[2, i]
        used[2, i] = abs(velocity[i] - before[i]) / (limits[3, i] * period_s)
        used[3, i] = abs(jerk[i]) / limits[4, i] - JERK_TOLERANCE
    inside, tightest, most = True, 0, 0.0
    for index in range(used.size):
        share, joint = used.flat[index], index % count
        if not share <= 1.0 + TOLERANCE:  # NaN fails too
            inside = False
        if share > most and (index >= count or velocity[joint] != 0.0):
            tightest, most = index, share
    return inside, tightest, most
