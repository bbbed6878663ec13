"""What a policy saw before: some are told a few earlier observations, whole steps before the present one."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable

from tendon.core.types import Observation


class History:
    """Keeps observations for a policy that sees several at once. Any thread.

    Args:
        span: steps from the oldest one that the policy sees to the present one.
        step_ns: time of a step.
    """

    def __init__(self, span: int, step_ns: int) -> None:
        self._reach_ns = (span + 1) * step_ns
        self._pause_ns = 2 * self._reach_ns
        self._step_ns = step_ns
        self._kept: deque[Observation] = deque()
        self._lock = threading.Lock()

    def add(self, observation: Observation) -> None:
        """Keeps an observation; one that is not newer than the last is left out.

        After a pause twice as long as the history, and after a clock that was set back, it starts anew: what was
        seen then is not the past of what is done now.
        """
        with self._lock:
            if self._kept:
                since_ns = observation.stamp_ns - self._kept[-1].stamp_ns
                if -self._reach_ns <= since_ns <= 0:
                    return
                if since_ns < 0 or since_ns > self._pause_ns:
                    self._kept.clear()
            self._kept.append(observation)
            oldest_ns = observation.stamp_ns - self._reach_ns
            while len(self._kept) > 1 and self._kept[1].stamp_ns <= oldest_ns:
                self._kept.popleft()

    def seen(self, observation: Observation, steps: Iterable[int]) -> tuple[Observation, ...]:
        """Returns the observation `steps` from the given one, each the nearest to its time.

        Where nothing is old enough the oldest stands in, as at the start of an episode in training.

        Args:
            observation: the present one.
            steps: such as -15, 0; 0 is the present one itself.
        """
        with self._lock:
            since_ns = observation.stamp_ns - self._pause_ns
            before = [kept for kept in self._kept if since_ns <= kept.stamp_ns < observation.stamp_ns] or [observation]

        def nearest(step: int) -> Observation:
            if step == 0:
                return observation
            time_ns = observation.stamp_ns + step * self._step_ns
            return min(before, key=lambda kept: abs(kept.stamp_ns - time_ns))

        return tuple(map(nearest, steps))
