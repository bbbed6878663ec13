"""Simulated time waits for an inference that the machine finishes late, but not for ever."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

HOLD_S = 60.0
"""Wall time that simulated time waits for one inference; then the policy is late, as it would be on a robot."""
LOOK_S = 0.1
"""What one look at a waiting inference counts at most: a host that sleeps does no work."""


class HeldTime:
    """Holds simulated time back while an inference should be over and is not.

    Args:
        holds: whether that is so at a time, such as `AsyncInference.holds`.
        pass_time: lets time go on from there, such as `NodeShell.pass_time`.
    """

    def __init__(self, holds: Callable[[int], bool], pass_time: Callable[[int], None]) -> None:
        self._holds, self._pass_time = holds, pass_time
        self._lock = threading.Lock()
        self._held_ns: int | None = None
        self._held_s, self._looked_s = 0.0, time.monotonic()

    def through(self, now_ns: int) -> bool:
        """Returns whether time may go on from `now_ns`."""
        with self._lock:
            held = self._holds(now_ns)
            self._held_ns = now_ns if held else None
            return not held

    def inferred(self) -> None:
        """Lets time go on that waited for an inference, which is over. Called from the inference thread."""
        with self._lock:
            held_ns = self._held_ns
            if held_ns is None or self._holds(held_ns):
                return
            self._held_ns, self._held_s = None, 0.0
        self._pass_time(held_ns)

    def look(self) -> None:
        """Says that the inference for which time waits is at work; but not for ever. Called many times a second."""
        now_s = time.monotonic()
        with self._lock:
            held_ns, awake_s = self._held_ns, min(now_s - self._looked_s, LOOK_S)
            self._held_s = self._held_s + awake_s if held_ns is not None else 0.0
        self._looked_s = now_s
        if held_ns is not None and self._held_s < HOLD_S:
            self._pass_time(held_ns - 1)
