"""A policy bundle of your own from any ONNX graph with the inputs and outputs of the contract.

The graph moves the tool in a straight line toward the place that the instruction names. It is written out here, so that
nothing but `onnx` is needed; `torch.onnx.export` of your network gives one as well (docs/how-to/policy.md).

Run: python examples/own_bundle.py outputs/bundles/reach
"""

from __future__ import annotations

import sys

import onnx

import tendon
from tendon.policies.bundle.bundle import write_bundle
from tendon.policies.spec.manifest import CameraInput, InstructionInput, Manifest
from tendon.policies.spec.spaces import ActionSpace, StateItem

ROWS = 16
GRAPH = f"""
<ir_version: 8, opset_import: ["" : 17]>
reach (uint8[1,128,128,3] image_scene, uint8[1,96,96,3] image_wrist, float[1,7] state, int64[1,1] tokens)
  => (float[1,{ROWS},4] actions)
<float[4,3] places = {{0.45, 0, 0.25,  0.45, 0, 0.25,  0.45, 0.2, 0.25,  0.45, -0.2, 0.25}},
 float[1,{ROWS},1] ramp = {{{", ".join(f"{0.01 * (k + 1):.2f}" for k in range(ROWS))}}},
 float[1,{ROWS},1] fingers = {{{", ".join(["0.04"] * ROWS)}}},
 float one = {{1}}, int64[1] first = {{0}}, int64[1] end = {{3}}, int64[1] axis = {{1}}>
{{
  goal = Gather (places, tokens)
  tool = Slice (state, first, end, axis)
  away = Sub (goal, tool)
  distance = ReduceL2 <axes = [2]> (away)
  part = Div (ramp, distance)
  share = Min (part, one)
  moves = Mul (share, away)
  actions = Concat <axis = 2> (moves, fingers)
}}
"""

robot = tendon.load_robot("panda")
manifest = Manifest(
    name="reach",
    robot=robot.name,
    tool_frame=robot.tool_frame,
    joint_names=robot.joint_names,
    cameras=tuple(CameraInput(name=c.name, width=c.width, height=c.height) for c in robot.cameras),
    state=(
        StateItem(name="tool_position", size=3, unit="m"),
        StateItem(name="tool_velocity", size=3, unit="m/s"),
        StateItem(name="finger_position", size=1, unit="m"),
    ),
    state_mean=(0.0,) * 7,
    state_std=(1.0,) * 7,
    action=ActionSpace(rows=ROWS, step_s=0.1, mean=(0.0,) * 4, std=(1.0,) * 4),
    instruction=InstructionInput(tokens=1, vocabulary=("<pad>", "<unk>", "left", "right")),
    training={"recipe": "none, written by hand"},
)
graph = onnx.parser.parse_model(GRAPH).SerializeToString()
folder = sys.argv[1] if len(sys.argv) > 1 else "outputs/bundles/reach"
bundle = write_bundle(folder, manifest, {"policy.onnx": graph})  # hashes the files and reads them back
tendon.load_policy(bundle.folder, robot).warm_up()  # every check that policy_node makes, and one inference
print(f"{bundle.folder}: digest {bundle.digest[:12]}, fits {robot.name}")
