"""When a task is done, by the policy's own estimate of its progress: the robot then rests until it gets another one.

Nothing else tells the end of a task on a robot, and a policy that is asked on and on for what is done sees what it
never saw in training: it drifts, is stopped by its failure detector, or begins anew and undoes what it did.
"""

from __future__ import annotations

import threading

DONE, DONE_NS = 0.8, 4_000_000_000
"""Estimated progress from which a task counts as done, when no estimate was less for so long. A finished task is
estimated at 0.8 to 0.98; the time is long enough for a policy that tries again to be seen trying."""


class Finish:
    """Looks at the estimates of one task after the other. Any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._since_ns: int | None = None
        self.done = False
        """Whether the task is done."""

    def begin(self) -> None:
        """Starts anew: another task, or a robot that was led elsewhere."""
        with self._lock:
            self._since_ns, self.done = None, False

    def look(self, progress: float | None, stamp_ns: int) -> None:
        """Takes an estimate.

        Args:
            progress: how much of the task is done, 0 to 1; `None` where the policy does not tell.
            stamp_ns: of the observation that it was made of.
        """
        with self._lock:
            if progress is None or progress < DONE:
                self._since_ns = None
            elif self._since_ns is None or stamp_ns < self._since_ns:
                self._since_ns = stamp_ns
            elif stamp_ns - self._since_ns >= DONE_NS:
                self.done = True
