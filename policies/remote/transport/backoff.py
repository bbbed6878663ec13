"""When to try again: later after each failure, and not all robots at the same instant."""

from __future__ import annotations

import random
import time

from tendon.core.errors import RemoteError

FIRST_S, MAX_S = 0.1, 2.0


class WaitingError(RemoteError):
    """It is not yet time to try again; the message has the failure before."""


class Backoff:
    """Waits that double from `FIRST_S` to `MAX_S`, each shortened by up to a half at random. One thread."""

    def __init__(self) -> None:
        self._failures = 0
        self._next_s = 0.0
        self._problem = ""

    def failed(self, error: Exception) -> None:
        """Takes note of a failure: the next attempt has to wait."""
        self._problem = str(error)
        most_s = min(FIRST_S * 2.0**self._failures, MAX_S)
        self._failures = min(self._failures + 1, 16)
        self._next_s = time.monotonic() + most_s * random.uniform(0.5, 1.0)

    def succeeded(self) -> None:
        """Takes note of a success: the next attempt need not wait."""
        self._failures, self._next_s = 0, 0.0

    def check(self) -> None:
        """Raises WaitingError, with the last failure, when it is not yet time to try again."""
        if left_s := self.left_s():
            raise WaitingError(f"{self._problem}; the next attempt is in {left_s:.1f} s")

    def left_s(self) -> float:
        """Returns how long the next attempt has to wait; 0 for not at all."""
        return max(self._next_s - time.monotonic(), 0.0)
