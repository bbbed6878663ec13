"""A policy of a few operators for graph tests: "left" moves the tool to +y, "right" to -y, 5 cm a second."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from tendon.policies.bundle.bundle import write_bundle
from tendon.policies.spec.manifest import CameraInput, InstructionInput, Manifest
from tendon.policies.spec.spaces import ActionSpace, StateItem
from tendon.robots.profile import load_profile

ROWS, TOKENS, STEP_S, SPEED = 10, 8, 0.1, 0.05
SIZE = 1500
VOCABULARY = ("<pad>", "<unk>", "left", "right")


def _model(products: int) -> bytes:
    """Returns a graph whose row k is (0, side * (k + 1), 0, 1), normalised; side is 1 for token 2 and -1 for 3.

    Before it answers it multiplies large matrices, so many times.
    """
    ramp = np.zeros((1, ROWS, 4), np.float32)
    ramp[0, :, 1] = np.arange(1, ROWS + 1)
    fingers = np.zeros((1, ROWS, 4), np.float32)
    fingers[..., 3] = 1.0
    constants = {
        "ramp": ramp,
        "fingers": fingers,
        "first": np.array([0], np.int64),
        "second": np.array([1], np.int64),
        "token_axis": np.array([1], np.int64),
        "middle": np.array(2.5, np.float32),
        "minus_two": np.array(-2.0, np.float32),
        "shape": np.array([1, 1, 1], np.int64),
        "points": np.zeros((1, 2, 3), np.float32),
    }
    nodes = [
        helper.make_node("Slice", ["tokens", "first", "second", "token_axis"], ["token"]),
        helper.make_node("Cast", ["token"], ["number"], to=TensorProto.FLOAT),
        helper.make_node("Sub", ["number", "middle"], ["offset"]),
        helper.make_node("Mul", ["offset", "minus_two"], ["side"]),
        helper.make_node("Reshape", ["side", "shape"], ["side3"]),
        helper.make_node("Mul", ["side3", "ramp"], ["move"]),
        helper.make_node("Add", ["move", "fingers"], ["actions" if not products else "answer"]),
        helper.make_node("Identity", ["points_constant"], ["points"]),
    ]
    constants["points_constant"] = constants.pop("points")
    if products:
        constants["eye"] = np.eye(SIZE, dtype=np.float32)
        nodes.append(helper.make_node("Mul", ["eye", "number"], ["product0"]))
        for k in range(products):
            nodes.append(helper.make_node("MatMul", [f"product{k}", "eye"], [f"product{k + 1}"]))
        nodes += [
            helper.make_node("ReduceMin", [f"product{products}"], ["zero"], keepdims=0),
            helper.make_node("Add", ["answer", "zero"], ["actions"]),
        ]
    inputs = {
        "image_scene": (TensorProto.UINT8, (1, 128, 128, 3)),
        "image_wrist": (TensorProto.UINT8, (1, 96, 96, 3)),
        "state": (TensorProto.FLOAT, (1, 7)),
        "tokens": (TensorProto.INT64, (1, TOKENS)),
        "prefix": (TensorProto.FLOAT, (1, ROWS, 4)),
        "prefix_rows": (TensorProto.INT64, (1,)),
        "noise": (TensorProto.FLOAT, (1, ROWS, 4)),
    }
    outputs = {"actions": (TensorProto.FLOAT, (1, ROWS, 4)), "points": (TensorProto.FLOAT, (1, 2, 3))}
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, *spec) for name, spec in inputs.items()],
        [helper.make_tensor_value_info(name, *spec) for name, spec in outputs.items()],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(model.SerializeToString())


def write_tiny_bundle(folder: Path, robot: str = "panda", products: int = 0) -> Path:
    """Writes the bundle and returns its folder; `products` of matrices, about 0.1 s each, make an inference slow."""
    profile = load_profile("panda")
    manifest = Manifest(
        name="tiny",
        robot=robot,
        tool_frame=profile.tool_frame,
        joint_names=profile.joint_names,
        cameras=(CameraInput(name="scene", width=128, height=128), CameraInput(name="wrist", width=96, height=96)),
        state=(
            StateItem(name="tool_position", size=3, unit="m"),
            StateItem(name="tool_velocity", size=3, unit="m/s"),
            StateItem(name="finger_position", size=1, unit="m"),
        ),
        state_mean=(0.0,) * 7,
        state_std=(1.0,) * 7,
        action=ActionSpace(
            rows=ROWS, step_s=STEP_S, mean=(0.0,) * 4, std=(SPEED * STEP_S, SPEED * STEP_S, SPEED * STEP_S, 0.03)
        ),
        prefix_rows=4,
        instruction=InstructionInput(tokens=TOKENS, vocabulary=VOCABULARY),
        training={"recipe": "made by hand"},
    )
    write_bundle(folder, manifest, {"policy.onnx": _model(products)})
    return folder


if __name__ == "__main__":
    import sys

    print(write_tiny_bundle(Path(sys.argv[1])))
