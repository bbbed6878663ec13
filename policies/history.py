"""What a policy saw before: some are told their last few observations, a step apart."""

from __future__ import annotations

import threading
from collections import deque

from tendon.core.types import Observation


class History:
    """Keeps observations for a policy that sees several at once. Any thread.

    Args:
        count: observations that the policy sees, the present one among them.
        step_ns: time between them.
    """

    def __init__(self, count: int, step_ns: int) -> None:
        self._count, self._step_ns = count, step_ns
        self._kept: deque[Observation] = deque()
        self._lock = threading.Lock()

    def add(self, observation: Observation) -> None:
        """Keeps an observation; one that is not newer than the last is left out, a clock set back starts anew."""
        with self._lock:
            self._add(observation)

    def _add(self, observation: Observation) -> None:
        if self._kept and observation.stamp_ns <= self._kept[-1].stamp_ns:
            if self._kept[-1].stamp_ns - observation.stamp_ns < self._count * self._step_ns:
                return
            self._kept.clear()
        self._kept.append(observation)
        oldest_ns = observation.stamp_ns - self._count * self._step_ns
        while len(self._kept) > 1 and self._kept[1].stamp_ns <= oldest_ns:
            self._kept.popleft()

    def seen(self, observation: Observation) -> tuple[Observation, ...]:
        """Returns `count` observations, the given one last, each of the others the nearest to its time.

        Where nothing is old enough the oldest stands in, as at the start of an episode in training.
        """
        with self._lock:
            before = [kept for kept in self._kept if kept.stamp_ns < observation.stamp_ns] or [observation]
        times_ns = (observation.stamp_ns - k * self._step_ns for k in range(self._count - 1, 0, -1))
        return (*(min(before, key=lambda kept: abs(kept.stamp_ns - t)) for t in times_ns), observation)
