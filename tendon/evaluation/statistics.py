"""Honest numbers from few episodes."""

from __future__ import annotations

import math
from dataclasses import dataclass

Z_95 = 1.959963984540054


@dataclass(frozen=True, kw_only=True)
class Proportion:
    """A success rate with its 95 % Wilson score interval (Wilson 1927).

    Attributes:
        successes: how many succeeded.
        total: of how many.
        lower: of the interval.
        upper: of the interval.
    """

    successes: int
    total: int
    lower: float
    upper: float

    @property
    def rate(self) -> float:
        """Successes over total."""
        return self.successes / self.total

    def __str__(self) -> str:
        return (
            f"{100 * self.rate:.1f} % [{100 * self.lower:.1f}, {100 * self.upper:.1f}] ({self.successes}/{self.total})"
        )


def wilson(successes: int, total: int) -> Proportion:
    """Returns the rate of `successes` in `total` with its interval.

    Raises:
        ValueError: no episodes, or more successes than episodes.
    """
    if not 0 <= successes <= total or total == 0:
        raise ValueError(f"{successes} successes of {total} episodes: need 0 <= successes <= total and total > 0")
    rate, z2 = successes / total, Z_95**2
    centre = (rate + z2 / (2 * total)) / (1 + z2 / total)
    half = Z_95 / (1 + z2 / total) * math.sqrt(rate * (1 - rate) / total + z2 / (4 * total**2))
    return Proportion(successes=successes, total=total, lower=max(0.0, centre - half), upper=min(1.0, centre + half))
