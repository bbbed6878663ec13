"""A residual that answers the same whatever it sees, made without torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from tendon.control.residual.gate import Evidence
from tendon.control.residual.space import ResidualSpace
from tendon.policies.residual.bundle import NO_EVIDENCE, write_residual
from tendon.policies.residual.graph import ACTION, OBSERVATION
from tendon.robots.profile import RobotProfile, load_profile


def constant_graph(space: ResidualSpace, action: Sequence[float]) -> bytes:
    weights = numpy_helper.from_array(np.zeros((space.observations, space.actions), np.float32), "weights")
    bias = numpy_helper.from_array(np.array(action, np.float32), "bias")
    graph = helper.make_graph(
        [helper.make_node("Gemm", [OBSERVATION, "weights", "bias"], [ACTION])],
        "constant",
        [helper.make_tensor_value_info(OBSERVATION, TensorProto.FLOAT, [1, space.observations])],
        [helper.make_tensor_value_info(ACTION, TensorProto.FLOAT, [1, space.actions])],
        [weights, bias],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return bytes(model.SerializeToString())


def write_constant(
    folder: Path,
    action: Sequence[float],
    base_digest: str,
    space: ResidualSpace | None = None,
    profile: RobotProfile | None = None,
    evidence: Evidence = NO_EVIDENCE,
) -> Path:
    """Writes such a residual and returns its folder."""
    space = space or ResidualSpace(embedding=512, points=2)
    folder.mkdir(parents=True, exist_ok=True)
    write_residual(
        folder,
        constant_graph(space, action),
        profile=profile or load_profile("panda"),
        space=space,
        base="tabletop",
        base_digest=base_digest,
        training={"made_by": "a test"},
        evidence=evidence,
    )
    return folder
