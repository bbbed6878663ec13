"""Where the arm may be on its way home: clearances with something to spare, on whole edges and not at samples."""

from __future__ import annotations

import daqp
import numpy as np

from tendon.control.clearance.model import Clearance
from tendon.control.clearance.motion import MotionPath, check_separation
from tendon.core.types import Array

MAX_QUERIES = 3000
"""Of one edge. One that needs more runs along something that it all but touches."""
ESCAPE_STEP = 0.02
"""Largest step [rad or m] of a joint on the way out of a tight place, as gradients are good only nearby."""
ESCAPE_STEPS = 60
SLIDE_STEP = 0.15
"""The same on the way along something: what a step comes too near is found out by the check of the edge."""
MIN_PROGRESS = 0.05
"""Least part of the way ahead that such a step must make."""
_SOLVED = 1


class FreeSpace:
    """Joint vectors and straight edges between them that keep their clearances. Not thread-safe.

    Args:
        clearance: what must be kept apart, as the filter has it.
        lower: (n,) bounds of the joints.
        upper: (n,).
    """

    def __init__(self, clearance: Clearance, lower: Array, upper: Array) -> None:
        self._clearance, self.lower, self.upper = clearance, lower, upper

    def room(self, q: Array) -> Array:
        """Returns (m,) how far each clearance is beyond its margin [m] at (n,), negative inside."""
        return self._clearance.distances(q) - self._clearance.margin

    def keeps(self, a: Array, b: Array, spare: Array) -> bool:
        """Returns whether the straight edge between two (n,) keeps every margin and (m,) `spare` [m] beyond it.

        A clearance that is smaller at `a` may grow along the edge, never shrink: the filter's own rule.
        """
        edge = MotionPath(
            time_s=np.array([0.0, 1.0]),
            position=np.array([a, b]),
            velocity=np.array([b - a, b - a]),
            acceleration=np.zeros((2, len(a))),
        )
        c = self._clearance
        return check_separation(edge, c.distances, c.reach, c.margin + spare, c.smooth, most=MAX_QUERIES).kept

    def seems_kept(self, a: Array, b: Array, spare: Array, apart: float) -> bool:
        """Returns the same from samples on the edge `apart` [rad or m, of all joints together], without `a`.

        That is twenty times as fast; between samples clearances bend by about the square of that in metres.
        """
        needed = self._clearance.margin + spare
        count = int(np.ceil(np.linalg.norm(b - a) / apart))
        shares = (k / count for k in range(count, 0, -1))
        return all((self._clearance.distances(a + share * (b - a)) >= needed).all() for share in shares)

    def escape(self, q: Array, wanted: Array) -> list[Array]:
        """Returns (n,) points from q to where each clearance has (m,) `wanted` room [m], or as far as it gets.

        Each step is the shortest one, in joint space, along which what lacks room gains it and nothing else loses what
        it needs, to first order (Nakamura, 1991, for the idea of tasks in order); then the edge is checked as a whole.
        """
        points = [q]
        none = np.zeros_like(wanted)
        for _ in range(ESCAPE_STEPS):
            room = self.room(points[-1])
            if (room >= wanted).all():
                break
            step = self._step(points[-1], np.zeros_like(q), ESCAPE_STEP, room, wanted)
            if step is None or not self.keeps(points[-1], points[-1] + step, none):
                break
            points.append(points[-1] + step)
        if len(points) > 2 and self.keeps(points[0], points[-1], none):
            return [points[0], points[-1]]
        return points

    def slide(self, q: Array, target: Array, spare: Array) -> Array | None:
        """Returns (n,) a step nearer to `target` that keeps (m,) `spare` to first order: along what is in the way."""
        ahead = target - q
        ahead *= min(1.0, SLIDE_STEP / float(np.abs(ahead).max()))
        step = self._step(q, ahead, SLIDE_STEP, self.room(q), spare)
        return None if step is None or step @ ahead < MIN_PROGRESS * (ahead @ ahead) else q + step

    def _step(self, q: Array, ahead: Array, most: float, room: Array, wanted: Array) -> Array | None:
        """Returns the step nearest to (n,) `ahead` after which clearances have (m,) `wanted` room, or gain some.

        To first order, and of up to `most` a joint; `None` when there is none.
        """
        near = (room < wanted + self._clearance.reach.sum(axis=1) * most).nonzero()[0]
        gradients = self._clearance.gradients(q, near.tolist())
        lacking = np.maximum(wanted - room, 0.0)[near]
        low, high = np.maximum(self.lower - q, -most), np.minimum(self.upper - q, most)
        full = np.maximum(gradients, 0.0) @ high + np.minimum(gradients, 0.0) @ low  # the most that each can gain
        for share in (0.5, 0.1):
            floor = np.where(lacking > 0.0, np.minimum(lacking, share * full), wanted[near] - room[near])
            solution, _, status, _ = daqp.solve(
                np.eye(len(q)),
                -ahead,
                np.ascontiguousarray(gradients),
                np.concatenate([high, np.full(len(near), 1e30)]),
                np.concatenate([low, floor]),
                np.zeros(len(q) + len(near), dtype=np.int32),
            )
            if status == _SOLVED and np.isfinite(solution).all():
                return np.asarray(np.clip(solution, low, high))
        return None
