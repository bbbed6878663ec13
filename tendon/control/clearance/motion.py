"""Whether a motion keeps its clearances all the way: bisection in time with a bound on what may happen in between.

Between two moments at which a clearance is known to be `d0` and `d1`, it is at least `(d0 + d1 - L) / 2`, where `L`
bounds the way that any point of the pair travels from the one to the other: `sum_i reach_i |dq_i|`. An interval for
which that is not enough is halved (conservative advancement; Mirtich 1996, Schwarzer et al. 2005). The distance of
a point to a plane is smooth besides, and so at least `min(d0, d1) - B t^2 / 8`, where `B` bounds how fast its
rate changes. Nothing is sampled and hoped for, and a motion far from everything costs two distance queries.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tendon.core.compiled import COUNT, FLAGS, ROW, ROWS, compiled
from tendon.core.types import Array

MAX_QUERIES = 48
"""A motion that needs more is refused: to look closer would take longer than a control period allows."""
ESCAPE_STEP_S = 0.002
"""Interval at which clearances that are below their margin already are looked at."""
ROUNDING_M = 1e-9
PARTS = 4


@compiled(ROW, ROWS, ROWS, ROWS)
def _bounds(time_s: Array, position: Array, velocity: Array, acceleration: Array) -> tuple[Array, Array]:
    """Returns `MotionPath.bounds`: the velocity of a piece, a parabola, stays between its control points."""
    pieces, count = len(time_s) - 1, position.shape[1]
    speed, way = np.empty((pieces, count)), np.zeros((pieces + 1, count))
    for k in range(pieces):
        duration_s = time_s[k + 1] - time_s[k]
        for i in range(count):
            before, after = velocity[k, i], velocity[k + 1, i]
            middle = before + 0.5 * duration_s * acceleration[k, i]
            low, high = min(min(before, middle), after), max(max(before, middle), after)
            speed[k, i] = max(-low, high)
            one_way = low * high >= 0.0
            moved = abs(position[k + 1, i] - position[k, i]) if one_way else duration_s * speed[k, i]
            way[k + 1, i] = way[k, i] + moved
    return speed, way


@compiled(ROW, ROWS, ROWS, ROWS, COUNT)
def _refined(
    time_s: Array, position: Array, velocity: Array, acceleration: Array, piece: int
) -> tuple[Array, Array, Array, Array]:
    """Returns times, positions, velocities and accelerations of one piece in `PARTS`."""
    count, duration_s = position.shape[1], time_s[piece + 1] - time_s[piece]
    times = np.empty(PARTS + 1)
    q, v, a = np.empty((PARTS + 1, count)), np.empty((PARTS + 1, count)), np.empty((PARTS + 1, count))
    for k in range(PARTS + 1):
        s = duration_s * (k / PARTS)
        times[k] = time_s[piece] + s
        for i in range(count):
            speed, change = velocity[piece, i], acceleration[piece, i]
            jerk = (acceleration[piece + 1, i] - change) / duration_s
            q[k, i] = position[piece, i] + s * (speed + s * (0.5 * change + s * (jerk * (1.0 / 6.0))))
            v[k, i] = speed + s * (change + s * (0.5 * jerk))
            a[k, i] = change + s * jerk
    return times, q, v, a


@compiled(ROWS, FLAGS, ROW, ROW, ROWS, ROWS, ROWS, COUNT, COUNT, ROW, ROW)
def _covered(
    reach: Array,
    smooth: npt.NDArray[np.bool_],
    needed: Array,
    time_s: Array,
    way: Array,
    speed: Array,
    acceleration: Array,
    i: int,
    j: int,
    begin: Array,
    end: Array,
) -> bool:
    """Returns whether the clearances between two points `i` and `j` of a path are known to be what is needed.

    Args:
        reach: (m, n) of each clearance.
        smooth: (m,) whether it is one of a point to a plane.
        needed: (m,) [m].
        time_s: (k,) of the path.
        way: (k, n) of `MotionPath.bounds`.
        speed: (k - 1, n) of them.
        acceleration: (k, n).
        i: where it begins.
        j: where it ends.
        begin: (m,) clearances there [m].
        end: (m,) [m].
    """
    duration_s, count = time_s[j] - time_s[i], way.shape[1]
    for row in range(len(needed)):  # comparisons are written so that NaN fails
        moved = 0.0
        for joint in range(count):
            moved += reach[row, joint] * (way[j, joint] - way[i, joint])
        if begin[row] + end[row] - moved >= 2.0 * needed[row]:
            continue
        if not smooth[row]:
            return False
        bend, total = 0.0, 0.0
        for joint in range(count):
            total += speed[i:j, joint].max()
        for joint in range(count):
            fastest, change = speed[i:j, joint].max(), np.abs(acceleration[i : j + 1, joint]).max()
            bend += reach[row, joint] * (total * fastest + change)
        sag = 0.125 * duration_s**2 * bend
        if not (begin[row] - sag >= needed[row] and end[row] - sag >= needed[row]):
            return False
    return True


@compiled(ROW, ROW, ROW)
def _tightest(clearance: Array, threshold: Array, margin: Array) -> tuple[bool, int]:
    """Returns whether (m,) clearances are at their thresholds or above, and which has the least room beyond it.

    Where all are, room is beyond the margin. NaN is below.
    """
    kept = True
    for row in range(len(clearance)):
        kept = kept and clearance[row] >= threshold[row]
    tightest, least = 0, np.inf
    for row in range(len(clearance)):
        room = clearance[row] - (margin[row] if kept else threshold[row])
        if room < least or (np.isnan(room) and not np.isnan(least)):
            tightest, least = row, room
    return kept, tightest


@dataclass(frozen=True, kw_only=True, eq=False)
class MotionPath:
    """A motion of one cubic a piece, as the wire carries it.

    Attributes:
        time_s: (k,) from its start, strictly increasing.
        position: (k, n).
        velocity: (k, n).
        acceleration: (k, n).
    """

    time_s: Array
    position: Array
    velocity: Array
    acceleration: Array

    @cached_property
    def bounds(self) -> tuple[Array, Array]:
        """(k - 1, n) bound on the speed in each piece; (k, n) on each joint's way, back and forth, since the start."""
        return _bounds(self.time_s, self.position, self.velocity, self.acceleration)

    def refined(self, piece: int) -> MotionPath:
        """Returns one piece as a path of `PARTS`."""
        time_s, position, velocity, acceleration = _refined(
            self.time_s, self.position, self.velocity, self.acceleration, piece
        )
        return MotionPath(time_s=time_s, position=position, velocity=velocity, acceleration=acceleration)


@dataclass(frozen=True, kw_only=True, slots=True)
class Separation:
    """The answer for one motion.

    Attributes:
        kept: whether every clearance stays above its threshold.
        constraint: index of the one that decides: the first that is not kept, or the one with the least room.
        room: its smallest known clearance beyond its margin [m].
        queries: how often distances were asked for.
    """

    kept: bool
    constraint: int
    room: float
    queries: int


def check_separation(
    path: MotionPath,
    distances: Callable[[Array], Array],
    reach: Array,
    margin: Array,
    smooth: npt.NDArray[np.bool_] | None = None,
    growth: float = 0.0,
    most: int = MAX_QUERIES,
    away: Array | None = None,
) -> Separation:
    """Returns whether the clearances of a motion stay above their margins, and those of one beside it.

    A clearance that is below its margin at the start (a robot that was put there by hand) must never be smaller
    than it is at the start; it is looked at every `ESCAPE_STEP_S`. So the robot may leave, and not go deeper.

    Args:
        path: the motion.
        distances: (n,) joint position to (m,) clearances [m].
        reach: (m, n) largest change of a clearance per rad or m of each joint.
        margin: (m,) [m].
        smooth: (m,) whether a clearance is that of a point of the robot to a plane.
        growth: by how much the margins grow with time [m/s], for an obstacle that may come nearer at that speed.
            With it there is no escape: the obstacle is not where the robot can judge where to flee to.
        most: queries that may be spent; at least the two ends are looked at.
        away: (n,) how far beside it the other motion is, whose clearances are further constraints; a query is two then.
    """
    count, smooth = len(margin), np.zeros(len(margin), dtype=bool) if smooth is None else smooth
    if away is not None:
        distances = _both(distances, away)
        reach, margin = np.concatenate((reach, reach)), np.concatenate((margin, margin))
        smooth = np.concatenate((smooth, smooth))
    last, duration_s = len(path.time_s) - 1, float(path.time_s[-1])
    begin, end = distances(path.position[0]), distances(path.position[-1])
    threshold, finest_s = margin, np.inf
    if not growth and (inside := begin < margin).any():
        reach, threshold = np.where(inside[:, None], 0.0, reach), np.where(inside, begin - ROUNDING_M, margin)
        finest_s = max(ESCAPE_STEP_S, 2.0 * duration_s / max(most, 1))
    law = _Law(reach=reach, threshold=threshold, smooth=smooth, growth=growth, finest_s=finest_s)
    worst = _Worst(margin, count)
    if not (worst.take(begin, law.needed(0.0)) and worst.take(end, law.needed(duration_s))):
        return worst.answer(False)
    spans = [(path, 0, last, begin, end)]
    while True:
        while spans and law.covers(*spans[-1]):
            spans.pop()
        if not spans or worst.queries >= most:
            return worst.answer(not spans)
        way, i, j, begin, end = spans.pop()
        if j - i == 1:
            way, i, j = way.refined(i), 0, PARTS
        k = (i + j) // 2
        middle = distances(way.position[k])
        if not worst.take(middle, law.needed(way.time_s[k])):
            return worst.answer(False)
        spans += [(way, k, j, middle, end), (way, i, k, begin, middle)]


def _both(distances: Callable[[Array], Array], away: Array) -> Callable[[Array], Array]:
    return lambda q: np.concatenate((distances(q), distances(q + away)))


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class _Law:
    """What an interval between two known clearances must fulfil to need no further look."""

    reach: Array
    threshold: Array
    smooth: npt.NDArray[np.bool_]
    growth: float
    finest_s: float

    def needed(self, time_s: float) -> Array:
        return self.threshold + self.growth * time_s if self.growth else self.threshold

    def covers(self, path: MotionPath, i: int, j: int, begin: Array, end: Array) -> bool:
        if path.time_s[j] - path.time_s[i] > self.finest_s:
            return False
        speed, way = path.bounds
        needed = self.needed(path.time_s[j])
        return _covered(self.reach, self.smooth, needed, path.time_s, way, speed, path.acceleration, i, j, begin, end)


class _Worst:
    """Keeps the constraint with the least room among everything looked at."""

    def __init__(self, margin: Array, count: int) -> None:
        self._margin, self._count = margin, count
        self._constraint, self._room = 0, np.inf
        self.queries = 0

    def take(self, clearance: Array, threshold: Array) -> bool:
        """Notes (m,) clearances; returns whether all are at their thresholds or above. NaN is below."""
        self.queries += 1
        kept, tightest = _tightest(clearance, threshold, self._margin)
        room = clearance[tightest] - self._margin[tightest]
        if not kept or room < self._room:
            self._constraint, self._room = tightest, float(room)
        return kept

    def answer(self, kept: bool) -> Separation:
        """Returns the answer."""
        constraint = self._constraint % self._count
        return Separation(kept=kept, constraint=constraint, room=self._room, queries=self.queries)
