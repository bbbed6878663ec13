"""A residual's actor as an ONNX graph: three layers, with the projection folded into the first."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tendon.policies.residual.graph import ACTION, OBSERVATION
from tendon.policies.training.residual.networks import Actor
from tendon.policies.training.residual.projection import LARGEST, Projection

OPSET, IR_VERSION = 17, 9


def actor_graph(actor: Actor, projection: Projection) -> bytes:
    """Returns the graph that answers (1, A) actions for (1, O) observations."""
    tensors = [
        numpy_helper.from_array(projection.matrix, "matrix"),
        numpy_helper.from_array(projection.shift, "shift"),
        numpy_helper.from_array(np.array(-LARGEST, np.float32), "least"),
        numpy_helper.from_array(np.array(LARGEST, np.float32), "most"),
    ]
    nodes = [
        helper.make_node("Gemm", [OBSERVATION, "matrix", "shift"], ["seen"]),
        helper.make_node("Clip", ["seen", "least", "most"], ["hidden0"]),
    ]
    for k, layer in enumerate(actor.layers):
        weight, bias = layer.weight.detach().numpy(), layer.bias.detach().numpy()
        tensors += [numpy_helper.from_array(weight, f"weight{k}"), numpy_helper.from_array(bias, f"bias{k}")]
        nodes.append(helper.make_node("Gemm", [f"hidden{k}", f"weight{k}", f"bias{k}"], [f"linear{k}"], transB=1))
        last = k == len(actor.layers) - 1
        nodes.append(
            helper.make_node("Tanh" if last else "Relu", [f"linear{k}"], [ACTION if last else f"hidden{k + 1}"])
        )
    seen, actions = projection.matrix.shape[0], actor.layers[-1].out_features
    graph = helper.make_graph(
        nodes,
        "residual",
        [helper.make_tensor_value_info(OBSERVATION, TensorProto.FLOAT, [1, seen])],
        [helper.make_tensor_value_info(ACTION, TensorProto.FLOAT, [1, actions])],
        tensors,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())
