"""The latency budget: how old the observation behind a chunk, and behind a command, may be."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from statistics import median

from tendon.core.causes import Cause
from tendon.core.modes import Source
from tendon.robots.safety_settings import SafetySettings, nanoseconds
from tendon.safety.response import Finding, Response


class LatencyWatch:
    """Ages of observations, by what arrived and by what nodes report of themselves.

    Chunks count by their source, so that a quick one hides no slow one; that which leads is judged, for no other moves
    the robot, and a person may take over from a policy that is slow.

    Args:
        settings: the budgets.
    """

    def __init__(self, settings: SafetySettings) -> None:
        self._slow_ns, self._hold_ns, self._fresh_ns = map(
            nanoseconds, (settings.latency_slow_s, settings.latency_hold_s, settings.latency_fresh_s)
        )
        self._median_of = settings.latency_median_of
        self._chunks: dict[Source, deque[int]] = {each: deque(maxlen=self._median_of) for each in Source}
        self._chunk_ns = dict.fromkeys(Source, 0)
        self._leader = Source.POLICY
        self._reported: dict[str, tuple[int, int]] = {}

    def led_by(self, source: Source) -> None:
        """Takes whose chunks are followed, and forgets what nodes reported of another source."""
        if source is not self._leader:
            self._reported = {}
        self._leader = source

    def chunk(self, source: Source, age_ns: int, now_ns: int) -> None:
        """Takes how old the observation of a source's chunk was when the chunk arrived."""
        if now_ns - self._chunk_ns[source] > self._fresh_ns:
            self._chunks[source].clear()
        self._chunks[source].append(age_ns)
        self._chunk_ns[source] = now_ns

    def report(self, what: str, age_ns: int, now_ns: int) -> None:
        """Takes the usual age that a node reports, such as of "observation to command"."""
        self._reported[what] = (age_ns, now_ns)

    def findings(self, now_ns: int) -> Iterable[Finding]:
        """Returns what is over its budget."""
        ages = {what: age_ns for what, (age_ns, at_ns) in self._reported.items() if now_ns - at_ns <= self._fresh_ns}
        chunks, at_ns = self._chunks[self._leader], self._chunk_ns[self._leader]
        if len(chunks) == self._median_of and now_ns - at_ns <= self._fresh_ns:
            ages[f"observation to chunk of {self._leader.value}"] = int(median(chunks))
        return [
            Finding(
                source="latency",
                response=Response.HOLD if age_ns > self._hold_ns else Response.SLOW,
                cause=Cause.LATENCY,
                reason=f"{what} takes {age_ns * 1e-6:.0f} ms, slow above {self._slow_ns / 1e6:.0f}, hold above "
                f"{self._hold_ns / 1e6:.0f}",
            )
            for what, age_ns in ages.items()
            if age_ns > self._slow_ns
        ]
