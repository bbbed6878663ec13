"""Whether a residual earns its place: by the outcomes of episodes with it and without it, looked at after each.

A conservative mixture (the idea of StepMix, Li et al. 2023): the residual acts in so large a share of the episodes that
all of them together are expected to lose at most a margin of the base's success rate, whatever the residual is. (A
single run may lose more by luck, and one with evidence from elsewhere that does not hold here does.) The share grows
with what is known for it. What is known are confidence sequences, which hold at all times at once: the mixture
likelihood ratio of a Bernoulli rate under a uniform prior exceeds 1 / alpha with a probability of at most alpha (Ville
1939; Robbins 1970). Old episodes are forgotten (`REMEMBERED`), since robots and scenes change.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field, replace
from typing import Annotated

from tendon.core.errors import ConfigError
from tendon.core.fields import Range, check_fields

MARGIN, ALPHA = 0.1, 0.05
MOST_SHARE = 0.9
"""Some episodes stay without the residual, so that it is known what the base does now."""
PRIOR_EPISODES = 20
"""How many episodes on the robot an evaluation elsewhere counts as, at most: the robot may be different."""
HALVINGS = 40
REMEMBERED = 200
"""Episodes of one kind from which on half are forgotten: a residual that was good for years and turns bad is withdrawn
about as soon as one that was good for a week."""
MOST_EPISODES = 10**9


@dataclass(frozen=True, kw_only=True)
class Tally:
    """Outcomes of episodes of one kind.

    Attributes:
        successes: how many succeeded,
        total: of how many.

    Raises:
        ConfigError: one is no whole number of at least 0, or more succeeded than there were.
    """

    successes: Annotated[int, Range(least=0)] = 0
    total: Annotated[int, Range(least=0, most=MOST_EPISODES)] = 0

    def __post_init__(self) -> None:
        check_fields(self)
        if self.successes > self.total:
            raise ConfigError(f"successes is {self.successes}, must be at most total, {self.total}")

    def and_one(self, success: bool) -> Tally:
        """Returns it with one more episode; where there are `REMEMBERED`, half of them are forgotten first."""
        part = 1.0 if self.total < REMEMBERED else 0.5
        return Tally(successes=round(part * self.successes) + bool(success), total=round(part * self.total) + 1)


@dataclass(frozen=True, kw_only=True)
class Record:
    """What is known of a residual; `evidence` comes with it, the rest is of this robot.

    Attributes:
        base, residual: outcomes here without it and with it, of late.
        withdrawn: why it acts no more; empty while it may.
        limit: most authority that a person left it, 0 (off) to 1.

    Raises:
        ConfigError: the limit is out of range, or the reason no text.
    """

    base: Tally = field(default_factory=Tally)
    residual: Tally = field(default_factory=Tally)
    withdrawn: str = ""
    limit: Annotated[float, Range(least=0.0, most=1.0)] = 1.0

    def __post_init__(self) -> None:
        check_fields(self)
        if not isinstance(self.withdrawn, str):
            raise ConfigError(f"withdrawn is {self.withdrawn!r}, must be a text, empty while the residual may act")


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What an evaluation on scenes that training never saw told: of the base, and of base and residual."""

    base: Tally = field(default_factory=Tally)
    residual: Tally = field(default_factory=Tally)


class ResidualGate:
    """Decides in which episodes a residual acts. Not thread-safe.

    Args:
        record: of earlier sessions.
        evidence: of an evaluation, which only counts until the robot has told better.
        margin: of success rate that may be lost at most, in the mean.
        alpha: probability of withdrawing, ever, a residual that is not worse than the base.
        seed: of the draws.

    Attributes:
        record: with every outcome that was taken.
    """

    def __init__(
        self, record: Record, evidence: Evidence, margin: float = MARGIN, alpha: float = ALPHA, seed: int | None = None
    ) -> None:
        self.record, self._evidence, self._margin, self._alpha = record, evidence, margin, alpha
        self._random = random.Random(seed)

    @property
    def share(self) -> float:
        """Of the episodes that follow, in which the residual acts."""
        if self.record.withdrawn:
            return 0.0
        base = bounds(*_together(self.record.base, self._evidence.base), self._alpha / 2)
        residual = bounds(*_together(self.record.residual, self._evidence.residual), self._alpha / 2)
        return min(MOST_SHARE, self._margin / max(self._margin, base[1] - residual[0]))

    def limit(self, most: float) -> None:
        """Takes note of the most authority that a person leaves it; what came of less says nothing of more."""
        residual = Tally() if most > self.record.limit else self.record.residual
        self.record = replace(self.record, limit=most, residual=residual)

    def draw(self) -> bool:
        """Returns whether it acts in the next episode."""
        return self._random.random() < self.share

    def take(self, acted: bool, success: bool) -> None:
        """Takes the outcome of an episode; withdraws the residual once it is shown to be worse than the base here."""
        base, residual = self.record.base, self.record.residual
        if acted:
            residual = residual.and_one(success)
        else:
            base = base.and_one(success)
        withdrawn = self.record.withdrawn
        most = bounds(residual.successes, residual.total - residual.successes, self._alpha / 2)[1]
        least = bounds(base.successes, base.total - base.successes, self._alpha / 2)[0]
        if not withdrawn and most < least:
            withdrawn = (
                f"{residual.successes} of {residual.total} episodes succeeded with it, {base.successes} of "
                f"{base.total} without it"
            )
        self.record = replace(self.record, base=base, residual=residual, withdrawn=withdrawn)


def _together(here: Tally, elsewhere: Tally) -> tuple[float, float]:
    """Returns successes and failures, those of elsewhere scaled to a few."""
    scale = min(1.0, PRIOR_EPISODES / elsewhere.total) if elsewhere.total else 0.0
    return (
        here.successes + scale * elsewhere.successes,
        here.total - here.successes + scale * (elsewhere.total - elsewhere.successes),
    )


def bounds(successes: float, failures: float, alpha: float) -> tuple[float, float]:
    """Returns the confidence sequence of a rate: it holds the truth at all times with a probability of 1 - alpha.

    Args:
        successes: so far.
        failures: so far.
        alpha: see there.
    """
    total = successes + failures
    if total == 0:
        return 0.0, 1.0
    mixture = math.lgamma(successes + 1) + math.lgamma(failures + 1) - math.lgamma(total + 2)
    least = mixture + math.log(alpha)

    def holds(rate: float) -> bool:
        told = successes * math.log(rate) if successes else 0.0
        told += failures * math.log1p(-rate) if failures else 0.0
        return told >= least

    def end(outside: float) -> float:
        inside = successes / total
        for _ in range(HALVINGS):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if holds(middle) else (inside, middle)
        return outside

    return end(0.0) if successes else 0.0, end(1.0) if failures else 1.0
