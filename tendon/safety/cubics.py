"""The motion between the points of a command: cubics, their largest values, and where a command is at a time.

A cubic of one joint is `p + v s + c s^2 + d s^3` for s from 0 to h [s].
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from numba import types

from tendon.core.compiled import COUNT, COUNTS, NUMBER, ROWS, compiled
from tendon.core.types import Array, SentTrajectory

Motion = tuple[npt.NDArray[np.int64], Array, Array]
"""A command as compiled functions take it: (k,) times from its stamp [ns], (k, n) positions and velocities."""
MOTION = types.Tuple((COUNTS, ROWS, ROWS))  # type: ignore[no-untyped-call]
"""Its type there."""


@compiled(NUMBER, NUMBER, NUMBER, NUMBER, NUMBER)
def _coefficients(p: float, v: float, p_end: float, v_end: float, h: float) -> tuple[float, float]:
    """Returns c and d of the cubic Hermite spline between two points."""
    slope = (p_end - p) / h
    return (3.0 * slope - 2.0 * v - v_end) / h, (v + v_end - 2.0 * slope) / h**2


@compiled(NUMBER, NUMBER)
def _clipped(s: float, h: float) -> float:
    """Returns a time that lies on the cubic; NaN stays."""
    return 0.0 if s < 0.0 else h if s > h else s


@compiled(NUMBER, NUMBER, NUMBER, NUMBER, NUMBER)
def extremes(
    p: float, v: float, p_end: float, v_end: float, h: float
) -> tuple[float, float, float, float, float, float]:
    """Returns the extreme values of the cubic between two points of one joint that are `h` seconds apart.

    They are NaN where something overflows.

    Returns:
        The lowest and the highest position: at an end, or where the velocity is zero. The largest |velocity|: at an
        end, or where the acceleration is zero. The acceleration at the start and at the end; between them it is a
        line. The |jerk|.
    """
    c, d = _coefficients(p, v, p_end, v_end, h)
    # The form of the quadratic's roots that loses no digits.
    root = math.sqrt(np.maximum(4.0 * c * c - 12.0 * d * v, 0.0))
    q = -0.5 * (2.0 * c + math.copysign(root, c))
    turns = (q / (3.0 * d) if d != 0.0 else 0.0), (v / q if q != 0.0 else 0.0)
    lowest, highest = p, p
    for s in (0.0, _clipped(turns[0], h), _clipped(turns[1], h), h):
        position = p + s * (v + s * (c + s * d))
        lowest, highest = np.minimum(lowest, position), np.maximum(highest, position)
    speed = 0.0
    for s in (0.0, _clipped(-c / (3.0 * d) if d != 0.0 else 0.0, h), h):
        speed = np.maximum(speed, abs(v + s * (2.0 * c + 3.0 * s * d)))
    return lowest, highest, speed, 2.0 * c, 2.0 * c + 6.0 * d * h, abs(6.0 * d)


@compiled(MOTION, COUNT)
def motion_at(motion: Motion, at_ns: int) -> Array:
    """Returns (2, n) the position and the velocity that a command asks for at a time; the ends hold."""
    times_ns, position, velocity = motion
    points, joints = position.shape
    after = 0
    while after < points and times_ns[after] <= at_ns:
        after += 1
    k = max(after - 1, 0)
    between = 0 < after < points and times_ns[k] < at_ns
    h, s = (times_ns[after] - times_ns[k]) * 1e-9 if between else 1.0, (at_ns - times_ns[k]) * 1e-9
    found = np.empty((2, joints))
    for i in range(joints):
        p, v = position[k, i], velocity[k, i]
        if between:
            c, d = _coefficients(p, v, position[after, i], velocity[after, i], h)
            p, v = p + s * (v + s * (c + s * d)), v + s * (2.0 * c + 3.0 * s * d)
        found[0, i], found[1, i] = p, v if after < points else 0.0
    return found


def sample(command: SentTrajectory, at_ns: int) -> tuple[Array, Array]:
    """Returns (n,) position and (n,) velocity that a command asks for at a time; the ends hold."""
    motion = motion_of(command.times_ns, command.position, command.velocity)
    position, velocity = motion_at(motion, at_ns - command.stamp_ns)
    return position, velocity


def motion_of(times_ns: Sequence[int], position: Array, velocity: Array) -> Motion:
    """Returns a command, one velocity for each position, as compiled functions take it."""
    position, velocity = np.ascontiguousarray(position, np.float64), np.ascontiguousarray(velocity, np.float64)
    return np.array(times_ns, dtype=np.int64), position, velocity
