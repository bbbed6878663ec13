"""Clocks. Nothing in the control path reads time from anywhere else, so that tests own it."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import Protocol


class Clock(Protocol):
    """A monotonic source of time in nanoseconds."""

    def now_ns(self) -> int:
        """Returns the time now."""

    def sleep_until_ns(self, deadline_ns: int) -> None:
        """Blocks until `now_ns() >= deadline_ns`; returns at once when that is past."""


class SteadyClock:
    """`CLOCK_MONOTONIC`: never jumps with the wall clock; the same in all processes of one machine."""

    def now_ns(self) -> int:
        """Returns nanoseconds since boot."""
        return time.monotonic_ns()

    def sleep_until_ns(self, deadline_ns: int) -> None:
        """Sleeps to an absolute deadline, so that a loop does not drift."""
        while (left := deadline_ns - time.monotonic_ns()) > 0:
            time.sleep(left * 1e-9)


class ManualClock:
    """A clock that a test or a lock-step simulation moves by hand."""

    def __init__(self, start_ns: int = 0) -> None:
        self._now_ns = start_ns

    def now_ns(self) -> int:
        """Returns the time that was set last."""
        return self._now_ns

    def sleep_until_ns(self, deadline_ns: int) -> None:
        """Moves the clock to the deadline: in lock-step, waiting is what makes time pass."""
        self._now_ns = max(self._now_ns, deadline_ns)

    def advance_ns(self, step_ns: int) -> None:
        """Moves the clock forward.

        Raises:
            ValueError: `step_ns` is negative; this clock is monotonic too.
        """
        if step_ns < 0:
            raise ValueError(f"step_ns is {step_ns}: a monotonic clock does not go back")
        self._now_ns += step_ns


@dataclass(frozen=True, kw_only=True)
class Sleep:
    """A time in which a process did not run: from `begin_ns` to `end_ns` on the clock it was measured with."""

    begin_ns: int
    end_ns: int


class AwakeClock:
    """Another clock without the times in which this process did not run. Any thread.

    A process that was held up finds everything it knows old when it wakes up, although what came meanwhile waits in
    its queues. On this clock an age counts only what the process could have noticed. It has to be read at least once
    every `period_ns`; a longer gap than `allowed_ns` between two looks was a sleep. It never goes back: a simulated
    clock that does so stands still here meanwhile, and no age becomes negative.

    Args:
        clock: the other clock.
        period_ns: longest time between two looks of a process that runs.
        allowed_ns: longest gap that is no sleep yet.
        longest_ns: a longer gap is not forgiven: whoever sleeps that long knows nothing any more.
    """

    def __init__(self, clock: Clock, period_ns: int, allowed_ns: int, longest_ns: int) -> None:
        self._clock, self._period_ns, self._allowed_ns, self._longest_ns = clock, period_ns, allowed_ns, longest_ns
        self._lock = threading.Lock()
        self._asleep_ns = 0
        self._last_ns = clock.now_ns()
        self._sleeps: deque[Sleep] = deque(maxlen=16)
        self._gaps: deque[tuple[int, int]] = deque(maxlen=16)

    def now_ns(self) -> int:
        """Returns the time now, less all sleeps."""
        with self._lock:
            now_ns, last_ns = self._clock.now_ns(), self._last_ns
            self._last_ns = now_ns
            if now_ns < last_ns:
                self._asleep_ns -= last_ns - now_ns
            elif last_ns and self._allowed_ns < now_ns - last_ns <= self._longest_ns:
                self._asleep_ns += now_ns - last_ns - self._period_ns
                awake_ns = now_ns - self._asleep_ns
                self._gaps.append((last_ns, now_ns))
                self._sleeps.append(Sleep(begin_ns=awake_ns - (now_ns - last_ns), end_ns=awake_ns))
            return now_ns - self._asleep_ns

    def sleeps(self, since_ns: int) -> tuple[Sleep, ...]:
        """Returns the sleeps that ended after a time of this clock; each is as long as it was on the other clock."""
        with self._lock:
            return tuple(sleep for sleep in self._sleeps if sleep.end_ns >= since_ns)

    def slept_ns(self, begin_ns: int, end_ns: int) -> int:
        """Returns for how long it slept between two times of the other clock."""
        with self._lock:
            return sum(max(0, min(end_ns, end) - max(begin_ns, begin)) for begin, end in self._gaps)
