"""A residual that answers the same whatever it sees, and a policy as one is imported, both made without torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from tendon.control.residual.gate import Evidence
from tendon.control.residual.space import ResidualSpace
from tendon.policies.bundle.bundle import write_bundle
from tendon.policies.export.spaces_file import joint_spaces
from tendon.policies.residual.bundle import NO_EVIDENCE, write_residual
from tendon.policies.residual.graph import ACTION, OBSERVATION
from tendon.policies.spec.manifest import CameraInput, Manifest
from tendon.robots.profile import RobotProfile, load_profile
from tests.policies.constant_network import constant_network


def constant_graph(space: ResidualSpace, action: Sequence[float]) -> bytes:
    return constant_network((OBSERVATION, space.observations), (ACTION, action))


def write_imported(folder: Path, embedding: int = 0) -> Path:
    """Writes a policy of the Panda that keeps it at home, and returns its folder.

    As an imported ACT it sees joints and a picture, reads no instruction, answers joints, and points at nothing.

    Args:
        folder: to write.
        embedding: how many numbers it tells of what it saw; 0 for a policy that has no such output.
    """
    profile = load_profile("panda")
    home = tuple(profile.vector("home").tolist())
    spaces = joint_spaces(profile)
    size, rows = len(home), 16
    std = (0.1,) * (size - 1) + (0.01,)
    outputs = {"actions": (1, rows, size)} | ({"embedding": (1, embedding)} if embedding else {})
    nodes = [helper.make_node("MatMul", ["state", f"from_{name}"], [f"flat_{name}"]) for name in outputs]
    nodes += [helper.make_node("Reshape", [f"flat_{name}", f"shape_{name}"], [name]) for name in outputs]
    constants = {"from_actions": np.zeros((size, rows * size), np.float32)}
    if embedding:
        constants["from_embedding"] = np.ones((size, embedding), np.float32)
    constants |= {f"shape_{name}": np.array(shape, np.int64) for name, shape in outputs.items()}
    inputs = {"image_scene": (TensorProto.UINT8, (1, 128, 128, 3)), "state": (TensorProto.FLOAT, (1, size))}
    graph = helper.make_graph(
        nodes,
        "imported",
        [helper.make_tensor_value_info(name, *spec) for name, spec in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    manifest = Manifest(
        name="imported",
        robot=profile.name,
        tool_frame=profile.tool_frame,
        joint_names=profile.joint_names,
        cameras=(CameraInput(name="scene", width=128, height=128),),
        state=spaces.state,
        state_mean=home,
        state_std=std,
        action=spaces.action_space(0.1, home, std, rows),
        instruction=None,
    )
    write_bundle(folder, manifest, {"policy.onnx": model.SerializeToString()})
    return folder


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
