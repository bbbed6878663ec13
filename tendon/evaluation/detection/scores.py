"""How good a failure detector is: ranking of failures (ROC), how early it is, how often it is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tendon.core.types import Array
from tendon.evaluation.detection.tracing import Traced
from tendon.policies.detector.conformal import assess
from tendon.policies.detector.detector import SCORES, Calibration
from tendon.safety.response import Response

COMBINED = "both"


@dataclass(frozen=True, kw_only=True, eq=False)
class Judged:
    """An episode and what the detector made of it. Of one with two tasks, scores and times are of the second.

    Attributes:
        traced: the episode.
        asked_s: (N,) when each inference looked, from when the task was asked for.
        scores: (N,) of each of `SCORES`, and `COMBINED`, the largest score over its threshold.
        first_alarm_s: when the first alarm came, from then; by score and combined, `None` for never.
        alarm: whether one came at all, in the first task too.
        strictest: response, likewise.
    """

    traced: Traced
    asked_s: Array
    scores: dict[str, Array]
    first_alarm_s: dict[str, float | None]
    alarm: bool
    strictest: Response

    @property
    def lead_s(self) -> float | None:
        """How long before the end of the episode the first alarm came."""
        first = self.first_alarm_s[COMBINED]
        return None if first is None else self.traced.episode.duration_s - first

    def largest(self, score: str, before_s: float = np.inf) -> float:
        """Returns the largest value of a score, until a time from when the task was asked for."""
        return float(self.scores[score][self.asked_s < before_s].max())


def judge(traced: Traced, calibration: Calibration) -> Judged:
    """Returns what a detector makes of an episode. Only the time since it began counts, never how it ended."""
    assessments = assess(traced.trace, calibration)
    scores = {name: np.array([a.scores[name] for a in assessments]) for name in SCORES}
    thresholds = {**calibration.thresholds, COMBINED: 1.0}
    scores[COMBINED] = np.max([scores[name] / thresholds[name] for name in SCORES], axis=0)
    alarm = bool(scores[COMBINED].max() > 1.0)
    asked_s = (traced.observed_ns - traced.asked_ns) * 1e-9
    scores, asked_s = {name: values[asked_s >= 0] for name, values in scores.items()}, asked_s[asked_s >= 0]
    first: dict[str, float | None] = {}
    for name, values in scores.items():
        above = np.flatnonzero(values > thresholds[name])
        first[name] = float(asked_s[above[0]]) if len(above) else None
    return Judged(
        traced=traced,
        asked_s=asked_s,
        scores=scores,
        first_alarm_s=first,
        alarm=alarm,
        strictest=max(a.response for a in assessments),
    )


def roc(failed: Sequence[float] | Array, good: Sequence[float] | Array) -> tuple[Array, Array, float]:
    """Returns false-alarm rates, detected shares and the area under them, of "failure when the score is above".

    The area is the probability that a failed episode scores above a good one, ties counting half (Hanley and McNeil
    1982).
    """
    high, low = np.asarray(failed, dtype=np.float64), np.asarray(good, dtype=np.float64)
    levels = np.concatenate([[np.inf], np.unique(np.concatenate([high, low]))[::-1]])
    false_alarms = np.array([(low >= level).mean() for level in levels])
    detected = np.array([(high >= level).mean() for level in levels])
    area = np.mean((high[:, None] > low) + 0.5 * (high[:, None] == low))
    return false_alarms, detected, float(area)


def area_interval(failed: Sequence[float], good: Sequence[float], repeats: int = 500) -> tuple[float, float]:
    """Returns the 95 % percentile bootstrap interval of the area under the ROC curve."""
    rng = np.random.default_rng(0)
    high, low = np.asarray(failed), np.asarray(good)
    areas = []
    for _ in range(repeats):
        a, b = rng.choice(high, len(high)), rng.choice(low, len(low))
        areas.append(np.mean((a[:, None] > b) + 0.5 * (a[:, None] == b)))
    lower, upper = np.percentile(areas, [2.5, 97.5])
    return float(lower), float(upper)
