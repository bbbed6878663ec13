"""Invalid chunks in a row: one may be a policy's slip, several are a policy that is broken."""

from __future__ import annotations

from tendon.core.causes import Cause, Reason
from tendon.robots.safety_settings import SafetySettings, nanoseconds


class Rejections:
    """Counts them. Not thread-safe.

    Args:
        settings: how many call for a stop, and how long they count as present.
    """

    def __init__(self, settings: SafetySettings) -> None:
        self._most, self._counts_ns = settings.invalid_chunks, nanoseconds(settings.invalid_s)
        self._in_a_row, self._last_ns = 0, 0

    def clear(self) -> None:
        """Begins anew: a chunk was valid, or the robot was reset."""
        self._in_a_row = 0

    def add(self, reason: str, now_ns: int) -> Reason | None:
        """Takes one, and why it was invalid; returns why the robot has to stop, `None` when it need not yet."""
        self._in_a_row += 1
        self._last_ns = now_ns
        if self._in_a_row < self._most:
            return None
        return Reason(Cause.CHUNKS, f"{self._in_a_row} invalid chunks in a row, the last: {reason}")

    def standing(self, now_ns: int | None) -> list[Reason]:
        """Returns why it would have to stop again at once."""
        if now_ns is None or self._in_a_row < self._most or now_ns - self._last_ns >= self._counts_ns:
            return []
        return [Reason(Cause.CHUNKS, f"{self._in_a_row} invalid chunks in a row and no valid one since")]
