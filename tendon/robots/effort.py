"""How much a joint may bear, and for how long: contacts come at once, a payload stays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tendon.core.types import Array
from tendon.robots.safety_settings import nanoseconds

RECOVERY = 0.5
"""How fast what was borne is forgotten, as a part of how fast it adds up: a tool that chatters on a contact is above
its limit for half of the time."""


class EffortLimit:
    """Tells when a joint has borne too much for too long. Not thread-safe.

    Time above a limit adds up, and time below it takes half as much away; between a sample above and one below it was
    above for half of the time.

    Args:
        names: of the joints.
        most: (n,) largest |effort|, N m or N; infinite for a joint without a limit.
        lasts_s: for how long more is tolerated.
    """

    def __init__(self, names: Sequence[str], most: Array, lasts_s: float) -> None:
        self._names, self._most, self._lasts_ns = names, most, nanoseconds(lasts_s)
        self._stamp_ns: int | None = None
        self._over, self._borne_ns = False, 0.0
        self.problem = ""
        """Which joint bears too much; empty when none does."""

    def measured(self, effort: Array, stamp_ns: int) -> None:
        """Takes (n,) efforts of a joint state, N m or N; NaN where a joint without a limit has none."""
        over = np.flatnonzero(np.abs(effort) > self._most)
        passed_ns = 0 if self._stamp_ns is None else max(0, stamp_ns - self._stamp_ns)
        if bool(len(over)) != self._over:
            passed_ns = min(passed_ns, self._lasts_ns)  # one sample tells little of a long time before it
        above = 0.5 * (self._over + bool(len(over)))
        borne_ns = self._borne_ns + passed_ns * (above - RECOVERY * (1.0 - above))
        self._borne_ns = min(max(0.0, borne_ns), float(self._lasts_ns))
        self._stamp_ns, self._over = stamp_ns, bool(len(over))
        self.problem = ""
        if self._over and self._borne_ns >= self._lasts_ns:
            i = int(over[0])
            self.problem = f"{self._names[i]} bears an effort of {effort[i]:.3g}, allowed {self._most[i]:.3g}"
