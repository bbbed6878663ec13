"""Invalid chunks: one may be a policy's slip, several in a row are a policy that is broken."""

from __future__ import annotations

from tendon.core.causes import Cause, Reason
from tendon.core.errors import InvalidDataError
from tendon.core.types import ActionChunk
from tendon.robots.safety_settings import SafetySettings, nanoseconds


class Rejections:
    """Counts them. Not thread-safe.

    Args:
        settings: how long a chunk may last, how many call for a stop, and how long they count as present.
    """

    def __init__(self, settings: SafetySettings) -> None:
        self._most, self._counts_ns = settings.invalid_chunks, nanoseconds(settings.invalid_s)
        self._longest_ns = nanoseconds(settings.chunk_lasts_s)
        self._in_a_row, self._last_ns = 0, 0

    def check(self, chunk: ActionChunk) -> None:
        """Raises InvalidDataError when a chunk lasts too long."""
        lasts_ns = chunk.end_ns - chunk.start_ns
        if lasts_ns > self._longest_ns:
            most_s = self._longest_ns * 1e-9
            raise InvalidDataError(f"chunk lasts {lasts_ns * 1e-9:.4g} s, allowed {most_s:g} s (safety: chunk_lasts_s)")

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
