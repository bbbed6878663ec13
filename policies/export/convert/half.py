"""A graph in half precision: weights and sums in float16, inputs and outputs in float32 as the bundle says."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Mapping
from pathlib import Path

import onnx
from onnxruntime.transformers.float16 import DEFAULT_OP_BLOCK_LIST, convert_float_to_float16

from tendon.policies.export.convert.graph_files import read_graph, write_graph

SENSITIVE = (
    "Cos",
    "CumSum",
    "Exp",
    "GroupNormalization",
    "InstanceNormalization",
    "LayerNormalization",
    "Log",
    "LogSoftmax",
    "Pow",
    "RMSNormalization",
    "Range",
    "Reciprocal",
    "ReduceL2",
    "ReduceMean",
    "ReduceSum",
    "ReduceSumSquare",
    "Sin",
    "Softmax",
    "Sqrt",
)
"""Operators that stay in float32: sums of many or squared terms overflow half precision at 65504, small differences
under an exponent are lost in its 11 bits, and so are the angles that tell positions and times apart."""


def to_half(content: Mapping[str, bytes], name: str) -> dict[str, bytes]:
    """Returns a graph in float16 but for `SENSITIVE` operators, inputs and outputs, by file name.

    Raises:
        IntegrityError: it names tensor data that `content` lacks.
    """
    logging.getLogger("onnxruntime.transformers.float16").setLevel(logging.ERROR)  # it warns of each weight it clips
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        model = convert_float_to_float16(
            str(write_graph(content, name, folder)),
            keep_io_types=True,
            op_block_list=[*DEFAULT_OP_BLOCK_LIST, *SENSITIVE],
        )
        _drop_repeated(model.graph)
        return read_graph(model, name, folder)


def _drop_repeated(graph: onnx.GraphProto) -> None:
    """Drops all but the first of nodes that make the same tensor: the converter casts a tensor once for each reader."""
    made: set[str] = set()
    kept = []
    for node in graph.node:
        if not made.issuperset(node.output):
            made.update(node.output)
            kept.append(node)
    del graph.node[:]
    graph.node.extend(kept)
