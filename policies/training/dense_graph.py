"""Small dense networks as ONNX graphs, with the projection of what they see folded into the first layer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

from tendon.policies.training.projection import LARGEST, Projection

OPSET, IR_VERSION = 17, 9


def dense_graph(
    layers: Sequence[torch.nn.Linear], projection: Projection, *, seen: str, answer: str, last: str
) -> bytes:
    """Returns the graph that answers (1, A) for (1, O) observations; between layers are ReLUs.

    Args:
        layers: of the network, which sees what the projection makes of an observation.
        projection: of O numbers.
        seen: name of the input,
        answer: and of the output.
        last: ONNX operator after the last layer, such as Tanh.
    """
    tensors = [
        numpy_helper.from_array(projection.matrix, "matrix"),
        numpy_helper.from_array(projection.shift, "shift"),
        numpy_helper.from_array(np.array(-LARGEST, np.float32), "least"),
        numpy_helper.from_array(np.array(LARGEST, np.float32), "most"),
    ]
    nodes = [
        helper.make_node("Gemm", [seen, "matrix", "shift"], ["projected"]),
        helper.make_node("Clip", ["projected", "least", "most"], ["hidden0"]),
    ]
    for k, layer in enumerate(layers):
        weight, bias = (each.detach().cpu().numpy() for each in (layer.weight, layer.bias))
        tensors += [numpy_helper.from_array(weight, f"weight{k}"), numpy_helper.from_array(bias, f"bias{k}")]
        nodes.append(helper.make_node("Gemm", [f"hidden{k}", f"weight{k}", f"bias{k}"], [f"linear{k}"], transB=1))
        ends = k == len(layers) - 1
        nodes.append(helper.make_node(last if ends else "Relu", [f"linear{k}"], [answer if ends else f"hidden{k + 1}"]))
    graph = helper.make_graph(
        nodes,
        answer,
        [helper.make_tensor_value_info(seen, TensorProto.FLOAT, [1, projection.matrix.shape[0]])],
        [helper.make_tensor_value_info(answer, TensorProto.FLOAT, [1, layers[-1].out_features])],
        tensors,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())
