"""Notices at run time that a policy is about to fail: its plans contradict each other, or it sees what it never saw.

Two scores, each inference, from what the policy computes anyway:

- consistency: how far the new chunk is from the last one where both plan, each row and component over what is usual
  there (the statistical distance of STAC, Agia et al. 2024, for a policy without noise). Absolute values, not squares:
  a single jump, as at a grasp, weighs little;
- novelty: the Mahalanobis distance of the policy's own embedding from those of successful episodes, in their principal
  components, with the rest of the space as one more (probabilistic PCA, Tipping and Bishop 1999).

Each is averaged over its window of the last inferences. The thresholds are conformal, see `conformal`.
A detector decides nothing about safety: it can slow or stop a policy, never permit anything. No ROS in it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from tendon.core.errors import ConfigError, InvalidDataError
from tendon.core.types import Array, freeze
from tendon.safety.response import Response

SCORES = ("consistency", "novelty")
LEAK = 0.25
SHIFTS = 5
NUMBERS = ("row_scale", "centre", "basis", "variance")


@dataclass(frozen=True, kw_only=True)
class Escalation:
    """How alarms become a response: each slows, some hold for a while, and only what is far beyond an alarm stops.

    A count goes up by one with each inference with an alarm, and down by `LEAK` with each without. A robot that is held
    sees the same picture again and again, so a hold on alarms alone ends by itself: slowly, it goes on.

    Attributes:
        hold_after: count from which an alarm holds.
        hold_for: how much further the count goes until it slows again.
        stop_after: inferences in a row above a stop threshold that stop.
    """

    hold_after: int = 5
    hold_for: int = 5
    stop_after: int = 10

    def __post_init__(self) -> None:
        for name in ("hold_after", "hold_for", "stop_after"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} is {getattr(self, name)}, must be at least 1 inference")


@dataclass(frozen=True, kw_only=True, eq=False)
class Calibration:
    """What a detector knows of successful episodes. E numbers of an embedding, K principal components.

    Attributes:
        row_scale: (T, C) usual absolute difference of a chunk's row from what the last chunk planned for that time [m].
        centre: (E,) mean embedding.
        basis: (E, K) orthonormal principal directions.
        variance: (K + 1,) along each of them, and, last, along each of the E - K others.
        windows: of each of `SCORES`, how many inferences it is averaged over.
        thresholds: likewise; above it is an alarm.
        escalation: from alarms to a response.
        stop_thresholds: of some of `SCORES`; a score that stays above it stops. Empty: nothing does.

    Raises:
        ConfigError: a threshold is missing or not positive, a stop is easier than an alarm, or a window is below 1.
        InvalidDataError: shapes do not fit, or a number is not finite.
    """

    row_scale: Array
    centre: Array
    basis: Array
    variance: Array
    windows: dict[str, int]
    thresholds: dict[str, float]
    escalation: Escalation = Escalation()
    stop_thresholds: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "row_scale", freeze("row_scale", self.row_scale, (None, None)))
        object.__setattr__(self, "centre", freeze("centre", self.centre, (None,)))
        object.__setattr__(self, "basis", freeze("basis", self.basis, (len(self.centre), None)))
        object.__setattr__(self, "variance", freeze("variance", self.variance, (self.basis.shape[1] + 1,)))
        for name in ("row_scale", "variance"):
            if getattr(self, name).min() <= 0:
                raise InvalidDataError(f"{name} of the detector has {getattr(self, name).min()}: all must be positive")
        if set(self.thresholds) != set(SCORES) or not all(0 < value < np.inf for value in self.thresholds.values()):
            raise ConfigError(f"detector thresholds are {self.thresholds}, must be positive, of {', '.join(SCORES)}")
        for name, stop in self.stop_thresholds.items():
            if name not in SCORES or not self.thresholds[name] <= stop < np.inf:
                raise ConfigError(
                    f"detector stop threshold of {name} is {stop}, must be at least that of an alarm, "
                    f"{self.thresholds.get(name)}, of one of {', '.join(SCORES)}"
                )
        if set(self.windows) != set(SCORES) or not all(isinstance(n, int) and n >= 1 for n in self.windows.values()):
            raise ConfigError(
                f"detector windows are {self.windows}, must be at least 1 inference, of {', '.join(SCORES)}"
            )


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan:
    """A chunk as the detector compares it: (T, C) targets [m], row 0 due at `start_ns`."""

    start_ns: int
    step_ns: int
    targets: Array


@dataclass(frozen=True, kw_only=True)
class Assessment:
    """What the detector makes of one inference.

    Attributes:
        response: what to ask for.
        reason: why, in words; empty when the response is full.
        scores: name to value, averaged over the window.
        alarms: which of them are above their threshold.
    """

    response: Response = Response.FULL
    reason: str = ""
    scores: dict[str, float]
    alarms: tuple[str, ...] = ()

    def ratio(self, thresholds: dict[str, float]) -> float:
        """Returns the largest score over its threshold: above 1 is an alarm."""
        return max(self.scores[name] / thresholds[name] for name in SCORES)


class Detector:
    """Scores one inference after the other. One instance a thread.

    Args:
        calibration: of the policy that is watched.
    """

    def __init__(self, calibration: Calibration) -> None:
        self.calibration = calibration
        self.reset()

    def reset(self) -> None:
        """Forgets the last chunk and all alarms: for a new episode, or when the robot was armed anew."""
        self._last: Plan | None = None
        self._instruction: str | None = None
        self._recent = {name: deque[float](maxlen=self.calibration.windows[name]) for name in SCORES}
        self._count = 0.0
        self._far = dict.fromkeys(self.calibration.stop_thresholds, 0)

    def update(
        self,
        *,
        start_ns: int,
        step_ns: int,
        targets: Array,
        given: int,
        embedding: Array,
        instruction: str,
        slowed: bool = False,
    ) -> Assessment:
        """Takes one inference and returns what to make of it.

        A new instruction is a new plan: it is not compared with the last one, whose contradictions are forgotten.

        Args:
            start_ns: when row 0 of the chunk is due.
            step_ns: time between rows.
            targets: (T, C) tool position in the base frame and finger position of each row [m].
            given: leading rows that continue the running plan; they are not compared.
            embedding: (E,) of the policy.
            instruction: the task.
            slowed: the robot was slowed or held since the last inference, so that its plan may be late by as much
                as the time between the two; being late is then no contradiction.

        Raises:
            InvalidDataError: shapes are not those of the calibration.
        """
        known = self.calibration
        if targets.shape != known.row_scale.shape or embedding.shape != known.centre.shape:
            raise InvalidDataError(
                f"detector got targets {targets.shape} and an embedding {embedding.shape}, was calibrated on "
                f"{known.row_scale.shape} and {known.centre.shape}: "
                "run `tendon policy calibrate-detector` for this policy"
            )
        if instruction != self._instruction:
            self._last, self._instruction = None, instruction
            self._recent["consistency"].clear()
        plan = Plan(start_ns=start_ns, step_ns=step_ns, targets=targets)
        distance = chunk_distance(self._last, plan, given, known.row_scale, slowed)
        self._last = plan
        if distance is not None:
            self._recent["consistency"].append(distance)
        self._recent["novelty"].append(novelty(embedding, known))
        scores = {name: sum(values) / known.windows[name] for name, values in self._recent.items()}
        alarms = tuple(name for name in SCORES if scores[name] > known.thresholds[name])
        self._count = self._count + 1 if alarms else max(self._count - LEAK, 0.0)
        for name, stop in known.stop_thresholds.items():
            self._far[name] = self._far[name] + 1 if scores[name] > stop else 0
        return Assessment(
            response=self._response(bool(alarms)), reason=self._reason(scores, alarms), scores=scores, alarms=alarms
        )

    def _response(self, alarm: bool) -> Response:
        levels = self.calibration.escalation
        if max(self._far.values(), default=0) >= levels.stop_after:
            return Response.STOP
        if not alarm:
            return Response.FULL
        held = levels.hold_after <= self._count < levels.hold_after + levels.hold_for
        return Response.HOLD if held else Response.SLOW

    def _reason(self, scores: dict[str, float], alarms: tuple[str, ...]) -> str:
        meaning = {"consistency": "successive plans contradict each other", "novelty": "the policy sees something new"}
        said = [
            f"{meaning[name]} ({name} {scores[name]:.2f} > {self.calibration.thresholds[name]:.2f})" for name in alarms
        ]
        return f"{' and '.join(said)}, alarm {self._count:.0f}" if said else ""


def chunk_distance(last: Plan | None, new: Plan, given: int, row_scale: Array, slowed: bool = False) -> float | None:
    """Returns the mean absolute difference of two chunks where both plan, over what is usual there: about 1.

    Args:
        last: the chunk before, if there is one.
        new: the new one.
        given: leading rows of `new` that are left out.
        row_scale: (T, C) usual difference, by row of `new`.
        slowed: take the least difference over delays of the last plan, up to the time between the two.

    Returns:
        `None` where they do not overlap.
    """
    if last is None:
        return None
    lag_ns = max(new.start_ns - last.start_ns, 0)
    delays_ns = np.linspace(0, lag_ns, SHIFTS).astype(np.int64) if slowed else [0]
    distances = []
    for delay_ns in delays_ns:
        change, rows = overlap_change(replace(last, start_ns=last.start_ns + int(delay_ns)), new, given)
        if len(rows):
            distances.append(float(np.mean(np.abs(change) / row_scale[rows])))
    return min(distances, default=None)


def overlap_change(last: Plan, new: Plan, given: int) -> tuple[Array, npt.NDArray[np.int64]]:
    """Returns (k, C) new minus last targets, the last linear between rows, and the (k,) rows of `new` they are of."""
    times = new.start_ns + new.step_ns * np.arange(len(new.targets))
    place = (times - last.start_ns) / last.step_ns
    rows = np.flatnonzero((np.arange(len(times)) >= given) & (place >= 0) & (place <= len(last.targets) - 1))
    before = np.minimum(place[rows].astype(np.int64), len(last.targets) - 2)
    share = (place[rows] - before)[:, None]
    planned = (1 - share) * last.targets[before] + share * last.targets[before + 1]
    return np.asarray(new.targets[rows] - planned), rows


def novelty(embedding: Array, known: Calibration) -> float:
    """Returns the Mahalanobis distance of an embedding, over the root of its size: about 1 for what is usual."""
    away = embedding - known.centre
    along = away @ known.basis
    others = max(float(away @ away - along @ along), 0.0)
    squared = float(np.sum(along**2 / known.variance[:-1])) + others / known.variance[-1]
    return float(np.sqrt(squared / len(away)))
