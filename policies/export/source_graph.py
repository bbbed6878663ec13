"""A part of the source that becomes one graph: exported, run beside the source, and refused where it differs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from tendon.core.errors import MismatchError
from tendon.policies.engines.loading import Engine, Graph, load_graph
from tendon.policies.export.double import double_of, widened
from tendon.policies.export.exported import CONTEXT_GRAPH, DENOISE_GRAPH, Exported, Report
from tendon.policies.export.onnx_graph import export_graph, traced
from tendon.policies.parity.chunk import measure_chunks
from tendon.policies.parity.divergence import divergence_from
from tendon.policies.parity.graph import EXPORT_BOUND, Case, Row, measure
from tendon.policies.spec.sampling import Diffusion, Flow

IN_TORCH = f"in torch {torch.__version__} on the CPU"
"""What a receipt says of where its source ran."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SourceGraph:
    """A torch module, in evaluation mode, and the names of its inputs and outputs in order; see `exported`."""

    name: str
    module: nn.Module
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def export_all(
    graphs: Sequence[SourceGraph],
    cases: Iterable[Case],
    *,
    float64: bool = True,
    bound: float = EXPORT_BOUND,
    report: Report = lambda _: None,
) -> Exported:
    """Exports graphs, each of which may read what those before it answer, and compares each with its source.

    Args:
        graphs: in the order in which they run.
        cases: inputs of inferences; the first is also the example whose shapes the graphs get.
        float64: compare with the source in float64 too. That takes a copy of it twice as large.
        bound: largest relative error of an output in float32.
        report: told of each step.

    Raises:
        ConfigError: see `export_graph`.
        MismatchError: an output is off by more; the message says which node is so first.
    """
    known = tuple(cases)
    files: dict[str, bytes] = {}
    rows: list[Row] = []
    for graph in graphs:
        report(f"{graph.name}: {len(known)} inferences of the source")
        known = tuple(with_answers(graph, case) for case in known)
        report(f"{graph.name}: to ONNX")
        made = export_graph(graph.name, graph.module, _tensors(graph, known[0]), graph.outputs)
        report(f"{graph.name}: parity over {len(known)} inferences")
        rows.extend(verify(graph, made, known, float64=float64, bound=bound))
        files |= made
    return Exported(files=files, cases=known, parity=tuple(rows))


def with_answers(graph: SourceGraph, case: Case) -> Case:
    """Returns a case with what the source answers to its inputs, in float32."""
    return {**case, **_answers(graph, graph.module, _tensors(graph, case))}


def verify(
    graph: SourceGraph, files: Mapping[str, bytes], cases: Sequence[Case], *, float64: bool, bound: float = EXPORT_BOUND
) -> tuple[Row, ...]:
    """Runs a graph in onnxruntime on the CPU and returns how far it is from its source.

    Raises:
        MismatchError: by more than the bound in some output.
    """
    exact: list[dict[str, np.ndarray]] = []
    if float64:
        twin = double_of(graph.module)
        exact = [_answers(graph, twin, widened(_tensors(graph, case))) for case in cases]
    rows = measure(graph.name, _on_cpu(files, graph.name), cases, precision="fp32", bound=bound, exact=exact)
    for row in rows:
        if not row.passed:
            first = _first_difference(graph, files, cases, bound)
            raise MismatchError(
                f"exported graph {row.graph} differs from torch in {row.reference}: output {row.output} by "
                f"{row.relative:.2g} (max abs {row.max_abs:.2g}, cosine {row.cosine:.6f}), allowed {row.bound:g}; "
                f"first to differ: {first}; do not deploy it"
            )
    return rows


def verified_chunks(schedule: Flow | Diffusion, made: Exported, cases: tuple[Case, ...]) -> Exported:
    """Runs both graphs of a denoised policy from noise to chunk, and returns them with how far that is from the source.

    Args:
        schedule: of the manifest.
        made: from `export_all`.
        cases: of it, some with the source's whole chunk, see `measure_chunks`.

    Raises:
        MismatchError: by more than `EXPORT_BOUND`, although no graph is off.
    """
    context, denoise = _on_cpu(made.files, CONTEXT_GRAPH), _on_cpu(made.files, DENOISE_GRAPH)
    rows = measure_chunks(schedule, context, DENOISE_GRAPH, denoise, cases, precision="fp32", bound=EXPORT_BOUND)
    for row in rows:
        if not row.passed:
            raise MismatchError(
                f"denoised chunks differ from the source's by {row.relative:.2g} (max abs {row.max_abs:.2g}, cosine "
                f"{row.cosine:.6f}), allowed {row.bound:g}, although each graph agrees: the schedule is another one; "
                "do not deploy it"
            )
    return replace(made, cases=cases, parity=(*made.parity, *rows))


def _first_difference(graph: SourceGraph, files: Mapping[str, bytes], cases: Sequence[Case], bound: float) -> str:
    """Returns the first node of the graph whose value is not torch's, over the case that is off most."""

    def off(case: Case) -> float:
        return max(row.relative for row in measure(graph.name, run, [case], precision="fp32", bound=bound))

    run = _on_cpu(files, graph.name)
    worst = max(cases, key=off)
    inputs = _tensors(graph, worst)
    program = traced(graph.name, graph.module, inputs, len(graph.outputs))

    def reference(names: Sequence[str]) -> dict[str, np.ndarray]:
        kept = _KeptValues(program, names)
        kept.run(*inputs.values())
        return kept.values

    found = divergence_from(
        reference, files, graph.name, {name: np.asarray(worst[name]) for name in graph.inputs}, _on_cpu, bound
    )
    return str(found) if found else "the output itself, or what torch traced is not what the policy computes"


def _on_cpu(files: Mapping[str, bytes], name: str) -> Graph:
    return load_graph(files, name, Engine("cpu"))


class _KeptValues(torch.fx.Interpreter):
    """Runs a traced program and keeps the values of some nodes."""

    def __init__(self, program: torch.fx.GraphModule, names: Sequence[str]) -> None:
        super().__init__(program)
        self.values: dict[str, np.ndarray] = {}
        self._names = set(names)

    def run_node(self, node: Any) -> Any:
        result = super().run_node(node)
        if node.name in self._names and isinstance(result, Tensor):
            self.values[node.name] = result.detach().numpy()
        return result


def _tensors(graph: SourceGraph, case: Case) -> dict[str, Tensor]:
    return {name: torch.from_numpy(np.array(case[name])) for name in graph.inputs}


@torch.no_grad()
def _answers(graph: SourceGraph, module: nn.Module, inputs: Mapping[str, Tensor]) -> dict[str, np.ndarray]:
    answer = module(*inputs.values())
    answers = (answer,) if isinstance(answer, Tensor) else answer
    return {name: value.numpy() for name, value in zip(graph.outputs, answers, strict=True)}
