"""A small policy, valid in every respect, for the tests of this folder to break one thing at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tendon.core.types import ActionChunk, Image, Observation
from tendon.policies.bundle.bundle import Bundle, write_bundle
from tendon.policies.spec.manifest import CameraInput, InstructionInput, Manifest
from tendon.policies.spec.spaces import ActionSpace, StateItem
from tendon.robots.profile import RobotProfile, load_profile

ROWS, TOKENS = 6, 8
Specs = dict[str, tuple[int, Sequence[int | str]] | None]

INPUTS: Specs = {
    "image_scene": (TensorProto.UINT8, (1, 128, 128, 3)),
    "image_wrist": (TensorProto.UINT8, (1, 96, 96, 3)),
    "state": (TensorProto.FLOAT, (1, 7)),
    "tokens": (TensorProto.INT64, (1, TOKENS)),
    "prefix": (TensorProto.FLOAT, (1, ROWS, 4)),
    "prefix_rows": (TensorProto.INT64, (1,)),
    "noise": (TensorProto.FLOAT, (1, ROWS, 4)),
}
OUTPUTS: Specs = {
    "actions": (TensorProto.FLOAT, (1, ROWS, 4)),
    "points": (TensorProto.FLOAT, (1, 2, 3)),
}


def build_manifest(**changes: Any) -> Manifest:
    values: dict[str, Any] = {
        "name": "tiny",
        "robot": "panda",
        "tool_frame": "panda_hand_tcp",
        "joint_names": (*(f"panda_joint{i}" for i in range(1, 8)), "panda_finger_joint1"),
        "cameras": (CameraInput(name="scene", width=128, height=128), CameraInput(name="wrist", width=96, height=96)),
        "state": (
            StateItem(name="tool_position", size=3, unit="m"),
            StateItem(name="tool_velocity", size=3, unit="m/s"),
            StateItem(name="finger_position", size=1, unit="m"),
        ),
        "state_mean": (0.0,) * 7,
        "state_std": (1.0,) * 7,
        "action": ActionSpace(rows=ROWS, step_s=0.1, mean=(0.0, 0.0, 0.0, 0.02), std=(0.1, 0.1, 0.1, 0.02)),
        "prefix_rows": 3,
        "instruction": InstructionInput(
            tokens=TOKENS, vocabulary=("<pad>", "<unk>", "put", "the", "red", "blue", "cube", "bowl", "in", "on")
        ),
        "training": {"recipe": "made by hand", "seed": 0},
    }
    return Manifest(**(values | changes))


def build_model(
    move: Sequence[float] = (0.0, 0.0, 0.0, 0.0),
    inputs: Specs | None = None,
    outputs: Specs | None = None,
) -> bytes:
    """Normalised actions = prefix + (k + 1) * move; points = the first three of the state, twice.

    `inputs` and `outputs` change the declared tensors; `None` leaves one out.
    """
    ramp = np.arange(1, ROWS + 1, dtype=np.float32)[:, None] * np.asarray(move, np.float32)
    initializers = [
        onnx.numpy_helper.from_array(ramp[None].astype(np.float32), "ramp"),
        onnx.numpy_helper.from_array(np.array([0], np.int64), "from"),
        onnx.numpy_helper.from_array(np.array([3], np.int64), "to"),
        onnx.numpy_helper.from_array(np.array([1], np.int64), "axis"),
        onnx.numpy_helper.from_array(np.array([1, 1, 3], np.int64), "one_row"),
    ]
    nodes = [
        helper.make_node("Add", ["prefix", "ramp"], ["actions"]),
        helper.make_node("Slice", ["state", "from", "to", "axis"], ["tool"]),
        helper.make_node("Reshape", ["tool", "one_row"], ["row"]),
        helper.make_node("Concat", ["row", "row"], ["points"], axis=1),
    ]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, *spec) for name, spec in (INPUTS | (inputs or {})).items() if spec],
        [helper.make_tensor_value_info(name, *spec) for name, spec in (OUTPUTS | (outputs or {})).items() if spec],
        initializers,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(model.SerializeToString())


@pytest.fixture(scope="session")
def profile() -> RobotProfile:
    return load_profile("panda")


@pytest.fixture
def manifest() -> Callable[..., Manifest]:
    return build_manifest


@pytest.fixture
def model() -> Callable[..., bytes]:
    return build_model


@pytest.fixture
def make_bundle(tmp_path: Path) -> Callable[..., Bundle]:
    def make(move: Sequence[float] = (0.0, 0.0, 0.0, 0.0), data: bytes | None = None, **changes: Any) -> Bundle:
        return write_bundle(tmp_path / "bundle", build_manifest(**changes), {"policy.onnx": data or build_model(move)})

    return make


@pytest.fixture
def observe(profile: RobotProfile) -> Callable[..., Observation]:
    def make(stamp_ns: int = 10**9, **changes: Any) -> Observation:
        values: dict[str, Any] = {
            "stamp_ns": stamp_ns,
            "joint_position": profile.vector("home"),
            "joint_velocity": np.zeros(8),
            "images": {
                camera.name: Image(stamp_ns=stamp_ns, pixels=np.zeros((camera.height, camera.width, 3), np.uint8))
                for camera in profile.cameras
            },
            "instruction": "put the red cube in the blue bowl",
        }
        return Observation(**(values | changes))

    return make


@pytest.fixture
def make_prefix(profile: RobotProfile) -> Callable[..., ActionChunk]:
    def make(rows: int, start_ns: int = 10**9 + 10**8, step_ns: int = 10**8, joints: int = 8) -> ActionChunk:
        drift = np.linspace(0.01, 0.02, rows)[:, None] * np.ones(joints) if rows else np.empty((0, joints))
        actions = np.resize(profile.vector("home"), joints) + drift
        return ActionChunk(
            actions=np.minimum(actions, 3.0),
            start_ns=start_ns,
            step_ns=step_ns,
            observation_stamp_ns=start_ns - step_ns,
        )

    return make
