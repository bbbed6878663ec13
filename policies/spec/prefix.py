"""The part of the running plan that a new chunk has to continue, in the policy's own normalised numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tendon.core.errors import InvalidDataError
from tendon.core.types import ActionChunk, Array


@dataclass(frozen=True, kw_only=True, eq=False)
class Prefix:
    """Rows of the running plan on the grid of the new chunk, and how strictly each is to be kept.

    Attributes:
        rows: (k, C) normalised; k may be 0.
        frozen: leading rows that will have been executed by the time the answer is in force: kept exactly.
        past: rows of the chunk before the first of these, which lie in the past and are left alone.
    """

    rows: Array
    frozen: int
    past: int = 0

    def weights(self, total: int) -> Array:
        """Returns (total,) weights: 1 for frozen rows, falling to 0 at the end of the given ones.

        The fall is that of real-time chunking (Black, Galliker and Levine 2025, eq. 5):
        `c (e^c - 1) / (e - 1)` with `c = (k - i) / (k - frozen + 1)` for row i.
        """
        count = len(self.rows)
        falling = (count - np.arange(total)) / (count - self.frozen + 1.0)
        soft = np.where(falling > 0.0, falling * np.expm1(np.maximum(falling, 0.0)) / (np.e - 1.0), 0.0)
        return np.where(np.arange(total) < self.frozen, 1.0, soft)

    def blend(self, rows: Array) -> Array:
        """Returns (T, M) `rows` drawn toward the given ones by their weights; columns beyond C are left alone."""
        count, width = self.rows.shape
        weights = self.weights(len(rows) - self.past)[:count, None]
        blended = np.array(rows)
        part = blended[self.past : self.past + count, :width]
        part[:] = weights * self.rows + (1.0 - weights) * part
        return blended


def rows_on_grid(prefix: ActionChunk | None, start_ns: int, step_ns: int, rows: int, joints: int) -> Array:
    """Returns (k, n) rows of a prefix, at most `rows`; none when there is no prefix.

    Args:
        prefix: of the running plan.
        start_ns: when the first row of the new chunk is due.
        step_ns: time between its rows.
        rows: of the new chunk.
        joints: of the robot.

    Raises:
        InvalidDataError: the prefix is on another time grid, or of another number of joints.
    """
    if prefix is None:
        return np.empty((0, joints))
    if (prefix.start_ns, prefix.step_ns) != (start_ns, step_ns):
        raise InvalidDataError(
            f"prefix starts at {prefix.start_ns} ns in steps of {prefix.step_ns} ns, expected the chunk's grid: "
            f"{start_ns} ns in steps of {step_ns} ns"
        )
    if prefix.actions.shape[1] != joints:
        raise InvalidDataError(f"prefix has rows of {prefix.actions.shape[1]} joints, expected {joints}")
    return prefix.actions[:rows]
