"""A network that answers the same whatever it sees, made without torch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import TensorProto, helper, numpy_helper


def constant_network(seen: tuple[str, int], answer: tuple[str, Sequence[float]]) -> bytes:
    """Returns its graph: name and size of the input, name and numbers of the output."""
    (given, size), (told, numbers) = seen, answer
    weights = numpy_helper.from_array(np.zeros((size, len(numbers)), np.float32), "weights")
    bias = numpy_helper.from_array(np.array(numbers, np.float32), "bias")
    graph = helper.make_graph(
        [helper.make_node("Gemm", [given, "weights", "bias"], [told])],
        "constant",
        [helper.make_tensor_value_info(given, TensorProto.FLOAT, [1, size])],
        [helper.make_tensor_value_info(told, TensorProto.FLOAT, [1, len(numbers)])],
        [weights, bias],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return bytes(model.SerializeToString())
