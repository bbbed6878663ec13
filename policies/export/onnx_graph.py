"""A torch module as an ONNX graph with the names a bundle wants, its weights beside it where they are large."""

from __future__ import annotations

import logging
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx
import torch
from torch import Tensor, nn

from tendon.core.errors import ConfigError

EXTERNAL_BYTES = 1_500_000_000
"""Weights above this go to a file of their own: protobuf ends at 2 GiB."""


def export_graph(
    name: str, module: nn.Module, inputs: Mapping[str, Tensor], outputs: Sequence[str]
) -> dict[str, bytes]:
    """Returns a graph and, where its weights are large, `NAME.data`, by file name.

    Args:
        name: of the graph's file, `policy.onnx`.
        module: called with `inputs` by position; in evaluation mode, answers a tensor, or as many as `outputs` names.
        inputs: examples in the order of `forward`; their shapes and types are the graph's.
        outputs: names.

    Raises:
        ConfigError: torch cannot express the module in ONNX.
    """
    with tempfile.TemporaryDirectory() as scratch:
        written = write_graph(Path(scratch) / name, module, inputs, outputs)
        return {path.name: path.read_bytes() for path in written}


def write_graph(
    path: Path, module: nn.Module, inputs: Mapping[str, Tensor], outputs: Sequence[str]
) -> tuple[Path, ...]:
    """Writes what `export_graph` returns; the weights are never copied in memory. Returns the files."""
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        program = _program(path.name, module, inputs, len(outputs))
        weights = sum(value.const_value.nbytes for value in program.model.graph.initializers.values())
        program.save(path, external_data=weights > EXTERNAL_BYTES)
    model = onnx.load(path, load_external_data=False)
    _rename(model.graph, list(inputs), outputs)
    onnx.save(model, path)
    data = path.with_name(f"{path.name}.data")
    return (path, data) if data.is_file() else (path,)


def traced(name: str, module: nn.Module, inputs: Mapping[str, Tensor], outputs: int) -> torch.fx.GraphModule:
    """Returns what the graph of that name is made from: inner tensors have the same names in both.

    Raises:
        ConfigError: torch cannot express the module in ONNX.
    """
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        program: torch.fx.GraphModule = _program(name, module, inputs, outputs).exported_program.module()
    return program


def _program(name: str, module: nn.Module, inputs: Mapping[str, Tensor], outputs: int) -> Any:
    logging.getLogger("onnxscript").setLevel(logging.ERROR)  # it warns of every constant that it does not fold
    try:
        return torch.onnx.export(
            module,
            tuple(inputs.values()),
            input_names=[f"tendon_input_{k}" for k in range(len(inputs))],
            output_names=[f"tendon_output_{k}" for k in range(outputs)],
            dynamo=True,
            verbose=False,
        )
    except torch.onnx.errors.OnnxExporterError as error:
        raise ConfigError(f"torch cannot export {name} to ONNX: {error}") from error


def _rename(graph: onnx.GraphProto, inputs: Sequence[str], outputs: Sequence[str]) -> None:
    """Names inputs and outputs; the exporter names inner tensors after operators and does not look for clashes."""
    names = {name: f"inner_{name}" for name in (*inputs, *outputs)}
    names |= {f"tendon_input_{k}": name for k, name in enumerate(inputs)}
    names |= {f"tendon_output_{k}": name for k, name in enumerate(outputs)}
    for part in _graphs(graph):
        for node in part.node:
            node.input[:] = [names.get(name, name) for name in node.input]
            node.output[:] = [names.get(name, name) for name in node.output]
        for value in (*part.input, *part.output, *part.value_info, *part.initializer):
            value.name = names.get(value.name, value.name)


def _graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from _graphs(attribute.g)
