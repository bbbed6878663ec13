# cython: language_level=3, cdivision=True, wraparound=False
"""What is known of clearances between two looks at them, and which of them has the least room."""

import numpy as np

from libc.math cimport INFINITY, fabs, isnan

from tendon.core.compiled import check_source

cdef extern from *:
    const char* SOURCE_DIGEST
check_source(__file__, SOURCE_DIGEST)


cdef inline double larger(double one, double other) noexcept:
    """Returns the larger of two numbers, NaN if one of them is."""
    return one if one >= other or isnan(one) else other


cdef inline double smaller(double one, double other) noexcept:
    """Returns the smaller of two numbers, NaN if one of them is."""
    return one if one <= other or isnan(one) else other


def bounds(
    const double[:] time_s not None,
    const double[:, :] position not None,
    const double[:, :] velocity not None,
    const double[:, :] acceleration not None,
):
    """Returns (k - 1, n) bounds on the speed in each piece of a motion, and (k, n) on the way of each joint until then.

    The velocity of a piece, a parabola, stays between its control points.

    Args:
        time_s: (k,) strictly increasing.
        position: (k, n).
        velocity: (k, n).
        acceleration: (k, n).
    """
    cdef Py_ssize_t pieces = time_s.shape[0] - 1, count = position.shape[1], k, i
    speed, way = np.empty((pieces, count)), np.zeros((pieces + 1, count))
    cdef double[:, ::1] speed_view = speed, way_view = way
    cdef double duration_s, before, after, middle, low, high
    for k in range(pieces):
        duration_s = time_s[k + 1] - time_s[k]
        for i in range(count):
            before, after = velocity[k, i], velocity[k + 1, i]
            middle = before + 0.5 * duration_s * acceleration[k, i]
            low, high = smaller(smaller(before, middle), after), larger(larger(before, middle), after)
            speed_view[k, i] = larger(-low, high)
            # The shortest way, where it does not turn.
            way_view[k + 1, i] = way_view[k, i] + (
                fabs(position[k + 1, i] - position[k, i]) if low * high >= 0.0 else duration_s * speed_view[k, i]
            )
    return speed, way


def refined(
    const double[:] time_s not None,
    const double[:, :] position not None,
    const double[:, :] velocity not None,
    const double[:, :] acceleration not None,
    Py_ssize_t piece,
    Py_ssize_t parts,
):
    """Returns times, positions, velocities and accelerations of one piece of such a motion in so many parts."""
    cdef Py_ssize_t count = position.shape[1], k, i
    times, positions = np.empty(parts + 1), np.empty((parts + 1, count))
    velocities, accelerations = np.empty((parts + 1, count)), np.empty((parts + 1, count))
    cdef double[::1] times_view = times
    cdef double[:, ::1] q = positions, v = velocities, a = accelerations
    cdef double duration_s = time_s[piece + 1] - time_s[piece], s, speed, change, jerk
    for k in range(parts + 1):
        s = duration_s * (<double>k / parts)
        times_view[k] = time_s[piece] + s
        for i in range(count):
            speed, change = velocity[piece, i], acceleration[piece, i]
            jerk = (acceleration[piece + 1, i] - change) / duration_s
            q[k, i] = position[piece, i] + s * (speed + s * (0.5 * change + s * (jerk * (1.0 / 6.0))))
            v[k, i] = speed + s * (change + s * (0.5 * jerk))
            a[k, i] = change + s * jerk
    return times, positions, velocities, accelerations


def covered(
    const double[:, :] reach not None,
    const unsigned char[:] smooth not None,
    const double[:] needed not None,
    const double[:] time_s not None,
    const double[:, :] way not None,
    const double[:, :] speed not None,
    const double[:, :] acceleration not None,
    Py_ssize_t i,
    Py_ssize_t j,
    const double[:] begin not None,
    const double[:] end not None,
):
    """Returns whether the clearances between two points `i` and `j` of a motion are known to be what is needed.

    Args:
        reach: (m, n) largest change of each clearance per rad or m of each joint.
        smooth: (m,) whether it is one of a point to a plane: 1 or 0.
        needed: (m,) [m].
        time_s: (k,) of the motion.
        way: (k, n) of `bounds`.
        speed: (k - 1, n) of them.
        acceleration: (k, n).
        i: where it begins.
        j: where it ends.
        begin: (m,) clearances there [m].
        end: (m,) [m].
    """
    cdef Py_ssize_t count = way.shape[1], row, joint, k
    cdef double duration_s = time_s[j] - time_s[i], moved, bend, total, fastest, change, sag
    for row in range(needed.shape[0]):  # comparisons are written so that NaN fails
        moved = 0.0
        for joint in range(count):
            moved += reach[row, joint] * (way[j, joint] - way[i, joint])
        if begin[row] + end[row] - moved >= 2.0 * needed[row]:
            continue
        if not smooth[row]:
            return False
        bend, total = 0.0, 0.0
        for joint in range(count):
            total += fastest_of(speed, i, j, joint)
        for joint in range(count):
            fastest, change = fastest_of(speed, i, j, joint), 0.0
            for k in range(i, j + 1):
                change = larger(change, fabs(acceleration[k, joint]))
            bend += reach[row, joint] * (total * fastest + change)
        sag = 0.125 * (duration_s * duration_s) * bend
        if not (begin[row] - sag >= needed[row] and end[row] - sag >= needed[row]):
            return False
    return True


cdef double fastest_of(const double[:, :] speed, Py_ssize_t i, Py_ssize_t j, Py_ssize_t joint):
    """Returns the largest speed of a joint in the pieces from `i` to `j`."""
    cdef double fastest = speed[i, joint]
    cdef Py_ssize_t k
    for k in range(i + 1, j):
        fastest = larger(fastest, speed[k, joint])
    return fastest


def tightest(
    const double[:] clearance not None, const double[:] threshold not None, const double[:] margin not None
):
    """Returns whether (m,) clearances are at their thresholds or above, and which has the least room beyond it.

    Where all are, room is beyond the margin. NaN is below.
    """
    cdef Py_ssize_t row, found = 0
    cdef double room, least = INFINITY
    cdef bint kept = True
    for row in range(clearance.shape[0]):
        kept = kept and clearance[row] >= threshold[row]
    for row in range(clearance.shape[0]):
        room = clearance[row] - (margin[row] if kept else threshold[row])
        if room < least or (isnan(room) and not isnan(least)):
            found, least = row, room
    return kept, found


def clearances(
    const double[:] shapes not None,
    const long long[:] first not None,
    const double[:] tool not None,
    const double[:] lower not None,
    const double[:] upper not None,
):
    """Returns the (m,) distances of pairs of bodies, then those of the tool to the sides of its workspace [m].

    Args:
        shapes: distances between shapes.
        first: index of each pair's first; of the last pair they go to the last index here.
        tool: (3,) position.
        lower: (3,) corner of the workspace.
        upper: (3,) the one across.
    """
    cdef Py_ssize_t pairs = first.shape[0] - 1, row, k
    found = np.empty(pairs + 6)
    cdef double[::1] found_view = found
    for row in range(pairs):
        found_view[row] = shapes[first[row]]
        for k in range(first[row] + 1, first[row + 1]):
            found_view[row] = smaller(found_view[row], shapes[k])
    for k in range(3):
        found_view[pairs + k], found_view[pairs + 3 + k] = tool[k] - lower[k], upper[k] - tool[k]
    return found
