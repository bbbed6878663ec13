"""Is a graph still the policy it was made from? Its outputs against the source's, over stored inferences.

A bundle keeps `parity.safetensors`, the inferences: inputs and the source's float32 outputs, named as the graphs name
them; and its receipt, see `receipt`. No torch needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from tendon.core.errors import ConfigError, IntegrityError
from tendon.policies.engines.engine import Engine
from tendon.policies.engines.graph import Graph, Tensor

CASES_FILE = "parity.safetensors"
BOUNDS = {"fp32": 1e-3, "tf32": 5e-3, "fp16": 2e-2, "bf16": 6e-2, "int8": 1e-1}
"""Largest relative error of an output by precision. fp32 leaves room for the other order of sums on a GPU."""

EXPORT_BOUND = 1e-4
"""What an export in float32 must hold on the CPU, where nothing is rounded further."""

Case = Mapping[str, Tensor]
"""Tensors of one inference by name: inputs, and outputs as the source computes them."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """How far one output of one graph is from its source, the worst of several inferences.

    Attributes:
        graph: file name.
        output: name.
        provider: of the engine that ran it.
        precision: a key of `BOUNDS`.
        reference: precision of the source, float32 or float64.
        inferences: how many.
        max_abs: largest absolute difference of a number.
        cosine: smallest cosine between the outputs as vectors.
        relative: largest |difference| / |source|, Euclidean norms. This is what `bound` is for.
        bound: on `relative`.
    """

    graph: str
    output: str
    provider: str
    precision: str
    reference: str
    inferences: int
    max_abs: float
    cosine: float
    relative: float
    bound: float

    def __post_init__(self) -> None:
        for name in ("max_abs", "cosine", "relative", "bound"):
            if not isinstance(getattr(self, name), float | int):
                raise ConfigError(f"{name} is {getattr(self, name)!r}, must be a number")

    @property
    def passed(self) -> bool:
        """Whether it is within its bound; never with a number that is not finite."""
        return bool(self.relative <= self.bound)


def difference(wanted: Tensor, found: Tensor) -> tuple[float, float, float]:
    """Returns largest absolute difference, cosine, relative error; (inf, -1, inf) if not finite or of another shape."""
    if wanted.shape != found.shape or not np.isfinite(np.asarray(found, np.float64)).all():
        return float("inf"), -1.0, float("inf")
    a, b = np.asarray(wanted, np.float64).ravel(), np.asarray(found, np.float64).ravel()
    gap, length = float(np.linalg.norm(b - a)), float(np.linalg.norm(a))
    if gap == 0.0:
        return 0.0, 1.0, 0.0
    other = float(np.linalg.norm(b))
    cosine = float(a @ b) / (length * other) if length > 0.0 and other > 0.0 else 0.0
    return float(np.abs(b - a).max()), cosine, gap / length if length > 0.0 else float("inf")


def measure(
    name: str,
    graph: Graph,
    cases: Sequence[Case],
    *,
    precision: str,
    bound: float,
    exact: Sequence[Case] = (),
) -> tuple[Row, ...]:
    """Runs a graph over the cases and returns a row for each of its outputs that they know.

    Args:
        name: of the graph's file.
        graph: loaded.
        cases: inferences in float32 of the source.
        precision: of the run, a key of `BOUNDS`.
        bound: on the relative error.
        exact: the source's outputs in float64, one mapping a case; adds rows against them.

    Raises:
        IntegrityError: the cases lack an input of the graph or know none of its outputs.
    """
    known = [output for output in graph.outputs if cases and output in cases[0]]
    missing = sorted({key for case in cases for key in (*graph.inputs, *known) if key not in case})
    if missing or not known:
        lack = f"lack {', '.join(missing)}" if missing else f"know no output of {', '.join(graph.outputs)}"
        raise IntegrityError(f"the inferences of {CASES_FILE} {lack} of {name}: make the bundle again")
    answers = [graph.run({key: case[key] for key in graph.inputs}) for case in cases]
    rows = []
    for reference, sources in (("float32", cases), ("float64", exact)):
        for output in known:
            if sources:
                found = [answer[output] for answer in answers]
                row = worst(name, output, [case[output] for case in sources], found, graph.engine, precision, bound)
                rows.append(replace(row, reference=reference))
    return tuple(rows)


def worst(
    name: str,
    output: str,
    wanted: Sequence[Tensor],
    found: Sequence[Tensor],
    engine: Engine,
    precision: str,
    bound: float,
) -> Row:
    """Returns the row of several answers against their references, in float32."""
    gaps = [difference(a, b) for a, b in zip(wanted, found, strict=True)]
    return Row(
        graph=name,
        output=output,
        provider=engine.provider,
        precision=precision,
        reference="float32",
        inferences=len(gaps),
        max_abs=max(gap[0] for gap in gaps),
        cosine=min(gap[1] for gap in gaps),
        relative=max(gap[2] for gap in gaps),
        bound=bound,
    )


def write_cases(cases: Iterable[Case]) -> bytes:
    """Returns the content of `parity.safetensors`."""
    return save({f"{k}/{name}": np.ascontiguousarray(v) for k, case in enumerate(cases) for name, v in case.items()})


def read_cases(data: bytes, name: str = CASES_FILE, fix: str = "make the bundle again") -> tuple[Case, ...]:
    """Returns the inferences in `parity.safetensors`, or another file of that form.

    Args:
        data: its content.
        name: of the file, for the message.
        fix: what to do where it is none, for the message.

    Raises:
        IntegrityError: the content is not what `write_cases` writes.
    """
    cases: dict[int, dict[str, Tensor]] = {}
    try:
        for key, value in load(data).items():
            number, _, tensor = key.partition("/")
            cases.setdefault(int(number), {})[tensor] = value
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise IntegrityError(f"{name} is no list of inferences ({error}): {fix}") from error
    if sorted(cases) != list(range(len(cases))) or not cases:
        raise IntegrityError(f"{name} holds inferences {sorted(cases)}: {fix}")
    return tuple(cases[k] for k in range(len(cases)))
