"""Whole chunks of a denoised policy against the source's: the same noise through every step, the schedule included."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tendon.core.errors import IntegrityError
from tendon.core.types import Array
from tendon.policies.engines.graph import Graph
from tendon.policies.parity.graph import CASES_FILE, Case, Row, worst
from tendon.policies.spec.sampling import Diffusion, Flow

NOISE = "noise"
"""Of a case: (1, T, M) what denoising starts from."""
STEP_NOISE = "step_noise"
"""Of a case, where the schedule is stochastic: (K, T, M) what it draws on its way, in that order."""
CHUNK = "chunk"
"""Of a case: (1, T, M) what the source denoises them to."""


def measure_chunks(
    schedule: Flow | Diffusion,
    context: Graph,
    name: str,
    denoise: Graph,
    cases: Sequence[Case],
    *,
    precision: str,
    bound: float,
) -> tuple[Row, ...]:
    """Denoises the cases that hold a chunk and returns how far the answers are off, as a row or none.

    Args:
        schedule: of the manifest.
        context: graph that takes the observation.
        name: file of the other graph.
        denoise: that graph.
        cases: see `parity`, with what is named above.
        precision: of the run.
        bound: on the relative error.
    """
    known = [case for case in cases if CHUNK in case]
    if not known:
        return ()
    found = [denoised(schedule, context, denoise, case)[None] for case in known]
    return (worst(name, CHUNK, [case[CHUNK] for case in known], found, denoise.engine, precision, bound),)


def denoised(schedule: Flow | Diffusion, context: Graph, denoise: Graph, case: Case) -> Array:
    """Returns the (T, M) chunk of a case."""
    answer = context.run({name: case[name] for name in context.inputs})
    known = {name: answer[name] for name in denoise.inputs if name not in ("x", "time")}
    (output,) = denoise.outputs

    def predict(chunk: Array, time: float) -> Array:
        x = chunk.astype(np.float32)[None]
        return np.asarray(denoise.run({"x": x, "time": np.array([time], np.float32), **known})[output][0], np.float64)

    return schedule.sample(predict, np.asarray(case[NOISE][0], np.float64), None, _StoredNoise(case.get(STEP_NOISE)))


class _StoredNoise(np.random.Generator):
    """Draws what was stored."""

    def __init__(self, drawn: Array | None) -> None:
        super().__init__(np.random.PCG64())
        self._drawn = iter(() if drawn is None else drawn)

    def standard_normal(self, *_: Any, **__: Any) -> Any:
        for noise in self._drawn:
            return noise
        raise IntegrityError(f"{CASES_FILE} holds less noise than the schedule draws: make the bundle again")
