"""Calibrates a detector on successful episodes: what is usual, and thresholds with a promise (split conformal).

Half the episodes say what is usual, the other half set the thresholds, so that these are exchangeable with a new
successful episode. With n such episodes, the threshold of a score is the ceil((n + 1)(1 - a))-th smallest of their
largest scores: a new successful episode exceeds it with probability at most a (Vovk et al. 2005; as in FAIL-Detect, Xu
et al. 2025, without its bands over time). Two scores share alpha evenly (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tendon.core.errors import ConfigError
from tendon.core.types import Array
from tendon.policies.detector.detector import (
    SCORES,
    Assessment,
    Calibration,
    Detector,
    Escalation,
    Plan,
    overlap_change,
)

SMALLEST_SCALE_M = 1e-3
RARE = 0.1
"""A row compared less often than this share of the most compared one borrows the scale of the nearest other row."""
UNREACHABLE = 1e9
WINDOWS = {"consistency": 16, "novelty": 4}
"""A plan may change its mind once, so that is watched for longer; a strange picture is strange at once."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Trace:
    """What a detector needs of one episode of N inferences.

    Attributes:
        start_ns: (N,) when row 0 of each chunk was due.
        step_ns: time between rows.
        targets: (N, T, C) tool position in the base frame and finger position [m].
        given: (N,) leading rows that continued the running plan.
        embeddings: (N, E).
        instructions: (N,) the task of each.
    """

    start_ns: npt.NDArray[np.int64]
    step_ns: int
    targets: Array
    given: npt.NDArray[np.int64]
    embeddings: Array
    instructions: tuple[str, ...]

    def plan(self, k: int) -> Plan:
        """Returns the chunk of inference k."""
        return Plan(start_ns=int(self.start_ns[k]), step_ns=self.step_ns, targets=self.targets[k])


def assess(trace: Trace, calibration: Calibration) -> list[Assessment]:
    """Returns what a fresh detector makes of each inference of an episode."""
    detector = Detector(calibration)
    return [
        detector.update(
            start_ns=int(trace.start_ns[k]),
            step_ns=trace.step_ns,
            targets=trace.targets[k],
            given=int(trace.given[k]),
            embedding=trace.embeddings[k],
            instruction=trace.instructions[k],
        )
        for k in range(len(trace.start_ns))
    ]


def conformal_quantile(values: Sequence[float] | Array, alpha: float) -> float:
    """Returns the ceil((n + 1)(1 - alpha))-th smallest of n values.

    Raises:
        ConfigError: alpha is not inside (0, 1), or too small for so few values.
    """
    if not 0 < alpha < 1:
        raise ConfigError(f"alpha is {alpha}, must be between 0 and 1")
    rank = math.ceil((len(values) + 1) * (1 - alpha) - 1e-9)
    if rank > len(values):
        raise ConfigError(
            f"{len(values)} successful episodes cannot promise a false-alarm rate of {alpha:g}: "
            f"at least {math.ceil(1 / alpha - 1e-9) - 1} are needed beside those that say what is usual; "
            "give more --seeds"
        )
    return float(np.sort(np.asarray(values))[rank - 1])


def calibrate(
    traces: Sequence[Trace],
    alpha: float,
    *,
    components: int = 128,
    windows: dict[str, int] | None = None,
    escalation: Escalation | None = None,
) -> tuple[Calibration, dict[str, Array]]:
    """Returns a calibration from successful episodes, and the largest scores of those that set the thresholds.

    Args:
        traces: of successful episodes, in random order: the first half says what is usual.
        alpha: largest share of successful episodes with any alarm.
        components: principal components kept.
        windows: inferences each score is averaged over; by default `WINDOWS`.
        escalation: from alarms to a response.

    Raises:
        ConfigError: too few episodes for `alpha`.
    """
    half = len(traces) // 2
    usual = _usual(traces[:half], components, windows or WINDOWS, escalation or Escalation())
    largest = largest_scores(traces[half:], usual)
    thresholds = {name: conformal_quantile(largest[name], alpha / len(SCORES)) for name in SCORES}
    return replace(usual, thresholds=thresholds), largest


def stop_thresholds(lasting: dict[str, Array], thresholds: dict[str, float], alpha: float) -> dict[str, float]:
    """Returns what a score must stay above for a stop, so that it ends a share of at most alpha of good episodes.

    Args:
        lasting: (n,) of each score, the `lasting_score` of each of n successful episodes.
        thresholds: of an alarm; a stop is never easier.
        alpha: shared evenly by the scores, as that of alarms is.

    Raises:
        ConfigError: too few episodes for `alpha`.
    """
    return {name: max(conformal_quantile(lasting[name], alpha / len(SCORES)), thresholds[name]) for name in SCORES}


def lasting_score(values: Array, inferences: int) -> float:
    """Returns the largest value that (N,) scores of an episode stay at or above for some inferences in a row.

    0 for an episode that is shorter. A stop threshold below it would have stopped the episode.
    """
    if len(values) < inferences:
        return 0.0
    return float(np.lib.stride_tricks.sliding_window_view(values, inferences).min(axis=1).max())


def largest_scores(traces: Sequence[Trace], calibration: Calibration) -> dict[str, Array]:
    """Returns the largest value of each score in each episode."""
    assessed = [assess(trace, calibration) for trace in traces]
    return {name: np.array([max(a.scores[name] for a in one) for one in assessed]) for name in SCORES}


def _usual(traces: Sequence[Trace], components: int, windows: dict[str, int], escalation: Escalation) -> Calibration:
    if not traces:
        raise ConfigError("no successful episode to calibrate on: give more --seeds")
    rows, changes = traces[0].targets.shape[1], np.zeros(traces[0].targets.shape[1:])
    counts = np.zeros((rows, 1))
    for trace in traces:
        for k in range(1, len(trace.start_ns)):
            if trace.instructions[k] != trace.instructions[k - 1]:
                continue
            before, after = (trace.plan(i) for i in (k - 1, k))
            change, at = overlap_change(before, after, int(trace.given[k]))
            changes[at] += np.abs(change)
            counts[at] += 1
    seen = np.flatnonzero(counts[:, 0] > RARE * counts.max())
    if not len(seen):
        raise ConfigError("no two chunks of the episodes overlap: their rows must outlast the time between inferences")
    scale = changes / np.maximum(counts, 1)
    nearest = seen[np.abs(np.arange(rows)[:, None] - seen).argmin(axis=1)]
    embeddings = np.concatenate([trace.embeddings for trace in traces]).astype(np.float64)
    centre = embeddings.mean(axis=0)
    _, singular, directions = np.linalg.svd(embeddings - centre, full_matrices=False)
    variance = singular**2 / len(embeddings)
    components = min(components, len(variance) - 1)
    rest = max(float(variance[components:].sum()) / (embeddings.shape[1] - components), 1e-9)
    return Calibration(
        row_scale=np.maximum(scale[nearest], SMALLEST_SCALE_M),
        centre=centre,
        basis=directions[:components].T,
        variance=np.append(np.maximum(variance[:components], rest), rest),
        windows=windows,
        thresholds=dict.fromkeys(SCORES, UNREACHABLE),
        escalation=escalation,
    )
