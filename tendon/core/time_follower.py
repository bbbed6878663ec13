"""Simulated time as one process hears it: it believes the publisher that it follows, and no stray message.

ROS does not say who sent a time, but the one that a process follows goes on from where it was. What jumps is
somebody else's, such as the recording of another day that is played back, until the followed one has fallen silent.
"""

from __future__ import annotations

import time
from collections.abc import Callable

AT_ONCE_NS = 1_000_000_000
"""Simulated time by which the followed publisher may go on between two messages, however fast they come."""
FASTEST = 100
"""Simulated seconds that may pass in one of wall time besides: this process may have been held up meanwhile."""
SILENCE_NS = 2_000_000_000
"""Wall time after which a publisher that says nothing, while another is heard, is followed no more. It repeats itself
every 0.1 s."""


class TimeFollower:
    """Follows one publisher of simulated time. Called from one thread; `now_ns` may be read from any.

    Args:
        wall_ns: a monotonic clock of this machine.
    """

    def __init__(self, wall_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self.now_ns = 0
        self._wall_ns = wall_ns
        self._heard_ns = 0
        self._strange_since_ns: int | None = None
        self._stray = ""

    def hear(self, stamp_ns: int) -> bool:
        """Takes a time that somebody published; returns whether it is the time now."""
        wall_ns, ahead_ns = self._wall_ns(), stamp_ns - self.now_ns
        allowed_ns = AT_ONCE_NS + FASTEST * min(wall_ns - self._heard_ns, SILENCE_NS)
        goes_on = not self.now_ns or 0 <= ahead_ns <= allowed_ns
        if stamp_ns > 0 and (goes_on or self._followed_is_silent(wall_ns)):
            self.now_ns, self._heard_ns, self._strange_since_ns = stamp_ns, wall_ns, None
            return True
        self._stray = f"a time {ahead_ns * 1e-9:+.3f} s from now: another node publishes it, or this one was held up"
        return False

    def _followed_is_silent(self, wall_ns: int) -> bool:
        """Returns whether only other times were heard for long enough; one message is never enough."""
        if self._strange_since_ns is None:
            self._strange_since_ns = wall_ns
        return wall_ns - self._strange_since_ns >= SILENCE_NS

    def take_stray(self) -> str:
        """Returns what was wrong with the last time that was refused, once; empty when none was."""
        stray, self._stray = self._stray, ""
        return stray
