"""Rate, latency and drops of a stream over the last few seconds."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

import numpy as np

from tendon.core.node_status import LatencyReport, MeterReport

WINDOW_S = 5.0
_MOST = 4096


class Meter:
    """Counts one stream. Any thread.

    Args:
        now_ns: the time of the graph, in which rates are.
    """

    def __init__(self, now_ns: Callable[[], int]) -> None:
        self._now_ns = now_ns
        self._lock = threading.Lock()
        self._events: deque[tuple[float, float]] = deque(maxlen=_MOST)
        self.total = 0
        self.drops = 0

    def add(self, latency_ns: float = float("nan")) -> None:
        """Takes one event, with the latency it had if that means something."""
        with self._lock:
            self.total += 1
            self._events.append((self._now_ns() * 1e-9, latency_ns * 1e-6))

    def drop(self) -> None:
        """Takes one event that was lost or refused."""
        with self._lock:
            self.drops += 1

    def forget(self) -> None:
        """Begins anew: what comes from now on is of something else."""
        with self._lock:
            self._events.clear()

    def report(self) -> MeterReport:
        """Returns rate and latencies over the window, and drops since the start."""
        with self._lock:
            begin = self._now_ns() * 1e-9 - WINDOW_S
            while self._events and self._events[0][0] < begin:
                self._events.popleft()
            recent = [event for event in self._events if event[0] >= begin]
            drops = self.drops
        latencies = np.array([latency for _, latency in recent if latency == latency])
        latency = None
        if len(latencies):
            p50, p99, most = np.percentile(latencies, [50, 99, 100]).round(2).tolist()
            latency = LatencyReport(p50_ms=p50, p99_ms=p99, max_ms=most)
        return MeterReport(rate_hz=round(self._rate(recent), 1), drops=drops, latency=latency)

    @staticmethod
    def _rate(recent: list[tuple[float, float]]) -> float:
        span = recent[-1][0] - recent[0][0] if len(recent) > 1 else 0.0
        return (len(recent) - 1) / span if span > 0 else 0.0
