"""Picks the better part of a dataset, and says why the rest was left."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tendon.data.quality.measures import EpisodeQuality, peers

FAULTS = {
    "it failed": lambda each: each.outcome in ("failure", "incomplete"),
    "frames are missing": lambda each: each.gaps > 0,
    "it is dark": lambda each: each.dark > 0.1,
    "a camera stood still while the robot moved": lambda each: each.frozen > 0.5,
    "other instructions fit better than its own": lambda each: each.otherwise > 0.25,
}
"""What leaves an episode out, whatever else it is."""
WEIGHTS = {"disagreement": 1.0, "divergence": 1.0, "jerk": 0.5, "idle": 0.5, "path": 0.5, "seconds": 0.25}
WORDS = {
    "disagreement": "is far from what the policy would do",
    "divergence": "does other things than its neighbours in the same states",
    "jerk": "is jerky",
    "idle": "stands still for long",
    "path": "goes a long way round",
    "seconds": "takes long",
}


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What becomes of an episode.

    Attributes:
        number: of it.
        kept: whether it is picked.
        score: how much worse it is than the median of its peers, in robust standard deviations; smaller is better.
        why: in words.
    """

    number: int
    kept: bool
    score: float
    why: str


def curate(episodes: Sequence[EpisodeQuality], share: float) -> list[Verdict]:
    """Returns a verdict on each episode; of each group of `peers` a share is kept: the best scores without a fault.

    A score is a weighted sum of how much an episode is above the median of its peers (`WEIGHTS`).
    """
    verdicts = []
    for group in peers([each.task for each in episodes]):
        members = [episodes[k] for k in group]
        parts = {name: _above([getattr(each, name) for each in members]) for name in WEIGHTS}
        scores = [sum(WEIGHTS[name] * parts[name][k] for name in WEIGHTS) for k in range(len(members))]
        faults = [next((words for words, found in FAULTS.items() if found(each)), "") for each in members]
        room = max(1, math.floor(share * len(members) + 0.5))
        order = sorted((k for k in range(len(members)) if not faults[k]), key=lambda k: scores[k])
        for k, each in enumerate(members):
            kept = k in order[:room]
            worst = max(WEIGHTS, key=lambda name: WEIGHTS[name] * parts[name][k])
            why = faults[k] or (f"it {WORDS[worst]}" if WEIGHTS[worst] * parts[worst][k] > 0.5 else "others are better")
            verdicts.append(Verdict(number=each.number, kept=kept, score=round(scores[k], 2), why="" if kept else why))
    return sorted(verdicts, key=lambda each: each.number)


def _above(values: Sequence[float]) -> list[float]:
    """Returns how far values are above their median, in robust standard deviations; 0 for NaN."""
    array = np.nan_to_num(np.array(values, dtype=np.float64), nan=float(np.nanmedian([*values, 0.0])))
    middle = float(np.median(array))
    spread = max(1.4826 * float(np.median(np.abs(array - middle))), 0.05 * abs(middle), 1e-6)
    return np.clip((array - middle) / spread, 0.0, 10.0).tolist()
