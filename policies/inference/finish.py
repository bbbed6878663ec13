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
        self._begun_ns = 0
        self._since_ns: int | None = None
        self._newest_ns = 0

    @property
    def done(self) -> bool:
        """Whether the task is done."""
        with self._lock:
            return self._since_ns is not None and self._newest_ns - self._since_ns >= DONE_NS

    def begin(self, now_ns: int) -> None:
        """Starts anew: another task or policy, or a robot that was led elsewhere."""
        with self._lock:
            self._begun_ns, self._since_ns = now_ns, None

    def look(self, progress: float | None, stamp_ns: int, now_ns: int) -> None:
        """Takes an estimate, unless it was asked for before this task began.

        Args:
            progress: how much of the task is done, 0 to 1; `None` where the policy does not tell.
            stamp_ns: of the observation that it was made of.
            now_ns: the time now, which may have been set back.
        """
        with self._lock:
            if stamp_ns <= self._begun_ns <= now_ns:
                return
            if progress is None or progress < DONE:
                self._since_ns = None
            elif self._since_ns is None or stamp_ns < self._since_ns:
                self._since_ns = stamp_ns
            self._newest_ns = stamp_ns
