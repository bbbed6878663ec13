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

from tendon.control.clearance import covering
from tendon.core.types import Array

MAX_QUERIES = 48
"""A motion that needs more is refused: to look closer would take longer than a control period allows."""
ESCAPE_STEP_S = 0.002
"""Interval at which clearances that are below their margin already are looked at."""
ROUNDING_M = 1e-9
PARTS = 4


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
        return covering.bounds(self.time_s, self.position, self.velocity, self.acceleration)

    def refined(self, piece: int) -> MotionPath:
        """Returns one piece as a path of `PARTS`."""
        time_s, position, velocity, acceleration = covering.refined(
            self.time_s, self.position, self.velocity, self.acceleration, piece, PARTS
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
    law = _Law(reach=reach, threshold=threshold, smooth=smooth.view(np.uint8), growth=growth, finest_s=finest_s)
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
    smooth: npt.NDArray[np.uint8]
    growth: float
    finest_s: float

    def needed(self, time_s: float) -> Array:
        return self.threshold + self.growth * time_s if self.growth else self.threshold

    def covers(self, path: MotionPath, i: int, j: int, begin: Array, end: Array) -> bool:
        if path.time_s[j] - path.time_s[i] > self.finest_s:
            return False
        speed, way = path.bounds
        needed = self.needed(path.time_s[j])
        return covering.covered(
            self.reach, self.smooth, needed, path.time_s, way, speed, path.acceleration, i, j, begin, end
        )


class _Worst:
    """Keeps the constraint with the least room among everything looked at."""

    def __init__(self, margin: Array, count: int) -> None:
        self._margin, self._count = margin, count
        self._constraint, self._room = 0, np.inf
        self.queries = 0

    def take(self, clearance: Array, threshold: Array) -> bool:
        """Notes (m,) clearances; returns whether all are at their thresholds or above. NaN is below."""
        self.queries += 1
        kept, tightest = covering.tightest(clearance, threshold, self._margin)
        room = clearance[tightest] - self._margin[tightest]
        if not kept or room < self._room:
            self._constraint, self._room = tightest, float(room)
        return kept

    def answer(self, kept: bool) -> Separation:
        """Returns the answer."""
        constraint = self._constraint % self._count
        return Separation(kept=kept, constraint=constraint, room=self._room, queries=self.queries)
