"""A progress estimator that tells the same whatever it sees, made without torch."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from tendon.policies.progress.estimator import PROGRESS, SEEN


def constant_estimator(seen: int, answer: float) -> bytes:
    weights = numpy_helper.from_array(np.zeros((seen, 1), np.float32), "weights")
    bias = numpy_helper.from_array(np.array([answer], np.float32), "bias")
    graph = helper.make_graph(
        [helper.make_node("Gemm", [SEEN, "weights", "bias"], [PROGRESS])],
        "constant",
        [helper.make_tensor_value_info(SEEN, TensorProto.FLOAT, [1, seen])],
        [helper.make_tensor_value_info(PROGRESS, TensorProto.FLOAT, [1, 1])],
        [weights, bias],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return bytes(model.SerializeToString())
