"""How long an inference takes, from the observation to its chunk: what to plan for."""

from __future__ import annotations

from collections import deque

import numpy as np


class DelayEstimator:
    """The delay to plan for: a percentile of the last measured ones. Called from one thread.

    Args:
        window: how many measurements count.
        percentile: of them, 0 to 100.
        warm_up: how many measurements at the start are left out.
        expected_ns: the estimate before the first measurement, such as what a run of the policy took when it was
            warmed up; `None` when nothing is known.
    """

    def __init__(
        self, window: int = 50, percentile: float = 95.0, warm_up: int = 1, expected_ns: int | None = None
    ) -> None:
        self._delays_ns: deque[int] = deque(maxlen=window)
        self._percentile = percentile
        self._skip = warm_up
        self._expected_ns = expected_ns

    def add(self, delay_ns: int) -> None:
        """Takes a measured delay. A negative one (the clock was set back) is left out."""
        if self._skip > 0:
            self._skip -= 1
        elif delay_ns >= 0:
            self._delays_ns.append(delay_ns)

    @property
    def delay_ns(self) -> int | None:
        """The estimate, always one of the measured delays or above; what was expected before the first."""
        if not self._delays_ns:
            return self._expected_ns
        return int(np.percentile(self._delays_ns, self._percentile, method="higher"))
