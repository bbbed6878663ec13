# cython: language_level=3, cdivision=True, wraparound=False
"""What the limits of each joint allow for the next control period, one joint after the other.

Limits are (5, n): lowest and highest position, largest velocity, acceleration and jerk. The range in force is (2, n),
lowest and highest position: wider than the limits where the robot is outside of them.
"""

import numpy as np

from libc.math cimport copysign, fabs, floor, sqrt

from tendon.core.compiled import check_source

cdef extern from *:
    const char* SOURCE_DIGEST
check_source(__file__, SOURCE_DIGEST)

cdef double TOLERANCE = 1e-10  # of rounding only, as a part of each limit
cdef double JERK_TOLERANCE = 1e-7  # the same for jerk, a difference of differences
CONSTRAINTS = ("position", "velocity", "acceleration", "jerk")
cdef enum:
    NONE = -1
    POSITION = 0
    VELOCITY = 1
    ACCELERATION = 2


cdef inline double clamped(double value, double low, double high) noexcept:
    """Returns the value, or the bound that it is beyond."""
    return min(max(value, low), high)


def stopping_distance(double speed, double acceleration, double period_s):
    """Returns `D(speed)` of `tendon.control.stop`: how far the stop goes from a speed of at least zero."""
    return _stopping_distance(speed, acceleration, period_s)


cdef inline double _stopping_distance(double speed, double acceleration, double period_s) noexcept:
    cdef double full_step = acceleration * period_s
    cdef double full = floor(speed / full_step)
    # D = A h^2 (k^2/2 + f (k + 1/2)) with f = v / (A h) - k.
    return period_s * (speed * (full + 0.5) - 0.5 * full_step * full * (full + 1.0))


def approach_speed(double room, double acceleration, double period_s):
    """Returns the largest speed at the end of the next period from which the stop still ends inside `room`.

    With `w` that speed, the period itself covers half a period at the present speed, which the caller has
    taken off `room`, and half a period at `w`; so this inverts `G(w) = w h/2 + D(w)`. For `w = (k + f) A h`,
    `G = A h^2 (k (k + 1)/2 + f (k + 1))`.

    Args:
        room: at least zero.
        acceleration: largest braking.
        period_s: control period.
    """
    return _approach_speed(room, acceleration, period_s)


cdef inline double _approach_speed(double room, double acceleration, double period_s) noexcept:
    cdef double full_step = acceleration * period_s
    cdef double steps = room / (full_step * period_s)
    cdef double full = floor(0.5 * sqrt(1.0 + 8.0 * steps) - 0.5)
    return (0.5 * full + steps / (full + 1.0)) * full_step


def range_in_force(const double[:, :] limits not None, const double[:] position not None):
    """Returns the (2, n) range of a robot at (n,) position."""
    cdef Py_ssize_t count = position.shape[0], i
    span = np.empty((2, count))
    cdef double[:, ::1] span_view = span
    for i in range(count):
        span_view[0, i] = min(limits[0, i], position[i])
        span_view[1, i] = max(limits[1, i], position[i])
    return span


def approach(
    const double[:] goal not None,
    const double[:] rate not None,
    const double[:] position not None,
    const double[:] velocity not None,
    const double[:, :] limits not None,
    double scale,
    double period_s,
):
    """Returns (n,) velocities for the end of a period: what would serve the target, and that between the others.

    Those are the smallest and the largest that the limits allow: from each, a stop ends inside the range.

    Args:
        goal: (n,) where to be; beyond a limit it counts at the limit, at rest.
        rate: (n,) velocity there; faster than a robot can follow it counts at the velocity limit.
        position: (n,) of the motion before it is averaged.
        velocity: (n,) of it.
        limits: (5, n).
        scale: of the largest velocity.
        period_s: control period.

    Returns:
        What is allowed of what would serve, what would serve, the smallest and the largest.
    """
    cdef Py_ssize_t count = goal.shape[0], i
    allowed, wanted, low, high = np.empty(count), np.empty(count), np.empty(count), np.empty(count)
    cdef double[::1] allowed_view = allowed, wanted_view = wanted, low_view = low, high_view = high
    cdef double half_s = 0.5 * period_s
    cdef double speed, acceleration, step, top, inside, along, middle, distance, up, down
    for i in range(count):
        speed, acceleration = velocity[i], limits[3, i]
        step, top = acceleration * period_s, scale * limits[2, i]
        inside = clamped(goal[i], limits[0, i], limits[1, i])
        along = clamped(rate[i], -top, top) if inside == goal[i] else 0.0
        middle = position[i] + half_s * speed
        distance = inside - middle - half_s * along
        wanted_view[i] = along + copysign(_approach_speed(fabs(distance), acceleration, period_s), distance)
        # Below zero only by rounding: the stop from here is inside, and it goes at least to `middle`.
        up = _approach_speed(max(max(limits[1, i], position[i]) - middle, 0.0), acceleration, period_s)
        down = _approach_speed(max(middle - min(limits[0, i], position[i]), 0.0), acceleration, period_s)
        # Slowed down while faster than that, it brakes at its limit, not at once.
        low_view[i] = max(max(speed - step, min(-top, speed + step)), -down)
        high_view[i] = min(min(speed + step, max(top, speed - step)), up)
        allowed_view[i] = clamped(wanted_view[i], low_view[i], high_view[i])
    return allowed, wanted, low, high


def reached(
    const double[:] allowed not None,
    const double[:] wanted not None,
    const double[:] before not None,
    const double[:, :] limits not None,
    double scale,
    double period_s,
):
    """Returns which limits keep joints from their wanted velocities: pairs of a joint and a word of `CONSTRAINTS`.

    Args:
        allowed: (n,) velocity for the end of the period.
        wanted: (n,) what would serve the target.
        before: (n,) velocity at the begin of the period.
        limits: (5, n).
        scale: of the largest velocity.
        period_s: control period.
    """
    cdef Py_ssize_t i
    found = []
    for i in range(allowed.shape[0]):
        if not fabs(allowed[i] - wanted[i]) > TOLERANCE:
            continue
        if fabs(allowed[i]) >= scale * limits[2, i] - TOLERANCE:
            found.append((i, CONSTRAINTS[VELOCITY]))
        elif fabs(allowed[i] - before[i]) >= limits[3, i] * period_s - TOLERANCE:
            found.append((i, CONSTRAINTS[ACCELERATION]))
        else:
            found.append((i, CONSTRAINTS[POSITION]))
    return found


def braking(
    const double[:] position not None,
    const double[:] velocity not None,
    const double[:] acceleration not None,
    double period_s,
):
    """Returns the (n,) velocity after a period of braking, where it then rests, and the lever of that on the place.

    The lever is how much farther the place of rest moves per unit of the velocity after that period [s].
    """
    cdef Py_ssize_t count = position.shape[0], i
    braked, end, lever = np.empty(count), np.empty(count), np.empty(count)
    cdef double[::1] braked_view = braked, end_view = end, lever_view = lever
    cdef double step, rate, way
    for i in range(count):
        step = acceleration[i] * period_s
        rate = velocity[i] - clamped(velocity[i], -step, step)
        way = copysign(_stopping_distance(fabs(rate), acceleration[i], period_s), rate)
        braked_view[i] = rate
        end_view[i] = position[i] + 0.5 * period_s * velocity[i] + 0.5 * period_s * rate + way
        lever_view[i] = period_s * (floor(fabs(rate) / step) + 1.0)
    return braked, end, lever


def use_of_limits(
    const double[:] start not None,
    const double[:] before not None,
    const double[:] position not None,
    const double[:] velocity not None,
    const double[:] jerk not None,
    const double[:, :] limits not None,
    double period_s,
):
    """Returns whether a step leaves a stop inside all limits, and the tightest of them: joint, constraint and use.

    The constraint is a word of `CONSTRAINTS`, and its use 1 at the limit. A joint that rests on its position limit is
    not about to break it.

    Args:
        start: (n,) position at the begin of the step, of the motion before it is averaged.
        before: (n,) velocity there.
        position: (n,) at its end.
        velocity: (n,) there.
        jerk: (n,) of the averaged motion.
        limits: (5, n).
        period_s: control period.
    """
    cdef Py_ssize_t count = velocity.shape[0], constraint, i, joint = 0, tightest = 0
    cdef double lowest, highest, way, centre, half, share, most = 0.0
    cdef bint inside = True
    for constraint in range(4):
        for i in range(count):
            if constraint == 0:
                way = copysign(_stopping_distance(fabs(velocity[i]), limits[3, i], period_s), velocity[i])
                lowest, highest = min(limits[0, i], start[i]), max(limits[1, i], start[i])
                centre, half = 0.5 * (highest + lowest), 0.5 * (highest - lowest)
                share = fabs(position[i] + way - centre) / half
            elif constraint == 1:
                share = fabs(velocity[i]) / limits[2, i]
            elif constraint == 2:
                share = fabs(velocity[i] - before[i]) / (limits[3, i] * period_s)
            else:
                share = fabs(jerk[i]) / limits[4, i] - JERK_TOLERANCE
            if not share <= 1.0 + TOLERANCE:  # NaN fails too
                inside = False
            if share > most and (constraint or velocity[i] != 0.0):
                joint, tightest, most = i, constraint, share
    return inside, joint, CONSTRAINTS[tightest], most
