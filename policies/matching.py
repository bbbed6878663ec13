"""Fail before motion: a bundle against a robot profile, and an ONNX graph against its bundle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tendon.core.errors import ConfigError, MismatchError
from tendon.core.profile import RobotProfile
from tendon.policies.manifest import Manifest
from tendon.policies.runtime import OnnxModel, TensorSpec

POINTS_SHAPE = (1, 2, 3)


def check_profile(manifest: Manifest, profile: RobotProfile) -> None:
    """Checks that a policy was made for this robot.

    Raises:
        MismatchError: robot, tool frame, joint names or order, gripper, or a camera or its size differ.
    """
    bundle, robot = f"bundle {manifest.name}", f"profile {profile.name}"
    _require(f"{bundle}: robot", manifest.robot, profile.name, "take a bundle for this robot, or the other profile")
    _require(f"{bundle}: tool_frame", manifest.tool_frame, profile.tool_frame, f"set tool_frame in {robot}, or retrain")
    fix = f"joint order must be the one it was trained in: correct {robot}, or retrain"
    _require(f"{bundle}: joint_names", list(manifest.joint_names), list(profile.joint_names), fix)
    _require(
        f"{robot}: joints in group gripper", len(profile.groups.get("gripper", ())), 1, "the policy moves one finger"
    )
    if not profile.groups.get("arm"):
        raise MismatchError(f"{robot} has no joint group arm, which the policy moves: name its joints there")
    for camera in manifest.cameras:
        try:
            found = profile.camera(camera.name)
        except ConfigError as error:
            raise MismatchError(f"{bundle} needs camera {camera.name}: {error}; add it to the profile") from error
        _require(
            f"{bundle}: camera {camera.name} size",
            f"{camera.width}x{camera.height}",
            f"{found.width}x{found.height}",
            f"set the size in {robot} (the camera resizes), or retrain",
        )


def check_model(manifest: Manifest, model: OnnxModel) -> None:
    """Checks that a graph has exactly the inputs and outputs that its manifest implies.

    Raises:
        MismatchError: one is missing, is unknown, or has another shape or type.
    """
    _check_tensors(f"{manifest.model} input", model.inputs, expected_inputs(manifest))
    _check_tensors(f"{manifest.model} output", model.outputs, expected_outputs(manifest))


def expected_inputs(manifest: Manifest) -> dict[str, TensorSpec]:
    """Returns the inputs that a graph of this manifest must have."""
    rows = (1, manifest.action.rows, len(manifest.action.components))
    images = {
        f"image_{camera.name}": TensorSpec((1, camera.height, camera.width, 3), "tensor(uint8)")
        for camera in manifest.cameras
    }
    return images | {
        "state": TensorSpec((1, manifest.state_size), "tensor(float)"),
        "tokens": TensorSpec((1, manifest.instruction.tokens), "tensor(int64)"),
        "prefix": TensorSpec(rows, "tensor(float)"),
        "prefix_rows": TensorSpec((1,), "tensor(int64)"),
        "noise": TensorSpec(rows, "tensor(float)"),
    }


def expected_outputs(manifest: Manifest) -> dict[str, TensorSpec]:
    """Returns the outputs that a graph of this manifest must have."""
    return {
        "actions": TensorSpec((1, manifest.action.rows, len(manifest.action.components)), "tensor(float)"),
        "points": TensorSpec(POINTS_SHAPE, "tensor(float)"),
    }


def _check_tensors(kind: str, found: Mapping[str, TensorSpec], expected: Mapping[str, TensorSpec]) -> None:
    fix = "export the graph again with this bundle.yaml, batch 1 and fixed shapes"
    _require(f"{kind} names", sorted(found), sorted(expected), fix)
    for name, spec in expected.items():
        _require(f"{kind} {name} shape", found[name].shape, spec.shape, fix)
        _require(f"{kind} {name} type", found[name].type, spec.type, fix)


def _require(field: str, value: Any, expected: Any, fix: str) -> None:
    if value != expected:
        raise MismatchError(f"{field} is {value}, expected {expected}: {fix}")
