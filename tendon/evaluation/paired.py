"""Two policies on the same scenes: which one is better, with an answer that may be looked at after every scene.

Scenes in which both do the same say nothing about which is better. Of the others, each policy wins half when they are
equally good; that is what McNemar's exact test asks once, at the end, and what an e-process asks all along: who bets on
one of two equal policies multiplies his stake by more than 1 / alpha with a probability of at most alpha, however often
he looks (Ville 1939; Ramdas, Grunwald, Vovk and Shafer 2023).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import betaincc, betaln
from scipy.stats import binom, binomtest, norm

from tendon.core.types import Array
from tendon.evaluation.statistics import Difference, Proportion, paired_difference, wilson

ALPHA, POWER = 0.05, 0.8
ALL = "all"
"""All families together."""
LARGEST_BET = 0.75
"""Share of the stake that a bet on progress risks at most."""
TINY = 1e-300
"""Stands for a probability that is too small for a number."""
FIRST_SPREAD = 0.25
"""Variance of differences in progress that is assumed before any was seen."""

SPREADS = 8.0
"""Standard deviations of a count of scenes beyond which nothing is."""


def mcnemar(first: int, second: int) -> float:
    """Returns the two-sided p of McNemar's exact test, which is valid for a number of scenes fixed beforehand.

    Args:
        first: scenes that only the first policy did.
        second: scenes that only the second one did.
    """
    return 1.0 if first + second == 0 else float(binomtest(second, first + second).pvalue)


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What two ways did on the same scenes, a number of them that was fixed beforehand.

    Attributes:
        first, second: how often each succeeded.
        change: from the first to the second.
    """

    first: Proportion
    second: Proportion
    change: Difference

    @property
    def p_value(self) -> float:
        """Of McNemar's exact test."""
        return mcnemar(self.change.first, self.change.second)


def compare(first: Sequence[bool], second: Sequence[bool]) -> Comparison:
    """Returns how the second of two ways compares on the same scenes.

    Raises:
        ValueError: they have not the same number of scenes, or none.
    """
    change = paired_difference(first, second)
    return Comparison(first=wilson(sum(first), len(first)), second=wilson(sum(second), len(second)), change=change)


def compare_families(
    pairs: Iterable[tuple[str, bool, bool]], families: Sequence[str] | None = None
) -> dict[str, Comparison]:
    """Returns how two ways compare in each family of tasks, and in "all".

    Args:
        pairs: of each scene its family, and whether the first and the second did it.
        families: in the order wanted, those without a scene are left out; by default by name.
    """
    found: dict[str, list[tuple[bool, bool]]] = {}
    for family, first, second in pairs:
        for name in (family, ALL):
            found.setdefault(name, []).append((first, second))
    names = sorted(found.keys() - {ALL}) if families is None else families
    return {name: compare(*map(list, zip(*found[name], strict=True))) for name in (*names, ALL) if name in found}


def log_evidence(wins: int, losses: int) -> float:
    """Returns the logarithm of the e-value that who won is better: odds above one half, all as likely beforehand.

    Args:
        wins: scenes that only one policy did.
        losses: scenes that only the other one did.
    """
    total = wins + losses
    above = max(float(betaincc(wins + 1, losses + 1, 0.5)), TINY)
    return float((total + 1) * math.log(2) + betaln(wins + 1, losses + 1) + math.log(above))


@dataclass
class _Bet:
    """A bet that differences have a mean above zero: stakes follow what was seen before (Waudby-Smith, Ramdas 2024)."""

    log_capital: float = 0.0
    best: float = 0.0
    count: int = 1
    total: float = 0.0
    squares: float = FIRST_SPREAD

    def take(self, difference: float) -> None:
        mean, square = self.total / self.count, self.squares / self.count
        stake = min(max(mean / square, 0.0), LARGEST_BET)
        self.log_capital += math.log1p(stake * difference)
        self.best = max(self.best, self.log_capital)
        self.count, self.total, self.squares = self.count + 1, self.total + difference, self.squares + difference**2


@dataclass
class PairedTest:
    """Counts scenes that two policies tried, in an order that no outcome has a part in: that of their seeds.

    Args:
        alpha: probability, over all looks, of naming a better one of two equal policies.

    Attributes:
        both, first, second, neither: scenes that both did, only one did, or none.
    """

    alpha: float = ALPHA
    both: int = 0
    first: int = 0
    second: int = 0
    neither: int = 0
    _evidence: list[float] = field(default_factory=lambda: [0.0, 0.0])
    _bets: tuple[_Bet, _Bet] = field(default_factory=lambda: (_Bet(), _Bet()))

    def take(self, first: bool, second: bool, progress: float = 0.0) -> None:
        """Takes one scene.

        Args:
            first: whether the first policy did it.
            second: whether the second one did.
            progress: of the second one less that of the first, -1 to 1.
        """
        self.both += first and second
        self.first += first and not second
        self.second += second and not first
        self.neither += not (first or second)
        for side, (wins, losses) in enumerate(((self.first, self.second), (self.second, self.first))):
            self._evidence[side] = max(self._evidence[side], log_evidence(wins, losses))
        for bet, sign in zip(self._bets, (-1.0, 1.0), strict=True):
            bet.take(sign * progress)

    @property
    def count(self) -> int:
        """How many scenes were taken."""
        return self.both + self.first + self.second + self.neither

    @property
    def p_value(self) -> float:
        """Valid at any time: of success, two-sided."""
        return _p_value(self._evidence)

    @property
    def progress_p_value(self) -> float:
        """Valid at any time: of progress, two-sided."""
        return _p_value([bet.best for bet in self._bets])

    @property
    def better(self) -> str:
        """Which one does more: "first", "second", or "" while that is not shown."""
        return _better(self._evidence, self.alpha)

    @property
    def further(self) -> str:
        """Which one gets further, likewise."""
        return _better([bet.best for bet in self._bets], self.alpha)


def _p_value(evidence: list[float]) -> float:
    return min(1.0, 2 * math.exp(-max(evidence)))


def _better(evidence: list[float], alpha: float) -> str:
    shown = [value >= math.log(2 / alpha) for value in evidence]
    return "" if not any(shown) else ("first", "second")[int(np.argmax(evidence))]


def planned_scenes(difference: float, discordant: float, alpha: float = ALPHA, power: float = POWER) -> int:
    """Returns how many scenes McNemar's exact test needs to show a difference; the search begins at Connor's (1987).

    Args:
        difference: of the two success rates.
        discordant: share of scenes that one policy does and the other does not; at least the difference.
        alpha: of the test.
        power: probability of showing it.
    """
    at_alpha, at_power = norm.isf(alpha / 2), norm.isf(1 - power)
    spread = at_alpha * math.sqrt(discordant) + at_power * math.sqrt(discordant - difference**2)
    scenes = math.ceil((spread / difference) ** 2)
    while _power(scenes, difference, discordant, alpha) < power:
        scenes += max(1, scenes // 200)
    return scenes


def _power(scenes: int, difference: float, discordant: float, alpha: float) -> float:
    """Returns the probability that McNemar's exact test shows a difference; see `planned_scenes`."""
    differ = np.arange(scenes + 1)
    fewer = binom.ppf(alpha / 2, differ, 0.5)  # of so many, at most, the worse one may have done
    fewer -= binom.cdf(fewer, differ, 0.5) > alpha / 2
    shown = binom.sf(differ - fewer - 1, differ, (discordant + difference) / (2 * discordant))
    return float(binom.pmf(differ, scenes, discordant) @ shown)


def looked_at_scenes(
    difference: float, discordant: float, alpha: float = ALPHA, power: float = POWER
) -> tuple[int, int]:
    """Returns after how many scenes the test that may be looked at all along shows a difference.

    Args:
        difference: see `planned_scenes`.
        discordant: likewise.
        alpha: of the test.
        power: probability of having shown it by the second number.

    Returns:
        With a probability of one half, and of `power`.
    """
    shown = _shown((discordant + difference) / (2 * discordant), alpha, power)

    def scenes(wanted: float) -> int:
        def reached(count: int) -> bool:
            differ = binom.pmf(np.arange(len(shown)), count, discordant) @ shown
            return bool(differ + binom.sf(len(shown) - 1, count, discordant) * shown[-1] >= wanted)

        low, high = 0, 1
        while not reached(high):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if reached(middle) else (middle, high)
        return high

    return scenes(0.5), scenes(power)


def _shown(share: float, alpha: float, power: float) -> Array:
    """Returns the probability that the better one is shown by so many scenes that only one did: (n,), from 0 scenes on.

    The probabilities of all counts of wins that have shown nothing yet go on from scene to scene; the one that shows it
    is taken away.

    Args:
        share: of these scenes that the better one did.
        alpha: of the test.
        power: that is reached well before the end.
    """
    least, enough = math.log(2 / alpha), 1  # wins that are enough: one more than there are scenes is none
    going = np.ones(1)  # by wins
    shown = [0.0]
    end = math.inf
    while len(shown) <= end:
        count = len(shown)
        if log_evidence(enough, count - enough) < least:
            enough += 1
        going = (1 - share) * np.append(going, 0.0) + share * np.append(0.0, going)
        shown.append(shown[-1] + float(going[enough:].sum()))
        going = going[:enough]
        if end == math.inf and shown[-1] >= power:
            end = count + SPREADS * math.sqrt(count)
    return np.array(shown)
