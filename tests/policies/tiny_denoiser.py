"""A bundle of two graphs by hand, for the tests of this folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

from tendon.policies.bundle.bundle import Bundle, write_bundle
from tendon.policies.spec.manifest import CameraInput, InstructionInput, Manifest
from tendon.policies.spec.sampling import Denoiser, Flow
from tendon.policies.spec.spaces import ActionSpace, StateItem

ROWS, WIDTH, MODEL_WIDTH, FEATURES, TOKENS = 10, 4, 6, 7, 8


def denoised_manifest() -> Manifest:
    """Flow from time 1 to 0 in 5 steps, padded from 4 to 6 components."""
    return Manifest(
        name="tiny flow",
        robot="panda",
        tool_frame="panda_hand_tcp",
        joint_names=(*(f"panda_joint{i}" for i in range(1, 8)), "panda_finger_joint1"),
        cameras=(CameraInput(name="scene", width=128, height=128),),
        state=(
            StateItem(name="tool_position", size=3, unit="m"),
            StateItem(name="tool_velocity", size=3, unit="m/s"),
            StateItem(name="finger_position", size=1, unit="m"),
        ),
        state_mean=(0.0,) * 7,
        state_std=(1.0,) * 7,
        action=ActionSpace(rows=ROWS, step_s=0.1, mean=(0.0, 0.0, 0.0, 0.02), std=(0.1, 0.1, 0.1, 0.02)),
        instruction=InstructionInput(
            tokens=TOKENS, vocabulary=("<pad>", "<unk>", "put", "the", "red", "blue", "cube", "bowl", "in", "on")
        ),
        model="context.onnx",
        denoiser=Denoiser(
            graph="denoise.onnx",
            components=MODEL_WIDTH,
            noise="gaussian",
            kind="flow",
            schedule=Flow(steps=5, start=1.0, end=0.0),
        ),
    )


def context_graph() -> bytes:
    """Its context is the state."""
    inputs = [
        helper.make_tensor_value_info("image_scene", TensorProto.UINT8, (1, 128, 128, 3)),
        helper.make_tensor_value_info("state", TensorProto.FLOAT, (1, FEATURES)),
        helper.make_tensor_value_info("tokens", TensorProto.INT64, (1, TOKENS)),
    ]
    output = helper.make_tensor_value_info("context", TensorProto.FLOAT, (1, FEATURES))
    return _model([helper.make_node("Identity", ["state"], ["context"])], inputs, [output], [])


def denoise_graph(
    context: str = "context", width: int = MODEL_WIDTH, output: str = "velocity", features: int = FEATURES
) -> bytes:
    """The velocity away from zeros: x / time, whatever the context."""
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, ROWS, width)),
        helper.make_tensor_value_info("time", TensorProto.FLOAT, (1,)),
        helper.make_tensor_value_info(context, TensorProto.FLOAT, (1, features)),
    ]
    nodes = [
        helper.make_node("ReduceSum", [context], ["sum"], keepdims=0),
        helper.make_node("Mul", ["sum", "zero"], ["nothing"]),
        helper.make_node("Div", ["x", "time"], ["away"]),
        helper.make_node("Mul", ["away", "gain"], ["gained"]),
        helper.make_node("Add", ["gained", "nothing"], [output]),
    ]
    constants = [
        onnx.numpy_helper.from_array(np.array([1.0], np.float32), "gain"),
        onnx.numpy_helper.from_array(np.array([0.0], np.float32), "zero"),
    ]
    answer = helper.make_tensor_value_info(output, TensorProto.FLOAT, (1, ROWS, width))
    return _model(nodes, inputs, [answer], constants)


def build_denoised(folder: Path) -> Bundle:
    """Writes the bundle."""
    return write_bundle(folder, denoised_manifest(), {"context.onnx": context_graph(), "denoise.onnx": denoise_graph()})


def _model(nodes: list[object], inputs: list[object], outputs: list[object], constants: list[object]) -> bytes:
    graph = helper.make_graph(nodes, "tiny", inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(model.SerializeToString())
