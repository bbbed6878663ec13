"""Finds the node of a graph at which a run first leaves its reference: every inner value of both, in order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType

import numpy as np

from tendon.core.errors import MissingDependencyError
from tendon.policies.engines.external_data import listed_locations
from tendon.policies.engines.graph import Graph, Tensor
from tendon.policies.parity.graph import difference

GROUP = 64
"""How many nodes are looked at in one run: their values are in memory at once."""

NEGLIGIBLE = 1e-6
"""An absolute difference this small is rounding, however small the value: what cancels to 0 is never exactly 0."""

Load = Callable[[Mapping[str, bytes], str], Graph]
"""Loads a graph of a content (files by name), as the run under test does."""

Values = Callable[[Sequence[str]], Mapping[str, Tensor]]
"""Returns the named inner values of a reference, those it has."""


@dataclass(frozen=True, kw_only=True)
class Divergence:
    """A node: its output's name, its operator, and how far the output is off. Its inputs are still within the bound."""

    node: str
    operator: str
    max_abs: float
    relative: float

    def __str__(self) -> str:
        return f"node {self.node} ({self.operator}): max abs {self.max_abs:.2g}, relative {self.relative:.2g}"


def first_divergence(
    content: Mapping[str, bytes], name: str, feeds: Mapping[str, Tensor], load: Load, bound: float
) -> Divergence | None:
    """Returns the first node off by more than a bound, between a plain CPU run in float32 and the run under test.

    Both runs are of the same graph. Inner values are asked for as outputs, which keeps an engine from fusing the nodes
    around them: a fault that fusion itself makes is not found, and `None` is returned.

    Args:
        content: the graph and its external data.
        name: of the graph.
        feeds: its inputs.
        load: loads it for the run under test.
        bound: on the relative error of a value.

    Raises:
        MissingDependencyError: onnx is not installed.
    """

    def reference(names: Sequence[str]) -> Mapping[str, Tensor]:
        return _PlainRun(with_outputs(content, name, names), name).run(feeds)

    return divergence_from(reference, content, name, feeds, load, bound)


def divergence_from(
    reference: Values, content: Mapping[str, bytes], name: str, feeds: Mapping[str, Tensor], load: Load, bound: float
) -> Divergence | None:
    """As `first_divergence`, against values of the same names from anywhere, such as torch."""
    operators = _operators(content[name])
    names = list(operators)
    for start in range(0, len(names), GROUP):
        group = names[start : start + GROUP]
        wanted = reference(group)
        asked = [value for value in group if value in wanted]
        if not asked:
            continue
        found = load(with_outputs(content, name, asked), name).run(feeds)
        for value in asked:
            if value not in found or not np.issubdtype(wanted[value].dtype, np.floating):
                continue
            max_abs, _, relative = difference(wanted[value], found[value])
            if not relative <= bound and not max_abs <= NEGLIGIBLE:
                return Divergence(node=value, operator=operators[value], max_abs=max_abs, relative=relative)
    return None


def with_outputs(content: Mapping[str, bytes], name: str, values: Collection[str]) -> dict[str, bytes]:
    """Returns the content with a graph that answers these inner values, and nothing else."""
    onnx = _onnx()
    model = onnx.load_model_from_string(content[name])
    types = {value.name: value for value in (*model.graph.value_info, *model.graph.output)}
    outputs = [types.get(value) or onnx.ValueInfoProto(name=value) for value in values]
    del model.graph.output[:]
    model.graph.output.extend(outputs)
    return {**content, name: model.SerializeToString()}


class _PlainRun:
    """onnxruntime on the CPU without any optimisation: one node after another, as the graph is written."""

    def __init__(self, content: Mapping[str, bytes], name: str) -> None:
        import onnxruntime as ort

        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = 2
        options.log_severity_level = 3
        locations = listed_locations(content, name)
        if locations:
            buffers = [content[location] for location in locations]
            options.add_external_initializers_from_files_in_memory(locations, buffers, [len(b) for b in buffers])
        self._session = ort.InferenceSession(content[name], options, providers=["CPUExecutionProvider"])

    def run(self, feeds: Mapping[str, Tensor]) -> dict[str, Tensor]:
        names = [output.name for output in self._session.get_outputs()]
        known = {tensor.name for tensor in self._session.get_inputs()}
        answers = self._session.run(names, {key: value for key, value in feeds.items() if key in known})
        return dict(zip(names, answers, strict=True))


def _operators(model: bytes) -> dict[str, str]:
    """Returns the operator of each node by the name of its output, in the order in which they run."""
    graph = _onnx().load_model_from_string(model).graph
    return {output: node.op_type for node in graph.node for output in node.output if output}


def _onnx() -> ModuleType:
    try:
        import onnx
    except ImportError as error:
        raise MissingDependencyError(
            f"to find the node that diverges, graphs must be taken apart ({error}): pip install onnx"
        ) from error
    return onnx
