"""Clocks. Nothing in the control path reads time from anywhere else, so that tests own it."""

from __future__ import annotations

import time
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
