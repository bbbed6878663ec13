"""What an engine makes of an ONNX graph: tensors in, tensors out, some of them left where they are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tendon.core.errors import InvalidDataError, MismatchError
from tendon.policies.engines.engine import Engine

Tensor = npt.NDArray[Any]

DTYPES: dict[str, npt.DTypeLike] = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(double)": np.float64,
    "tensor(uint8)": np.uint8,
    "tensor(int8)": np.int8,
    "tensor(int32)": np.int32,
    "tensor(int64)": np.int64,
    "tensor(bool)": np.bool_,
}
"""numpy's types for ONNX's, as far as a graph of a bundle may have them as inputs and outputs."""


@dataclass(frozen=True)
class TensorSpec:
    """Shape and ONNX type, such as `tensor(float)`, of a graph's input or output. A length not fixed is no `int`."""

    shape: tuple[int | str | None, ...]
    type: str


@dataclass(frozen=True, eq=False)
class Held:
    """An output that stayed on its engine's device, for a graph of the same engine to read.

    It keeps its content for as long as it lives: later runs of the graph it came from do not change it.

    Attributes:
        engine: that made it.
        spec: its shape and type.
        value: what the engine calls a tensor.
        numpy: returns the content in host memory; on the CPU this may be the memory itself, so do not write to it.
    """

    engine: Engine
    spec: TensorSpec
    value: Any
    numpy: Callable[[], Tensor]


class Graph(Protocol):
    """A loaded graph. It is meant for one thread at a time."""

    @property
    def engine(self) -> Engine:
        """What runs it."""

    @property
    def provider(self) -> str:
        """The same in the words of the library, such as `CPUExecutionProvider`."""

    @property
    def inputs(self) -> Mapping[str, TensorSpec]:
        """All inputs by name; all of them must be fed."""

    @property
    def outputs(self) -> Mapping[str, TensorSpec]:
        """All outputs by name."""

    def run(self, feeds: Mapping[str, Tensor | Held], hold: Collection[str] = ()) -> dict[str, Any]:
        """Returns every output by name: those named in `hold` as `Held`, the others as arrays in host memory.

        Args:
            feeds: each input; read until `run` returns, never written.
            hold: outputs to leave on the device.

        Raises:
            InvalidDataError: an input is missing, unknown or of another shape or type; `hold` names no output; or an
                operator fails on them.
            MismatchError: a held value is another engine's.
        """


def check_feeds(graph: Graph, feeds: Mapping[str, Tensor | Held], hold: Collection[str]) -> None:
    """Raises what `Graph.run` says; every engine calls it first, so that all answer alike."""
    if feeds.keys() != graph.inputs.keys():
        missing, unknown = sorted(graph.inputs.keys() - feeds.keys()), sorted(feeds.keys() - graph.inputs.keys())
        raise InvalidDataError(f"inputs of the graph: missing {missing or 'none'}, unknown {unknown or 'none'}")
    for name, spec in graph.inputs.items():
        value = feeds[name]
        if isinstance(value, Held):
            if value.engine != graph.engine:
                raise MismatchError(
                    f"input {name} is held by engine {value.engine}, this graph runs on {graph.engine}: "
                    "load both graphs with the same engine"
                )
            shape, matches = value.spec.shape, value.spec.type == spec.type
        else:
            shape, matches = value.shape, value.dtype == DTYPES.get(spec.type)
        if not (matches and _fits(shape, spec.shape)):
            kind = value.spec.type if isinstance(value, Held) else value.dtype
            raise InvalidDataError(f"input {name} is {kind} {shape}, the graph takes {spec.type} {spec.shape}")
    for name in hold:
        if name not in graph.outputs:
            raise InvalidDataError(f"hold names {name}, which is no output: {', '.join(graph.outputs)}")


class AroundGraph:
    """A `Graph` that hands everything on to another one; those made of it run something beside.

    Args:
        graph: the other one.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    @property
    def engine(self) -> Engine:
        """See `Graph`."""
        return self.graph.engine

    @property
    def provider(self) -> str:
        """See `Graph`."""
        return self.graph.provider

    @property
    def inputs(self) -> Mapping[str, TensorSpec]:
        """See `Graph`."""
        return self.graph.inputs

    @property
    def outputs(self) -> Mapping[str, TensorSpec]:
        """See `Graph`."""
        return self.graph.outputs

    def run(self, feeds: Mapping[str, Tensor | Held], hold: Collection[str] = ()) -> dict[str, Any]:
        """See `Graph`."""
        return self.graph.run(feeds, hold)


def _fits(shape: Sequence[int | str | None], fixed: Sequence[int | str | None]) -> bool:
    """Whether two shapes agree in every length that both have fixed."""
    return len(shape) == len(fixed) and all(
        have == want or not (isinstance(have, int) and isinstance(want, int))
        for have, want in zip(shape, fixed, strict=True)
    )
