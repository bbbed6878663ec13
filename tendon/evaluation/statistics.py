"""Honest numbers from few episodes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tendon.core.checks import check_number
from tendon.core.errors import ConfigError

Z_95 = 1.959963984540054
HALVINGS = 50
"""Of a way between two differences, until an end of an interval is found."""


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

    Examples:
        >>> print(wilson(9, 10))
        90.0 % [59.6, 98.2] (9/10)
    """
    if not 0 <= successes <= total or total == 0:
        raise ValueError(f"{successes} successes of {total} episodes: need 0 <= successes <= total and total > 0")
    rate, z2 = successes / total, Z_95**2
    centre = (rate + z2 / (2 * total)) / (1 + z2 / total)
    half = Z_95 / (1 + z2 / total) * math.sqrt(rate * (1 - rate) / total + z2 / (4 * total**2))
    # Rounding may put an end inside the rate where all or none succeeded: an error bar of negative length.
    lower, upper = min(max(0.0, centre - half), rate), max(min(1.0, centre + half), rate)
    return Proportion(successes=successes, total=total, lower=lower, upper=upper)


def check_bound(name: str, rate: object) -> None:
    """Wants a rate that episodes can show: more than 0 and less than 1.

    Raises:
        ConfigError: it is none.
    """
    check_number(name, rate, above=0)
    if isinstance(rate, int | float) and rate >= 1:
        raise ConfigError(f"{name} is {rate!r}: no number of episodes shows a rate of 1, take less, such as 0.9")


def doubt_of(success: Proportion, at_least: float) -> str:
    """Returns why it is not shown that the true rate is at least so much; empty when the whole interval is.

    A bound is inside a Wilson interval as long as |rate - bound| <= z sqrt(bound (1 - bound) / total): so many episodes
    are needed to tell them apart.

    Args:
        success: what was counted.
        at_least: between 0 and 1.

    Raises:
        ConfigError: `at_least` is not between 0 and 1.
    """
    check_bound("at_least", at_least)
    if success.lower >= at_least:
        return ""
    shown = f"{success} succeeded"
    if success.upper < at_least:
        return f"{shown}: that is less than {100 * at_least:g} %"
    apart = abs(success.rate - at_least)
    needed = math.inf if apart == 0 else math.ceil(Z_95**2 * at_least * (1 - at_least) / apart**2)
    if needed == math.inf:
        return f"{shown}: no number of episodes tells whether that is at least {100 * at_least:g} %"
    side = "at least" if success.rate > at_least else "less than"
    return (
        f"{shown}: too few to tell whether that is at least {100 * at_least:g} %; with the same rate {needed} episodes "
        f"would show that it is {side} that"
    )


def spread(values: Iterable[float]) -> dict[str, float | int | None]:
    """Returns count, p50, p99 and max of some numbers; all but the count are None when there are none."""
    array = np.array(list(values), dtype=np.float64)
    if not len(array):
        return {"count": 0, "p50": None, "p99": None, "max": None}
    p50, p99, most = np.percentile(array, [50, 99, 100])
    return {"count": len(array), "p50": round(p50, 3), "p99": round(p99, 3), "max": round(most, 3)}


@dataclass(frozen=True, kw_only=True)
class Difference:
    """How two ways did on the same cases, with a 95 % interval of the difference of their rates.

    Attributes:
        both, first, second, neither: cases in which both, only one, or none succeeded.
        lower: of the interval of (rate of the second) - (rate of the first).
        upper: of it.
    """

    both: int
    first: int
    second: int
    neither: int
    lower: float
    upper: float

    @property
    def difference(self) -> float:
        """Rate of the second less that of the first."""
        return (self.second - self.first) / (self.both + self.first + self.second + self.neither)

    def __str__(self) -> str:
        return f"{100 * self.difference:+.1f} points [{100 * self.lower:+.1f}, {100 * self.upper:+.1f}]"


def paired_difference(first: Sequence[bool], second: Sequence[bool]) -> Difference:
    """Returns how the second of two ways compares on the same cases, with Tango's (1998) score interval.

    Raises:
        ValueError: they have not the same number of cases, or none.
    """
    if len(first) != len(second) or not first:
        raise ValueError(f"{len(first)} and {len(second)} cases: need the same, at least one")
    pairs = list(zip(first, second, strict=True))
    both, only, other = (
        sum(pair == wanted for pair in pairs) for wanted in ((True, True), (True, False), (False, True))
    )
    lower, upper = difference_interval(only, other, len(pairs))
    neither = len(pairs) - both - only - other
    return Difference(both=both, first=only, second=other, neither=neither, lower=lower, upper=upper)


def difference_interval(first: int, second: int, total: int) -> tuple[float, float]:
    """Returns the 95 % interval of (rate of the second) - (rate of the first) on the same cases (Tango 1998).

    It holds the differences that a score test does not reject. Where no case tells them apart it is as wide as that
    many cases leave it, unlike the intervals of Wald's kind.

    Args:
        first: cases that only the first did.
        second: cases that only the second did.
        total: of all cases.
    """

    def score(difference: float) -> float:
        """Of the test that this is the true difference: what was seen less that, in standard deviations."""
        b = (2 * total - second + first) * difference - second - first
        c = -first * difference * (1 - difference)
        only_first = (math.sqrt(max(0.0, b * b - 8 * total * c)) - b) / (4 * total)
        variance = total * (2 * only_first + difference * (1 - difference))
        return (second - first - total * difference) / math.sqrt(variance) if variance > 0 else 0.0

    def end(outside: float) -> float:
        inside = (second - first) / total
        for _ in range(HALVINGS):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if abs(score(middle)) <= Z_95 else (inside, middle)
        return outside

    return end(-1.0), end(1.0)
