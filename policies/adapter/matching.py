"""Fail before motion: a bundle against a robot profile, and an ONNX graph against its bundle."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

from tendon.core.errors import ConfigError, MismatchError
from tendon.policies.adapter.adapter import Adapter
from tendon.policies.engines.graph import Graph, TensorSpec
from tendon.policies.spec.manifest import Manifest, PromptInput
from tendon.policies.spec.sampling import Denoiser
from tendon.policies.spec.steering import PREFIX
from tendon.robots.calibration import calibration_digest
from tendon.robots.profile import RobotProfile

POINTS = "points"
"""An output (1, 2, 3) that a graph may have: where it sees target and reference [m, base frame]."""
EMBEDDING = "embedding"
"""An output (1, E) that a graph may have beside the others: what the failure detector looks at."""


LIMITS = ("lower", "upper", "velocity", "acceleration", "jerk")


def check_profile(manifest: Manifest, profile: RobotProfile) -> None:
    """Checks that a policy was made for this robot.

    Args:
        manifest: of the bundle.
        profile: of the robot.

    Raises:
        ConfigError: a calibration that counts cannot be read.
        MismatchError: robot, tool frame, joint names or order, what its numbers mean (see `Adapter`), a camera or its
            size, or a part of the robot that the bundle is bound to differ.
    """
    bundle, robot = f"bundle {manifest.name}", f"profile {profile.name}"
    _require(f"{bundle}: robot", manifest.robot, profile.name, "take a bundle for this robot, or the other profile")
    _require(f"{bundle}: tool_frame", manifest.tool_frame, profile.tool_frame, f"set tool_frame in {robot}, or retrain")
    fix = f"joint order must be the one it was trained in: correct {robot}, or retrain"
    _require(f"{bundle}: joint_names", list(manifest.joint_names), list(profile.joint_names), fix)
    Adapter(manifest, profile)  # joints, units, statistics
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
    found_digests = robot_digests(profile) if manifest.made_for else {}
    for part, expected in manifest.made_for.items():
        if part not in found_digests:
            raise MismatchError(
                f"{bundle} is bound to a {part} (made_for, {expected[:16]}), but {robot} has none: name its file in "
                f"the profile, `{part}: {part}.yaml`"
            )
        _require(
            f"{bundle}: made_for {part} of {robot}",
            found_digests[part][:16],
            expected[:16],
            f"the robot has other {part} than it was made for: restore the profile, or check that the policy still "
            "works and bind it again with `tendon policy pin`",
        )


def robot_digests(profile: RobotProfile) -> dict[str, str]:
    """Returns SHA-256 of what a policy relies on, by part: `manifest.ROBOT_PARTS`, those the robot has.

    Digests are over the meaning: order of keys, comments and number formats of the files make no difference.

    Raises:
        ConfigError: the calibration cannot be read.
    """
    tree = ElementTree.parse(profile.urdf).getroot()
    parts: dict[str, Any] = {
        "joints": [list(profile.joint_names), {name: list(members) for name, members in profile.groups.items()}],
        "limits": [[joint.name, *(float(getattr(joint, key)) for key in LIMITS)] for joint in profile.joints],
        "kinematics": [profile.base_frame, profile.tool_frame, sorted(map(_urdf_joint, tree.iter("joint")))],
        "cameras": sorted(
            [camera.name, camera.width, camera.height, float(camera.rate_hz), camera.frame]
            for camera in profile.cameras
        ),
    }
    texts = {part: json.dumps(value, sort_keys=True, allow_nan=False) for part, value in parts.items()}
    digests = {part: hashlib.sha256(text.encode("utf-8")).hexdigest() for part, text in texts.items()}
    if profile.calibration is not None:
        digests["calibration"] = calibration_digest(profile.calibration)
    return digests


def _urdf_joint(joint: ElementTree.Element) -> list[Any]:
    """Returns name, type, links, origin (xyz, rpy), axis and mimic of a URDF joint, URDF's defaults filled in."""

    def text(tag: str, attribute: str, default: str = "") -> str:
        found = joint.find(tag)
        return default if found is None else found.get(attribute, default)

    def numbers(tag: str, attribute: str, default: str = "0 0 0") -> list[float]:
        return [float(word) for word in text(tag, attribute, default).split()]

    return [
        joint.get("name", ""),
        joint.get("type", ""),
        text("parent", "link"),
        text("child", "link"),
        numbers("origin", "xyz"),
        numbers("origin", "rpy"),
        numbers("axis", "xyz", "1 0 0"),
        text("mimic", "joint"),
        numbers("mimic", "multiplier", "1"),
        numbers("mimic", "offset", "0"),
    ]


def check_model(manifest: Manifest, model: Graph) -> None:
    """Checks that the graph that takes the observation has the inputs and outputs that its manifest implies.

    Raises:
        MismatchError: one is missing, is unknown, or has another shape or type.
    """
    optional = {"noise": _rows(manifest)} if "noise" in model.inputs and manifest.denoiser is None else {}
    _check_tensors(f"{manifest.model} input", model.inputs, expected_inputs(manifest) | optional)
    outputs = dict(model.outputs)
    embedding, points = outputs.pop(EMBEDDING, None), outputs.pop(POINTS, None)
    if manifest.denoiser is None:
        _check_tensors(f"{manifest.model} output", outputs, {"actions": _rows(manifest)})
    if points is not None:
        _check_tensors(f"{manifest.model} output", {POINTS: points}, {POINTS: TensorSpec((1, 2, 3), "tensor(float)")})
    if embedding is not None:
        size = embedding.shape[-1]
        fixed = isinstance(size, int) and embedding.shape == (1, size) and embedding.type == "tensor(float)"
        _require(f"{manifest.model} output {EMBEDDING}: is (1, E) float32", fixed, True, "export the graph again")


def check_denoiser(denoiser: Denoiser, rows: int, model: Graph, graph: Graph) -> None:
    """Checks that a denoiser's graph takes what it denoises and what the first graph answers.

    Args:
        denoiser: of the manifest.
        rows: of an action.
        model: the first graph.
        graph: the denoiser's.

    Raises:
        MismatchError: a tensor is missing, is unknown, or has another shape or type.
    """
    chunk = TensorSpec((1, denoiser.past_rows + rows, denoiser.components), "tensor(float)")
    context = {name: spec for name, spec in model.outputs.items() if name in graph.inputs}
    expected = {"x": chunk, "time": TensorSpec((1,), "tensor(float)")} | context
    _check_tensors(f"{denoiser.graph} input", graph.inputs, expected)
    _check_tensors(f"{denoiser.graph} output", graph.outputs, {denoiser.output: chunk})


def expected_inputs(manifest: Manifest) -> dict[str, TensorSpec]:
    """Returns the inputs that the graph that takes the observation must have.

    `noise`, shaped like the prefix, is optional: a graph with its denoising inside starts from its centre.
    """
    history, reads = manifest.history, manifest.instruction
    inputs = {
        f"image_{camera.name}": TensorSpec((history, camera.height, camera.width, 3), "tensor(uint8)")
        for camera in manifest.cameras
    }
    inputs["state"] = TensorSpec((history, manifest.state_size), "tensor(float)")
    if reads is not None:
        inputs["tokens"] = TensorSpec((1, reads.tokens), "tensor(int64)")
    if isinstance(reads, PromptInput):
        inputs["token_mask"] = TensorSpec((1, reads.tokens), "tensor(bool)")
    inputs |= {f"{PREFIX}{each.name}": TensorSpec((1,), "tensor(float)") for each in manifest.steering}
    if manifest.prefix_rows:
        inputs |= {"prefix": _rows(manifest), "prefix_rows": TensorSpec((1,), "tensor(int64)")}
    return inputs


def _rows(manifest: Manifest) -> TensorSpec:
    return TensorSpec((1, manifest.action.rows, len(manifest.action.mean)), "tensor(float)")


def _check_tensors(kind: str, found: Mapping[str, TensorSpec], expected: Mapping[str, TensorSpec]) -> None:
    fix = "export the graph again with this bundle.yaml, batch 1 and fixed shapes"
    _require(f"{kind} names", sorted(found), sorted(expected), fix)
    for name, spec in expected.items():
        _require(f"{kind} {name} shape", found[name].shape, spec.shape, fix)
        _require(f"{kind} {name} type", found[name].type, spec.type, fix)


def _require(field: str, value: Any, expected: Any, fix: str) -> None:
    if value != expected:
        raise MismatchError(f"{field} is {value}, expected {expected}: {fix}")
