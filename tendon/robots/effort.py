"""How much a joint may bear, and for how long: contacts come at once, a payload stays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tendon.core.types import Array
from tendon.robots.safety_settings import nanoseconds


class EffortLimit:
    """Tells when a joint has borne too much for too long. Not thread-safe.

    Args:
        names: of the joints.
        most: (n,) largest |effort|, N m or N; infinite for a joint without a limit.
        lasts_s: for how long more is tolerated.
    """

    def __init__(self, names: Sequence[str], most: Array, lasts_s: float) -> None:
        self._names, self._most, self._lasts_ns = names, most, nanoseconds(lasts_s)
        self._since_ns: int | None = None
        self.problem = ""
        """Which joint bears too much; empty when none does."""

    def measured(self, effort: Array, stamp_ns: int) -> None:
        """Takes (n,) efforts of a joint state, N m or N; NaN where a joint without a limit has none."""
        over = np.flatnonzero(np.abs(effort) > self._most)
        if not len(over):
            self._since_ns, self.problem = None, ""
            return
        self._since_ns = stamp_ns if self._since_ns is None else min(self._since_ns, stamp_ns)
        if stamp_ns - self._since_ns >= self._lasts_ns:
            i = int(over[0])
            self.problem = f"{self._names[i]} bears an effort of {effort[i]:.3g}, allowed {self._most[i]:.3g}"
