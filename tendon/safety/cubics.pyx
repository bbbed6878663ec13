# cython: language_level=3, cdivision=True, wraparound=False
"""The motion between the points of a command: where it is at a time, and the first place where it breaks a law.

A cubic of one joint is `p + v s + c s^2 + d s^3` for s from 0 to h [s]. What a search finds the caller says to people;
every comparison is one that NaN fails. A command is three arrays: (k,) times from its stamp [ns], (k, n) positions and
(k, n) velocities.
"""

import numpy as np

from libc.math cimport copysign, fabs, isfinite, isnan, sqrt

from tendon.core.compiled import check_source

cdef extern from *:
    const char* SOURCE_DIGEST
check_source(__file__, SOURCE_DIGEST)

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

cdef struct Extremes:
    double lowest
    double highest
    double speed
    double begins
    double ends
    double jerk


cdef inline double larger(double one, double other) noexcept:
    """Returns the larger of two numbers, NaN if one of them is."""
    return one if one >= other or isnan(one) else other


cdef inline double smaller(double one, double other) noexcept:
    """Returns the smaller of two numbers, NaN if one of them is."""
    return one if one <= other or isnan(one) else other


cdef inline double clipped(double s, double h) noexcept:
    """Returns a time that lies on the cubic; NaN stays."""
    return 0.0 if s < 0.0 else h if s > h else s


cdef inline void coefficients(double p, double v, double p_end, double v_end, double h, double* c, double* d) noexcept:
    """Sets c and d of the cubic Hermite spline between two points."""
    cdef double slope = (p_end - p) / h
    c[0], d[0] = (3.0 * slope - 2.0 * v - v_end) / h, (v + v_end - 2.0 * slope) / (h * h)


cdef inline double position_on(double p, double v, double c, double d, double s) noexcept:
    return p + s * (v + s * (c + s * d))


cdef inline double velocity_on(double v, double c, double d, double s) noexcept:
    return v + s * (2.0 * c + 3.0 * s * d)


cdef Extremes extremes_of(double p, double v, double p_end, double v_end, double h) noexcept:
    cdef double c, d
    coefficients(p, v, p_end, v_end, h, &c, &d)
    # The form of the quadratic's roots that loses no digits.
    cdef double root = sqrt(larger(4.0 * c * c - 12.0 * d * v, 0.0))
    cdef double q = -0.5 * (2.0 * c + copysign(root, c))
    cdef double[4] places = [
        0.0, clipped(q / (3.0 * d) if d != 0.0 else 0.0, h), clipped(v / q if q != 0.0 else 0.0, h), h
    ]
    cdef double[3] bends = [0.0, clipped(-c / (3.0 * d) if d != 0.0 else 0.0, h), h]
    cdef double position
    cdef Extremes found
    found.lowest = found.highest = p
    found.speed = 0.0
    for s in places:
        position = position_on(p, v, c, d, s)
        found.lowest, found.highest = smaller(found.lowest, position), larger(found.highest, position)
    for s in bends:
        found.speed = larger(found.speed, fabs(velocity_on(v, c, d, s)))
    found.begins, found.ends, found.jerk = 2.0 * c, 2.0 * c + 6.0 * d * h, fabs(6.0 * d)
    return found


def extremes(double p, double v, double p_end, double v_end, double h):
    """Returns the extreme values of the cubic between two points of one joint that are `h` seconds apart.

    They are NaN where something overflows.

    Returns:
        The lowest and the highest position: at an end, or where the velocity is zero. The largest |velocity|: at an
        end, or where the acceleration is zero. The acceleration at the start and at the end; between them it is a
        line. The |jerk|.
    """
    cdef Extremes found = extremes_of(p, v, p_end, v_end, h)
    return found.lowest, found.highest, found.speed, found.begins, found.ends, found.jerk


cdef struct Place:
    Py_ssize_t before  # the point before a time
    Py_ssize_t after  # and the one after it; the number of points, after the last
    double h  # from the one to the other [s]; 0 where the time is not between two
    double s  # from the one to the time [s]


cdef Place place_of(const long long[:] times_ns, long long at_ns):
    cdef Place place = Place(0, 0, 0.0, 0.0)
    while place.after < times_ns.shape[0] and times_ns[place.after] <= at_ns:
        place.after += 1
    place.before = max(place.after - 1, 0)
    if 0 < place.after < times_ns.shape[0] and times_ns[place.before] < at_ns:
        place.h = (times_ns[place.after] - times_ns[place.before]) * 1e-9
        place.s = (at_ns - times_ns[place.before]) * 1e-9
    return place


cdef void moment_of(
    const double[:, :] position, const double[:, :] velocity, Place place, Py_ssize_t i, double* at, double* rate
):
    """Sets position and velocity of one joint at a place; the ends hold."""
    cdef double p = position[place.before, i], v = velocity[place.before, i], c, d
    if place.h > 0.0:
        coefficients(p, v, position[place.after, i], velocity[place.after, i], place.h, &c, &d)
        at[0], rate[0] = position_on(p, v, c, d, place.s), velocity_on(v, c, d, place.s)
    else:
        at[0], rate[0] = p, v if place.after < position.shape[0] else 0.0


def motion_at(
    const long long[:] times_ns not None,
    const double[:, :] position not None,
    const double[:, :] velocity not None,
    long long at_ns,
):
    """Returns the (n,) position and the (n,) velocity that a command asks for at a time; the ends hold."""
    cdef Place place = place_of(times_ns, at_ns)
    cdef Py_ssize_t joints = position.shape[1], i
    positions, velocities = np.empty(joints), np.empty(joints)
    cdef double[::1] positions_view = positions, velocities_view = velocities
    for i in range(joints):
        moment_of(position, velocity, place, i, &positions_view[i], &velocities_view[i])
    return positions, velocities


def sample(command, long long at_ns):
    """Returns (n,) position and (n,) velocity that a command asks for at a time; the ends hold."""
    return motion_at(*motion_of(command.times_ns, command.position, command.velocity), at_ns - command.stamp_ns)


def motion_of(times_ns, position, velocity):
    """Returns a command, one velocity for each position, as the functions here take it."""
    return np.array(times_ns, dtype=np.int64), np.asarray(position, np.float64), np.asarray(velocity, np.float64)


def first_apart(const double[:] one not None, const double[:] other not None, const double[:] allowed not None):
    """Returns the first joint whose two values, (n,) each, differ by more than is allowed, and by how much."""
    cdef Py_ssize_t i
    cdef double gap
    for i in range(allowed.shape[0]):
        gap = fabs(one[i] - other[i])
        if not gap <= allowed[i]:
            return i, gap
    return NOWHERE, 0.0


def first_flaw(
    const long long[:] times_ns not None, const double[:, :] position not None, const double[:, :] velocity not None
):
    """Returns the first flaw in a command's form, its point and its joint.

    It is the quantity of a value that is not finite, else `TIMES`, else `END`, of the joint that is the fastest there.
    """
    cdef Py_ssize_t points = position.shape[0], joints = position.shape[1], k, i, fastest = 0
    for k in range(points):
        for i in range(joints):
            if not isfinite(position[k, i]):
                return 0, k, i
    for k in range(points):
        for i in range(joints):
            if not isfinite(velocity[k, i]):
                return 1, k, i
    for k in range(points):
        if times_ns[k] < 0 or (k > 0 and times_ns[k] <= times_ns[k - 1]):
            return TIMES, k, 0
    for i in range(joints):
        if fabs(velocity[points - 1, i]) > fabs(velocity[points - 1, fastest]):
            fastest = i
    return NOWHERE if velocity[points - 1, fastest] == 0.0 else END, points - 1, fastest


def first_parting(
    const long long[:] times_ns not None,
    const double[:, :] position not None,
    const double[:, :] velocity not None,
    const long long[:] before_ns not None,
    const double[:, :] position_before not None,
    const double[:, :] velocity_before not None,
    long long shift_ns,
    long long begin_ns,
    long long end_ns,
    long long known_ns,
    const double[:, :] bounds not None,
):
    """Returns where a command parts from the one before it.

    Two cubics with the same positions and velocities at both ends are one, so they are compared where a piece of either
    of them ends.

    Args:
        times_ns: (k,) of the command.
        position: (k, n).
        velocity: (k, n).
        before_ns: (l,) times of the one before it.
        position_before: (l, n).
        velocity_before: (l, n).
        shift_ns: from the stamp of that one to its own.
        begin_ns: the first time at which they are compared, after its stamp.
        end_ns: the last.
        known_ns: how long after its stamp the one before is known to be the motion. Later, commands that were lost may
            have led anywhere from its stop to the hardest the other way.
        bounds: (4, n) jumps of position and velocity that are allowed, and limits of velocity and acceleration.

    Returns:
        The time after its stamp [ns], the quantity, the joint, how far they are apart there, and what is allowed.
    """
    cdef long long at_ns = begin_ns, next_ns
    cdef Py_ssize_t i, k, quantity
    cdef Place new, old
    cdef double[2] now, then
    cdef double unknown_s, turn, allowed, gap
    while True:
        new, old = place_of(times_ns, at_ns), place_of(before_ns, shift_ns + at_ns)
        unknown_s = max(<long long>0, shift_ns + at_ns - known_ns) * 1e-9
        for quantity in range(2):
            for i in range(position.shape[1]):
                moment_of(position, velocity, new, i, &now[0], &now[1])
                moment_of(position_before, velocity_before, old, i, &then[0], &then[1])
                turn = min(2.0 * unknown_s * bounds[3, i], 2.0 * bounds[2, i])
                allowed = bounds[quantity, i] + (turn if quantity else 0.5 * unknown_s * turn)
                gap = fabs(now[quantity] - then[quantity])
                if not gap <= allowed:
                    return at_ns, quantity, i, gap, allowed
        if at_ns >= end_ns:
            return NOWHERE, 0, 0, 0.0, 0.0
        next_ns = end_ns
        for k in range(times_ns.shape[0]):
            if at_ns < times_ns[k] < next_ns:
                next_ns = times_ns[k]
        for k in range(before_ns.shape[0]):
            if at_ns < before_ns[k] - shift_ns < next_ns:
                next_ns = before_ns[k] - shift_ns
        at_ns = next_ns


def first_outside(
    const long long[:] times_ns not None,
    const double[:, :] position not None,
    const double[:, :] velocity not None,
    const double[:, :] least not None,
    const double[:, :] most not None,
    const double[:, :] found not None,
):
    """Returns where the cubics of a command are outside of their limits.

    Where it is at its first point it came to by the commands before, outside of the limits too. One that stands has
    to be where a robot may be found.

    Args:
        times_ns: (k,) of the command.
        position: (k, n).
        velocity: (k, n).
        least: (6, n) lower limits of what `LIMITED` names.
        most: (6, n) upper ones.
        found: (2, n) the lowest and the highest position at which a robot may be found.

    Returns:
        Which of `LIMITED` is broken first, and by which cubic first, its joint, the value, and its two limits.
    """
    cdef Py_ssize_t points = position.shape[0], joints = position.shape[1], k, i, law
    cdef bint stands = True
    for k in range(points):
        for i in range(joints):
            stands = stands and velocity[k, i] == 0.0 and position[k, i] == position[0, i]
    first = NOWHERE, 0, 0, 0.0, 0.0, 0.0
    cdef Py_ssize_t laws = 6  # those that are not broken by a cubic that came before
    ended = np.zeros(joints)
    cdef double[::1] ended_view = ended
    cdef double[6] values
    cdef Extremes cubic
    cdef double h, lower, upper
    for k in range(points - 1):
        h = (times_ns[k + 1] - times_ns[k]) * 1e-9
        for i in range(joints):
            cubic = extremes_of(position[k, i], velocity[k, i], position[k + 1, i], velocity[k + 1, i], h)
            values = [
                cubic.lowest,
                cubic.highest,
                cubic.speed,
                larger(fabs(cubic.begins), fabs(cubic.ends)),
                cubic.jerk,
                fabs(cubic.begins - ended_view[i]) if k > 0 else 0.0,
            ]
            ended_view[i] = cubic.ends
            for law in range(laws):
                lower, upper = least[law, i], most[law, i]
                if law < 2:
                    lower = found[0, i] if stands else min(lower, max(position[0, i], found[0, i]))
                    upper = found[1, i] if stands else max(upper, min(position[0, i], found[1, i]))
                if not lower <= values[law] <= upper:
                    first, laws = (law, k, i, values[law], lower, upper), law
                    break
    return first
