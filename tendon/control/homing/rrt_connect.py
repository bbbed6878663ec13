"""Two trees that grow towards each other until they meet (RRT-Connect; Kuffner and LaValle 2000), and shortcuts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tendon.core.types import Array

STEP = 0.3
"""Length of an edge, in seconds at the joints' velocity limits: about 0.7 rad of one joint."""
SLIDES = 20
"""Steps along what is in the way before another direction is tried."""
SHORTCUTS = 200
"""Attempts to go straight between two points of the way that was found."""

Edge = Callable[[Array, Array], bool]
"""Whether the straight edge between two joint vectors is free."""
Slide = Callable[[Array, Array], Array | None]
"""Takes (n,) from where and (n,) where to; returns (n,) a place nearer to that, `None` when it is blocked."""
GoOn = Callable[[], bool]


class _Tree:
    """Joint vectors, each reached from its parent by a free edge."""

    def __init__(self, root: Array, scale: Array) -> None:
        self._scale, self._count = scale, 1
        self._nodes = np.empty((64, len(root)))
        self._nodes[0] = root
        self._parents = [0]

    def grow(self, target: Array, free: Edge, slide: Slide) -> Array:
        """Goes from the node nearest to (n,) `target` towards it as far as edges are free; returns where that ends."""
        away = (self._nodes[: self._count] - target) * self._scale
        last = int(np.einsum("ij,ij->i", away, away).argmin())
        begin: Array = self._nodes[last].copy()
        steps = int(np.ceil(float(np.linalg.norm(away[last])) / STEP))
        here = begin
        for k in range(1, steps + 1):
            there = target if k == steps else begin + k / steps * (target - begin)
            if not free(here, there):
                break
            last, here = self._add(there, last), there
        for _ in range(SLIDES):
            ahead = None if (here == target).all() else slide(here, target)
            if ahead is None or not free(here, ahead):
                break
            last, here = self._add(ahead, last), ahead
        return here

    def _add(self, node: Array, parent: int) -> int:
        if self._count == len(self._nodes):
            self._nodes = np.concatenate([self._nodes, np.empty_like(self._nodes)])
        self._nodes[self._count] = node
        self._parents.append(parent)
        self._count += 1
        return self._count - 1

    def way(self, node: Array) -> list[Array]:
        """Returns the nodes from the root to one of the tree."""
        k = int((self._nodes[: self._count] == node).all(axis=1).argmax())
        nodes = [self._nodes[k].copy()]
        while k:
            k = self._parents[k]
            nodes.append(self._nodes[k].copy())
        return nodes[::-1]


def connect(
    start: Array,
    goal: Array,
    bounds: tuple[Array, Array],
    velocity: Array,
    free: Edge,
    slide: Slide,
    go_on: GoOn,
    rng: np.random.Generator,
) -> list[Array] | None:
    """Returns (n,) points from `start` to `goal` with free edges between them; `None` when none was found in time.

    Args:
        start: (n,).
        goal: (n,).
        bounds: (n,) lowest and (n,) highest value of each joint.
        velocity: (n,) of each joint: ways are short in time.
        free: the test of an edge.
        slide: makes a step along what is in the way.
        go_on: false once the time is up.
        rng: of the samples.
    """
    trees = [_Tree(start, 1.0 / velocity), _Tree(goal, 1.0 / velocity)]
    turn = 0
    while go_on():
        one, other = trees[turn], trees[1 - turn]
        reached = one.grow(rng.uniform(*bounds), free, slide)
        if (other.grow(reached, free, slide) == reached).all():
            ways = trees[0].way(reached), trees[1].way(reached)
            return ways[0] + ways[1][-2::-1]
        turn = 1 - turn
    return None


def shorten(way: list[Array], velocity: Array, free: Edge, go_on: GoOn, rng: np.random.Generator) -> list[Array]:
    """Returns the way with detours cut off: between points on it that see each other it goes straight."""
    for _ in range(SHORTCUTS):
        if len(way) == 2 or not go_on():
            break
        i, j = sorted(rng.integers(0, len(way) - 1, 2))  # segments
        if i == j:
            continue
        begin, end = (way[k] + rng.random() * (way[k + 1] - way[k]) for k in (i, j))
        cut = [*way[: i + 1], begin, end, *way[j + 1 :]]
        if _duration(cut, velocity) < _duration(way, velocity) and free(begin, end):
            way = cut
    kept = [way[0]]
    for k in range(1, len(way) - 1):  # points that are on nobody's way any more
        if not free(kept[-1], way[k + 1]):
            kept.append(way[k])
    return [*kept, way[-1]]


def _duration(way: list[Array], velocity: Array) -> float:
    """Returns how long the slowest joint takes on each edge, in all [s]."""
    return float((np.abs(np.diff(way, axis=0)) / velocity).max(axis=1).sum())
