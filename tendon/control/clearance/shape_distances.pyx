# cython: language_level=3, cdivision=True, wraparound=False
"""Distances of capsules, boxes and half spaces that move with the joints of a robot, where they have a closed form."""

import numpy as np

cimport cython
from libc.math cimport NAN, fabs, isnan, sqrt

from tendon.core.compiled import check_source

cdef extern from *:
    const char* SOURCE_DIGEST
check_source(__file__, SOURCE_DIGEST)

CAPSULE, BOX, HALF_SPACE = 0, 1, 2
cdef enum:
    A_CAPSULE = 0
    A_BOX = 1
    A_HALF_SPACE = 2
cdef double NEARLY_PARALLEL = 1e-6
"""Square of the sine of an angle: a milliradian."""


@cython.auto_pickle(False)
cdef class ShapeDistances:
    """Distances of pairs of shapes.

    Args:
        rotations: of each joint, (3, 3) in column order, in the memory where they are whenever it is asked: whoever owns
            that must live as long.
        translations: of each joint, (3,) likewise [m].
        joints: (s,) on which each shape is.
        kinds: (s,) `CAPSULE`, `BOX` or `HALF_SPACE`.
        turns: (s, 3, 3) of each shape in the frame of its joint.
        places: (s, 3) likewise [m].
        sizes: (s, 4) a capsule's half length along z and, last, its radius; a box's half lengths; a half space's normal
            and, last, its offset along it [m].
        pairs: (p, 2) of shapes. Two boxes have no closed form, and two half spaces no distance.
    """

    cdef list _kept
    cdef size_t[::1] _rotations, _translations
    cdef const long long[::1] _joints, _kinds
    cdef const long long[:, ::1] _pairs
    cdef const double[:, :, ::1] _turns
    cdef const double[:, ::1] _places, _sizes
    cdef double[:, ::1] _world

    def __init__(self, rotations, translations, joints, kinds, turns, places, sizes, pairs):
        for rotation, translation in zip(rotations, translations, strict=True):
            if rotation.shape != (3, 3) or not rotation.flags.f_contiguous or rotation.dtype != np.float64:
                raise ValueError("a rotation is no (3, 3) of doubles in column order")
            if translation.shape != (3,) or not translation.flags.c_contiguous or translation.dtype != np.float64:
                raise ValueError("a translation is no (3,) of doubles")
        if not (len(joints) == len(kinds) == len(turns) == len(places) == len(sizes)):
            raise ValueError("there are not as many of all that shapes have")
        if len(joints) and not 0 <= np.min(joints) <= np.max(joints) < len(rotations):
            raise ValueError("a shape is on a joint that there is not")
        if len(pairs) and not 0 <= np.min(pairs) <= np.max(pairs) < len(joints):
            raise ValueError("a pair has a shape that there is not")
        self._kept = [*rotations, *translations]
        self._rotations = np.array([each.ctypes.data for each in rotations], dtype=np.uintp)
        self._translations = np.array([each.ctypes.data for each in translations], dtype=np.uintp)
        self._joints = np.array(joints, dtype=np.int64)
        self._kinds = np.array(kinds, dtype=np.int64)
        self._pairs = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        self._turns = np.array(turns, dtype=np.float64).reshape(-1, 3, 3)
        self._places = np.array(places, dtype=np.float64).reshape(-1, 3)
        self._sizes = np.array(sizes, dtype=np.float64).reshape(-1, 4)
        self._world = np.zeros((len(joints), 12))

    def distances(self):
        """Returns (p,) distances [m], negative inside, and whether all that have a closed form are known.

        NaN is one that is not known: there is no closed form, or a part of a capsule's middle line is within a box.
        """
        cdef Py_ssize_t k, first, second
        cdef bint known = True
        found = np.empty(self._pairs.shape[0])
        cdef double[::1] found_view = found
        for k in range(self._world.shape[0]):
            self._place(k)
        for k in range(self._pairs.shape[0]):
            first, second = self._pairs[k, 0], self._pairs[k, 1]
            if self._kinds[first] > self._kinds[second]:
                first, second = second, first
            found_view[k] = self._distance(first, second)
            known = known and (not isnan(found_view[k]) or self._kinds[first] == self._kinds[second] != A_CAPSULE)
        return found, known

    cdef void _place(self, Py_ssize_t k):
        """Puts a shape where it is: a capsule's ends; a box's axes and middle; a half space's normal and offset."""
        cdef const double* turn = <const double*>self._rotations[self._joints[k]]
        cdef const double* place = <const double*>self._translations[self._joints[k]]
        cdef double axes[3][3]
        cdef double middle[3]
        cdef Py_ssize_t row, column, i
        for row in range(3):
            middle[row] = place[row]
            for i in range(3):
                middle[row] += turn[row + 3 * i] * self._places[k, i]
            for column in range(3):
                axes[row][column] = 0.0
                for i in range(3):
                    axes[row][column] += turn[row + 3 * i] * self._turns[k, i, column]
        if self._kinds[k] == A_CAPSULE:
            for row in range(3):
                self._world[k, row] = middle[row] - self._sizes[k, 0] * axes[row][2]
                self._world[k, 3 + row] = middle[row] + self._sizes[k, 0] * axes[row][2]
        elif self._kinds[k] == A_BOX:
            for row in range(3):
                for column in range(3):
                    self._world[k, 3 * column + row] = axes[row][column]
                self._world[k, 9 + row] = middle[row]
        else:
            self._world[k, 3] = self._sizes[k, 3]
            for row in range(3):
                self._world[k, row] = 0.0
                for column in range(3):
                    self._world[k, row] += axes[row][column] * self._sizes[k, column]
            for row in range(3):
                self._world[k, 3] += self._world[k, row] * middle[row]

    cdef double _distance(self, Py_ssize_t first, Py_ssize_t second):
        """Returns the distance of two shapes, the first of a kind that is not behind the second's."""
        cdef const double* one = &self._world[first, 0]
        cdef const double* other = &self._world[second, 0]
        cdef double radius = self._sizes[first, 3], away
        cdef Py_ssize_t i
        if self._kinds[first] == A_CAPSULE:
            if self._kinds[second] == A_CAPSULE:
                return between_segments(one, one + 3, other, other + 3) - radius - self._sizes[second, 3]
            if self._kinds[second] == A_BOX:
                return segment_to_box(one, one + 3, other, &self._sizes[second, 0]) - radius
            away = smaller(dot(other, one), dot(other, one + 3))
            return away - other[3] - radius
        if self._kinds[first] == A_BOX and self._kinds[second] == A_HALF_SPACE:
            away = dot(other, one + 9) - other[3]
            for i in range(3):
                away -= fabs(dot(other, one + 3 * i)) * self._sizes[first, i]
            return away
        return NAN


cdef inline double smaller(double one, double other) noexcept:
    """Returns the smaller of two numbers, NaN if one of them is."""
    return one if one <= other or isnan(one) else other


cdef inline double dot(const double* a, const double* b) noexcept:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


cdef inline double within(double value) noexcept:
    """Returns the nearest number from 0 to 1; NaN stays NaN."""
    return 0.0 if value < 0.0 else 1.0 if value > 1.0 else value


cdef double to_segment(const double* point, const double* a, const double* b) noexcept:
    """Returns the square of a point's distance to a segment."""
    cdef double way[3]
    cdef double gap[3]
    cdef double length, share
    cdef Py_ssize_t i
    for i in range(3):
        way[i], gap[i] = b[i] - a[i], point[i] - a[i]
    length = dot(way, way)
    share = within(dot(gap, way) / length) if length > 0.0 else 0.0
    for i in range(3):
        gap[i] -= share * way[i]
    return dot(gap, gap)


cdef double between_segments(const double* a, const double* b, const double* c, const double* d) noexcept:
    """Returns the distance of two segments (Ericson, Real-Time Collision Detection 5.1.9; Lumelsky 1985).

    Of segments that are nearly parallel it is hardly known where their lines are nearest. One of their ends is as near
    then, so these are looked at besides: whatever two points are looked at, none are nearer than the segments are.
    """
    cdef double first[3]
    cdef double second[3]
    cdef double gap[3]
    cdef double one_one, one_two, two_two, one_gap, two_gap, bend, share = 0.0, part, least
    cdef Py_ssize_t i
    for i in range(3):
        first[i], second[i], gap[i] = b[i] - a[i], d[i] - c[i], a[i] - c[i]
    one_one, one_two, two_two = dot(first, first), dot(first, second), dot(second, second)
    one_gap, two_gap = dot(first, gap), dot(second, gap)
    bend = one_one * two_two - one_two * one_two
    if bend > 0.0:
        share = within((one_two * two_gap - two_two * one_gap) / bend)
    part = (one_two * share + two_gap) / two_two if two_two > 0.0 else 0.0
    if not 0.0 <= part <= 1.0:
        part = within(part)
        share = within((one_two * part - one_gap) / one_one) if one_one > 0.0 else 0.0
    for i in range(3):
        gap[i] += share * first[i] - part * second[i]
    least = dot(gap, gap)
    if not bend > NEARLY_PARALLEL * (one_one * two_two):
        least = smaller(least, to_segment(a, c, d))
        least = smaller(least, to_segment(b, c, d))
        least = smaller(least, to_segment(c, a, b))
        least = smaller(least, to_segment(d, a, b))
    return sqrt(least)


cdef double segment_to_box(const double* a, const double* b, const double* box, const double* half) noexcept:
    """Returns the distance of a segment to a box, NaN where a part of it is within.

    Along the segment the square of the distance is convex, and quadratic between the planes of the box's sides: its
    least value is looked for in each part.

    Args:
        a: one end.
        b: the other.
        box: its axes, and its middle.
        half: its half lengths.
    """
    cdef double start[3]
    cdef double way[3]
    cdef double cuts[8]
    cdef double cut, middle, share, slope, bend, out, least, total
    cdef Py_ssize_t count = 1, i, k, side
    cdef bint inside
    for i in range(3):
        start[i], way[i] = 0.0, 0.0
        for k in range(3):
            start[i] += box[3 * i + k] * (a[k] - box[9 + k])
            way[i] += box[3 * i + k] * (b[k] - a[k])
    cuts[0] = 0.0
    for i in range(3):
        for side in range(-1, 2, 2):
            cut = (side * half[i] - start[i]) / way[i] if way[i] != 0.0 else 0.0
            if 0.0 < cut < 1.0:  # kept in their order
                k = count
                while k > 1 and cuts[k - 1] > cut:
                    cuts[k] = cuts[k - 1]
                    k -= 1
                cuts[k] = cut
                count += 1
    cuts[count] = 1.0
    least = NAN
    for k in range(count):
        middle, slope, bend, inside = 0.5 * (cuts[k] + cuts[k + 1]), 0.0, 0.0, True
        for i in range(3):
            out = start[i] + middle * way[i]
            if fabs(out) > half[i]:
                inside = False
                slope += way[i] * (start[i] - (half[i] if out > 0.0 else -half[i]))
                bend += way[i] * way[i]
        if inside:
            return NAN
        share = -slope / bend if bend > 0.0 else cuts[k]
        share = cuts[k] if share < cuts[k] else cuts[k + 1] if share > cuts[k + 1] else share
        total = 0.0
        for i in range(3):
            out = fabs(start[i] + share * way[i]) - half[i]
            total += out * out if out > 0.0 else 0.0
        if k == 0 or not total >= least:
            least = total
    return sqrt(least)
