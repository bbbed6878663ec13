"""A progress estimator inside a bundle: how much of the task is done, from what the policy makes of an observation.

A small network on the policy's own embedding that learned from demonstrations how much of their time was over, as
EVOLVE-VLA (2025) has a progress reward without an oracle; ours adds no forward pass of a large model. It tells of what
it sees: that a task is done is for a simulator's check, or for a person, to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any

import numpy as np
import yaml

from tendon.core.config import build
from tendon.core.errors import IntegrityError, MismatchError
from tendon.core.fields import Range, check_fields
from tendon.core.types import Array, freeze
from tendon.core.yaml_text import parse_yaml
from tendon.policies.bundle.bundle import Bundle
from tendon.policies.engines.engine import Engine
from tendon.policies.engines.loading import load_graph

ESTIMATOR_FILES = ESTIMATOR_FILE, ESTIMATOR_GRAPH = "progress.yaml", "progress.onnx"
SEEN, PROGRESS = "seen", "progress"
"""Input (1, O) and output (1, 1) of the graph, both float32."""
FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class EstimatorRecord:
    """All of `progress.yaml`.

    Attributes:
        format: version of this layout.
        model_sha256: of the ONNX graph whose embedding it reads; another one is refused.
        seen: O, how many numbers it takes.
        learned_from: for people: episodes, and how far off it is on those held back.
    """

    format: Annotated[int, Range(least=FORMAT, most=FORMAT)] = FORMAT
    model_sha256: str
    seen: Annotated[int, Range(least=1)]
    learned_from: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_fields(self, ESTIMATOR_FILE)


class ProgressEstimator:
    """Estimates how much of a task is done. Not thread-safe.

    Args:
        graph: content of `progress.onnx`.
        seen: O.

    Raises:
        IntegrityError: it is no ONNX graph.
        MismatchError: it has other inputs or outputs.
    """

    def __init__(self, graph: bytes, seen: int) -> None:
        try:
            self._graph = load_graph({ESTIMATOR_GRAPH: graph}, ESTIMATOR_GRAPH, Engine("cpu"), threads=1)
        except IntegrityError as error:
            raise IntegrityError(f"{error}; or run `tendon policy train-progress` again") from error
        self._seen = seen
        inputs, outputs = self._graph.inputs, self._graph.outputs
        if set(inputs) != {SEEN} or set(outputs) != {PROGRESS} or inputs[SEEN].shape != (1, seen):
            raise MismatchError(
                f"{ESTIMATOR_GRAPH} has inputs {dict(inputs)} and outputs {sorted(outputs)}, expected {SEEN} of (1, "
                f"{seen}) and {PROGRESS}: run `tendon policy train-progress` again"
            )

    def estimate(self, state: Array, points: Array | None, embedding: Array | None) -> float:
        """Returns how much of the task is done, 0 to 1.

        Args:
            state: (S,) normalised, as the policy is told it.
            points: (2, 3) places that the policy points at; `None` where it tells none.
            embedding: (E,) of the policy.

        Raises:
            MismatchError: these are not as many numbers as it was trained on.
            InvalidDataError: its answer is not finite.
        """
        seen = seen_by_estimator(state, points, embedding)
        if len(seen) != self._seen:
            raise MismatchError(
                f"the progress estimator takes {self._seen} numbers, the policy tells {len(seen)}: "
                "run `tendon policy train-progress` for this policy"
            )
        answer = self._graph.run({SEEN: seen[None].astype(np.float32)})[PROGRESS]
        return float(np.clip(freeze("progress (of the estimator's answer)", answer, (1, 1))[0, 0], 0.0, 1.0))


def seen_by_estimator(state: Array, points: Array | None, embedding: Array | None) -> Array:
    """Returns (O,) what an estimator sees, in this order: state, points, embedding."""
    parts = [state, np.zeros(0) if points is None else points.ravel(), np.zeros(0) if embedding is None else embedding]
    return np.concatenate(parts)


def estimator_files(bundle: Bundle, graph: bytes, seen: int, learned_from: Mapping[str, Any]) -> dict[str, bytes]:
    """Returns the two files of an estimator of a bundle's policy, by name; arguments as in `EstimatorRecord`."""
    record = EstimatorRecord(model_sha256=bundle.model_sha256, seen=seen, learned_from=learned_from)
    return {ESTIMATOR_FILE: yaml.safe_dump(asdict(record), sort_keys=False).encode(), ESTIMATOR_GRAPH: graph}


def without_estimator(bundle: Bundle) -> Bundle:
    """Returns a bundle as it is without its estimator, whatever that is worth."""
    content = {name: data for name, data in bundle.content.items() if name not in ESTIMATOR_FILES}
    return replace(bundle, content=content)


def load_estimator(bundle: Bundle) -> ProgressEstimator | None:
    """Returns the estimator that a verified bundle holds, or `None` when it holds none.

    Raises:
        ConfigError: `progress.yaml` is malformed.
        IntegrityError: its graph is missing or cannot be read.
        MismatchError: it was trained on another model.
    """
    if ESTIMATOR_FILE not in bundle.content:
        return None
    record = build(EstimatorRecord, ESTIMATOR_FILE, parse_yaml(bundle.content[ESTIMATOR_FILE], ESTIMATOR_FILE))
    bundle.check_model(ESTIMATOR_FILE, record.model_sha256, "tendon policy train-progress")
    if ESTIMATOR_GRAPH not in bundle.content:
        raise IntegrityError(f"{ESTIMATOR_GRAPH} is missing: run `tendon policy train-progress` again")
    return ProgressEstimator(bundle.content[ESTIMATOR_GRAPH], record.seen)
