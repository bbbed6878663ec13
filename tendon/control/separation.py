"""Whether a motion keeps its clearances all the way: bisection in time with a bound on what may happen in between.

Between two moments at which a clearance is known to be `d0` and `d1`, it is at least `(d0 + d1 - L) / 2`, where `L`
bounds the way that any point of the pair travels from the one to the other: `sum_i reach_i |dq_i|`. An interval for
which that is not enough is halved (conservative advancement; Mirtich 1996, Schwarzer et al. 2005). Nothing is sampled
and hoped for, and a motion far from everything costs two distance queries.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tendon.control.spline import hermite
from tendon.core.types import Array

MOST_QUERIES = 80
"""A motion that needs more is refused: to look closer would take longer than a control period allows."""
ESCAPE_STEP_S = 0.002
"""Interval at which clearances that are below their margin already are looked at."""
ROUNDING_M = 1e-9


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Path:
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

    def travelled(self) -> Array:
        """Returns (k, n): at least how far each joint has moved, back and forth, since the start."""
        duration = np.diff(self.time_s)[:, None]
        before, after = self.velocity[:-1], self.velocity[1:]
        return np.concatenate(
            [
                np.zeros((1, before.shape[1])),
                np.cumsum(
                    _travel(before, self.acceleration[:-1], after, np.diff(self.position, axis=0), duration), axis=0
                ),
            ]
        )


def _travel(before: Array, acceleration: Array, after: Array, moved: Array, duration: Array | float) -> Array:
    """Bounds the way along cubics: the net way where the velocity, a parabola, keeps its sign by its control points."""
    middle = before + 0.5 * duration * acceleration
    low, high = np.minimum(np.minimum(before, middle), after), np.maximum(np.maximum(before, middle), after)
    return np.asarray(np.where(low * high >= 0.0, np.abs(moved), duration * np.maximum(-low, high)))


@dataclass(frozen=True, kw_only=True, slots=True)
class Separation:
    """The answer for one motion.

    Attributes:
        kept: whether every clearance stays above its threshold.
        constraint: index of the one that decides: the first that is not kept, or the one with the least room.
        room: its smallest known clearance beyond its margin [m].
    """

    kept: bool
    constraint: int
    room: float


def check_separation(
    path: Path,
    distances: Callable[[Array], Array],
    reach: Array,
    margin: Array,
    growth: float = 0.0,
) -> Separation:
    """Returns whether the clearances of a motion stay above their margins.

    A clearance that is below its margin at the start (a robot that was put there by hand) must never be smaller
    than it is at the start; it is looked at every `ESCAPE_STEP_S`. So the robot may leave, and not go deeper.

    Args:
        path: the motion.
        distances: (n,) joint position to (m,) clearances [m].
        reach: (m, n) largest change of a clearance per rad or m of each joint.
        margin: (m,) [m].
        growth: by how much the margins grow with time [m/s], for an obstacle that may come nearer at that speed.
            With it there is no escape: the obstacle is not where the robot can judge where to flee to.
    """
    known = {0: distances(path.position[0]), len(path.time_s) - 1: distances(path.position[-1])}
    inside = known[0] < margin if not growth else np.zeros(len(margin), dtype=bool)
    threshold = np.where(inside, known[0] - ROUNDING_M, margin)
    reach = np.where(inside[:, None], 0.0, reach)
    finest = ESCAPE_STEP_S if inside.any() else np.inf
    duration_s = float(path.time_s[-1])
    if np.isfinite(finest):
        finest = max(finest, 2.0 * duration_s / MOST_QUERIES)
    worst = _Worst(margin)
    for index, time in ((0, 0.0), (len(path.time_s) - 1, duration_s)):
        if not worst.take(known[index], threshold + growth * time):
            return worst.answer(False)
    way = path.travelled()
    pieces = [(0, len(path.time_s) - 1)]
    queries = 2
    while pieces:
        i, j = pieces.pop()
        if _covered(known[i], known[j], reach @ (way[j] - way[i]), threshold + growth * path.time_s[j]) and (
            path.time_s[j] - path.time_s[i] <= finest
        ):
            continue
        if j - i == 1:
            used = _check_piece(
                path, i, known, (distances, reach, threshold, growth, finest), worst, MOST_QUERIES - queries
            )
            if used is None:
                return worst.answer(False)
            queries += used
            continue
        if queries >= MOST_QUERIES:
            return worst.answer(False)
        middle = (i + j) // 2
        known[middle] = distances(path.position[middle])
        queries += 1
        if not worst.take(known[middle], threshold + growth * path.time_s[middle]):
            return worst.answer(False)
        pieces += [(middle, j), (i, middle)]
    return worst.answer(True)


def _covered(begin: Array, end: Array, travel: Array, threshold: Array) -> bool:
    return bool((begin + end - travel >= 2.0 * threshold).all())


def _check_piece(
    path: Path,
    index: int,
    known: dict[int, Array],
    law: tuple[Callable[[Array], Array], Array, Array, float, float],
    worst: _Worst,
    budget: int,
) -> int | None:
    """Bisects one cubic; returns how many queries it took, or `None` when it is not kept."""
    distances, reach, threshold, growth, finest = law
    begin_s, duration = float(path.time_s[index]), float(path.time_s[index + 1] - path.time_s[index])
    begin = path.position[index], path.velocity[index]
    end = path.position[index + 1], path.velocity[index + 1]
    jerk = (path.acceleration[index + 1] - path.acceleration[index]) / duration
    states = {0.0: (*begin, known[index]), duration: (*end, known[index + 1])}
    spans = [(0.0, duration)]
    queries = 0
    while spans:
        t0, t1 = spans.pop()
        (q0, v0, d0), (q1, v1, d1) = states[t0], states[t1]
        travel = _travel(v0, path.acceleration[index] + jerk * t0, v1, q1 - q0, t1 - t0)
        if t1 - t0 <= finest and _covered(d0, d1, reach @ travel, threshold + growth * (begin_s + t1)):
            continue
        if queries >= budget:
            return None
        middle = 0.5 * (t0 + t1)
        q, v = hermite(begin, end, duration, middle)
        d = distances(q)
        queries += 1
        states[middle] = (q, v, d)
        if not worst.take(d, threshold + growth * (begin_s + middle)):
            return None
        spans += [(middle, t1), (t0, middle)]
    return queries


class _Worst:
    """Keeps the constraint with the least room among everything looked at."""

    def __init__(self, margin: Array) -> None:
        self._margin = margin
        self._constraint, self._room = 0, np.inf

    def take(self, clearance: Array, threshold: Array) -> bool:
        """Notes (m,) clearances; returns whether all are at their thresholds or above. NaN is below."""
        room = clearance - self._margin
        tightest = int(room.argmin())
        broken = ~(clearance >= threshold)
        if broken.any():
            tightest = int(np.where(broken, clearance - threshold, np.inf).argmin())
        if broken.any() or room[tightest] < self._room:
            self._constraint, self._room = tightest, float(room[tightest])
        return not broken.any()

    def answer(self, kept: bool) -> Separation:
        """Returns the answer."""
        return Separation(kept=kept, constraint=self._constraint, room=self._room)
