"""The latency budget: how old the observation behind a chunk, and behind a command, may be."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from statistics import median

from tendon.safety.response import Finding, Response

SLOW_NS, HOLD_NS = 300_000_000, 700_000_000
"""Above the first the robot slows down, above the second it holds."""
MEDIAN_OF = 3
"""One late chunk is no reason to slow down: the plan before it runs on."""
FRESH_NS = 1_500_000_000


class LatencyWatch:
    """Ages of observations, by what arrived and by what nodes report of themselves."""

    def __init__(self) -> None:
        self._chunks: deque[int] = deque(maxlen=MEDIAN_OF)
        self._chunk_ns = 0
        self._reported: dict[str, tuple[int, int]] = {}

    def chunk(self, age_ns: int, now_ns: int) -> None:
        """Takes how old the observation of a chunk was when the chunk arrived."""
        if now_ns - self._chunk_ns > FRESH_NS:
            self._chunks.clear()
        self._chunks.append(age_ns)
        self._chunk_ns = now_ns

    def report(self, what: str, age_ns: int, now_ns: int) -> None:
        """Takes the usual age that a node reports, such as of "observation to command"."""
        self._reported[what] = (age_ns, now_ns)

    def findings(self, now_ns: int) -> Iterable[Finding]:
        """Returns what is over its budget."""
        ages = {what: age_ns for what, (age_ns, at_ns) in self._reported.items() if now_ns - at_ns <= FRESH_NS}
        if len(self._chunks) == MEDIAN_OF and now_ns - self._chunk_ns <= FRESH_NS:
            ages["observation to chunk"] = int(median(self._chunks))
        return [
            Finding(
                source="latency",
                response=Response.HOLD if age_ns > HOLD_NS else Response.SLOW,
                reason=f"{what} takes {age_ns * 1e-6:.0f} ms, slow above {SLOW_NS / 1e6:.0f}, hold above "
                f"{HOLD_NS / 1e6:.0f}",
            )
            for what, age_ns in ages.items()
            if age_ns > SLOW_NS
        ]
