"""The motion between the points of a command: where it is at a time, and the first place where it breaks a law.

A cubic of one joint is `p + v s + c s^2 + d s^3` for s from 0 to h [s]. What a search finds the caller says to people;
every comparison is one that NaN fails. All is in one file, because Numba compiles a function anew when its own file has
changed, whatever else it calls.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from numba import types

from tendon.core.compiled import COUNT, COUNTS, NUMBER, ROW, ROWS, compiled
from tendon.core.types import Array, SentTrajectory

Motion = tuple[npt.NDArray[np.int64], Array, Array]
"""A command as compiled functions take it: (k,) times from its stamp [ns], (k, n) positions and velocities."""
MOTION = types.Tuple((COUNTS, ROWS, ROWS))  # type: ignore[no-untyped-call, unused-ignore]
"""Its type there."""
NOWHERE = -1
"""What a search returns first that found nothing."""
QUANTITIES = ("position", "velocity")
"""What is meant by 0 and 1 as a quantity."""
TIMES, END = 2, 3
"""What `first_flaw` returns first of times that do not increase from 0 or later, and of an end that is not at rest."""
LIMITED = ("position", "position", "velocity", "acceleration", "jerk", "smooth")
"""The laws of what `first_outside` looks at, in this order: of each cubic the lowest and the highest position, the
largest |velocity|, |acceleration| and |jerk|, and by how much its acceleration begins otherwise than the one before
ended."""


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


@compiled(ROW, ROW, ROW)
def first_apart(one: Array, other: Array, allowed: Array) -> tuple[int, float]:
    """Returns the first joint whose two values, (n,) each, differ by more than is allowed, and by how much."""
    for i in range(len(allowed)):
        gap = abs(one[i] - other[i])
        if not gap <= allowed[i]:
            return i, gap
    return NOWHERE, 0.0


@compiled(MOTION)
def first_flaw(motion: Motion) -> tuple[int, int, int]:
    """Returns the first flaw in a command's form, its point and its joint.

    It is the quantity of a value that is not finite, else `TIMES`, else `END`, of the joint that is the fastest there.
    """
    times_ns, position, velocity = motion
    points, joints = position.shape
    for quantity, values in enumerate((position, velocity)):
        for k in range(points):
            for i in range(joints):
                if not math.isfinite(values[k, i]):
                    return quantity, k, i
    for k in range(points):
        if times_ns[k] < 0 or (k > 0 and times_ns[k] <= times_ns[k - 1]):
            return TIMES, k, 0
    fastest = 0
    for i in range(joints):
        if abs(velocity[-1, i]) > abs(velocity[-1, fastest]):
            fastest = i
    return NOWHERE if velocity[-1, fastest] == 0.0 else END, points - 1, fastest


@compiled(MOTION, MOTION, COUNT, COUNT, COUNT, COUNT, ROWS)
def first_parting(
    motion: Motion, before: Motion, shift_ns: int, begin_ns: int, end_ns: int, known_ns: int, bounds: Array
) -> tuple[int, int, int, float, float]:
    """Returns where a command parts from the one before it.

    Two cubics with the same positions and velocities at both ends are one, so they are compared where a piece of either
    of them ends.

    Args:
        motion: the command.
        before: the one before it.
        shift_ns: from the stamp of that one to its own.
        begin_ns: the first time at which they are compared, after its stamp.
        end_ns: the last.
        known_ns: how long after its stamp the one before is known to be the motion. Later, commands that were lost may
            have led anywhere from its stop to the hardest the other way.
        bounds: (4, n) jumps of position and velocity that are allowed, and limits of velocity and acceleration.

    Returns:
        The time after its stamp [ns], the quantity, the joint, how far they are apart there, and what is allowed.
    """
    at_ns = begin_ns
    while True:
        new, old = motion_at(motion, at_ns), motion_at(before, shift_ns + at_ns)
        unknown_s = max(0, shift_ns + at_ns - known_ns) * 1e-9
        for quantity in range(len(QUANTITIES)):
            for i in range(new.shape[1]):
                turn = min(2.0 * unknown_s * bounds[3, i], 2.0 * bounds[2, i])
                allowed = bounds[quantity, i] + (turn if quantity else 0.5 * unknown_s * turn)
                gap = abs(new[quantity, i] - old[quantity, i])
                if not gap <= allowed:
                    return at_ns, quantity, i, gap, allowed
        if at_ns >= end_ns:
            return NOWHERE, 0, 0, 0.0, 0.0
        next_ns = end_ns
        for times_ns, since_ns in ((motion[0], 0), (before[0], shift_ns)):
            for time_ns in times_ns:
                if at_ns < time_ns - since_ns < next_ns:
                    next_ns = time_ns - since_ns
        at_ns = next_ns


@compiled(MOTION, ROWS, ROWS, ROWS)
def first_outside(motion: Motion, least: Array, most: Array, found: Array) -> tuple[int, int, int, float, float, float]:
    """Returns where the cubics of a command are outside of their limits.

    Where it is at its first point it came to by the commands before, outside of the limits too. One that stands has
    to be where a robot may be found.

    Args:
        motion: the command.
        least: (6, n) lower limits of what `LIMITED` names.
        most: (6, n) upper ones.
        found: (2, n) the lowest and the highest position at which a robot may be found.

    Returns:
        Which of `LIMITED` is broken first, and by which cubic first, its joint, the value, and its two limits.
    """
    times_ns, position, velocity = motion
    points, joints = position.shape
    stands = True
    for k in range(points):
        for i in range(joints):
            stands = stands and velocity[k, i] == 0.0 and position[k, i] == position[0, i]
    first = NOWHERE, 0, 0, 0.0, 0.0, 0.0
    laws = len(LIMITED)  # those that are not broken by a cubic that came before
    ended = np.zeros(joints)
    for k in range(points - 1):
        h = (times_ns[k + 1] - times_ns[k]) * 1e-9
        for i in range(joints):
            low, high, speed, begins, ends, jerk = extremes(
                position[k, i], velocity[k, i], position[k + 1, i], velocity[k + 1, i], h
            )
            steps = abs(begins - ended[i]) if k > 0 else 0.0
            ended[i] = ends
            values = low, high, speed, np.maximum(abs(begins), abs(ends)), jerk, steps
            for law in range(laws):
                lower, upper = least[law, i], most[law, i]
                if law < 2:
                    lower = found[0, i] if stands else min(lower, max(position[0, i], found[0, i]))
                    upper = found[1, i] if stands else max(upper, min(position[0, i], found[1, i]))
                if not lower <= values[law] <= upper:
                    first, laws = (law, k, i, values[law], lower, upper), law
                    break
    return first
