"""A leader arm: the joint states of another robot, which somebody moves by hand."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

from tendon.teleop.device import DeviceLostError, Reading

SILENT_S = 0.06
"""Joint states come at least every 10 ms; an arm that says nothing for so long is lost."""


class LeaderDevice:
    """Keeps the newest joint states that `hear` is told. One thread.

    Args:
        source: where they come from, for a person.
        clock_s: a monotonic clock.
    """

    def __init__(self, source: str, clock_s: Callable[[], float] = time.monotonic) -> None:
        self.source, self._clock_s = source, clock_s
        self._joints: dict[str, float] = {}
        self._heard_s: float | None = None
        self._open = False

    @property
    def name(self) -> str:
        """See `Device`."""
        return f"leader arm {self.source}"

    def hear(self, names: Sequence[str], positions: Sequence[float]) -> None:
        """Takes joint states; a position that is not finite is left out, and with it the message."""
        if len(names) == len(positions) and all(map(math.isfinite, positions)):
            self._joints = dict(zip(names, positions, strict=True))
            self._heard_s = self._clock_s()

    def open(self) -> None:
        """See `Device`."""
        self._open = True

    def read(self) -> Reading:
        """See `Device`."""
        if not self._open:
            raise DeviceLostError(f"{self.name} is not open")
        if self._heard_s is None or self._clock_s() - self._heard_s > SILENT_S:
            raise DeviceLostError(f"{self.name} sends no joint states")
        return Reading(joints=dict(self._joints))

    def close(self) -> None:
        """See `Device`."""
        self._open = False
