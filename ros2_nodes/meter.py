"""Rate, latency and drops of a stream over the last few seconds."""

from __future__ import annotations

import threading
import time
from collections import deque

import numpy as np

WINDOW_S = 5.0
_MOST = 4096


class Meter:
    """Counts one stream. Any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._events: deque[tuple[float, float]] = deque(maxlen=_MOST)
        self.total = 0
        self.drops = 0

    def add(self, latency_ns: float = float("nan")) -> None:
        """Takes one event, with the latency it had if that means something."""
        with self._lock:
            self.total += 1
            self._events.append((time.monotonic(), latency_ns * 1e-6))

    def drop(self) -> None:
        """Takes one event that was lost or refused."""
        with self._lock:
            self.drops += 1

    def values(self, name: str) -> dict[str, str]:
        """Returns rate [Hz], latency p50, p99 and max [ms] over the window, and drops since the start."""
        with self._lock:
            begin = time.monotonic() - WINDOW_S
            recent = [event for event in self._events if event[0] >= begin]
            drops = self.drops
        values = {f"{name} rate_hz": f"{self._rate(recent):.1f}", f"{name} drops": str(drops)}
        latencies = np.array([latency for _, latency in recent if latency == latency])
        if len(latencies):
            p50, p99, most = np.percentile(latencies, [50, 99, 100])
            values[f"{name} latency_ms"] = f"p50 {p50:.2f} p99 {p99:.2f} max {most:.2f}"
        return values

    @staticmethod
    def _rate(recent: list[tuple[float, float]]) -> float:
        span = recent[-1][0] - recent[0][0] if len(recent) > 1 else 0.0
        return (len(recent) - 1) / span if span > 0 else 0.0
