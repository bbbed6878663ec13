"""Makes the policy: it looks for what is red in the picture, and moves the joints to where that leads the tool.

A stand-in for your training. Where the red ball is in the picture is fitted to the joints that reach it, over scenes of
the suite `reach`; the graph that finds it and answers the joints is written out by hand.

Run: python -m my_arm.fit
"""

from __future__ import annotations

import numpy as np
import onnx

import tendon
from my_arm import POLICY, ROBOT
from tendon.core.types import Array
from tendon.evaluation.suites import load_suite
from tendon.policies.bundle.bundle import write_bundle
from tendon.policies.spec.components import JointComponent
from tendon.policies.spec.manifest import CameraInput, Manifest
from tendon.policies.spec.spaces import ActionSpace, StateItem

SCENES = range(400)
ROWS, STEP_S = 10, 0.1
SPEED = 0.6
"""Of the joint that has further to go [rad/s]."""
SIZE = 96
POWERS = 5


def main() -> None:
    """Fits, and writes the bundle."""
    robot, reach = tendon.load_robot(str(ROBOT)), load_suite("reach")
    world = reach.world(robot)
    places, joints = [], []
    for seed in SCENES:
        scene = reach.scene(robot, seed)
        world.reset(scene)
        places.append(find_red(world.render("front")))
        joints.append(scene.posture)
    world.close()
    factors, *_ = np.linalg.lstsq(features(np.array(places)), np.array(joints), rcond=None)
    error = np.abs(features(np.array(places)) @ factors - joints).max(axis=0)
    print(f"{len(places)} scenes, largest error {error.round(3)} rad")
    components = tuple(JointComponent(joint=name, unit="rad") for name in robot.joint_names)
    manifest = Manifest(
        name="find_red",
        robot=robot.name,
        tool_frame=robot.tool_frame,
        joint_names=robot.joint_names,
        cameras=(CameraInput(name="front", width=SIZE, height=SIZE),),
        state=(StateItem(name="joints", joints=components),),
        state_mean=(0.0, 0.0),
        state_std=(1.0, 1.0),
        action=ActionSpace(
            rows=ROWS,
            step_s=STEP_S,
            space="joint_position",
            relative_to="observation",
            joints=components,
            mean=(0.0, 0.0),
            std=(1.0, 1.0),
        ),
        instruction=None,
        training={"recipe": "python -m my_arm.fit"},
    )
    bundle = write_bundle(POLICY, manifest, {"policy.onnx": graph(factors)})
    tendon.load_policy(bundle.folder, robot).warm_up()
    print(f"{bundle.folder}: digest {bundle.digest[:12]}")


def find_red(picture: Array) -> Array:
    """Returns column and row (2,) of the middle of what is red, 0 to 1, as the graph does."""
    red, green, blue = (picture[..., k].astype(np.float64) for k in range(3))
    mask = red - np.maximum(green, blue) > 60
    return np.array([np.nonzero(mask)[k].mean() for k in (1, 0)]) / SIZE


def features(places: Array) -> Array:
    """Returns (k, 15) products of powers of columns and rows, up to the fourth, of (k, 2)."""
    x, y = places.T
    return np.stack([x**i * y**j for i, j in exponents()], axis=1)


def exponents() -> list[tuple[int, int]]:
    """Returns the powers of column and row in each feature."""
    return [(i, j) for i in range(POWERS) for j in range(POWERS - i)]


def graph(factors: Array) -> bytes:
    """Returns the policy: (1, 96, 96, 3) picture and (1, 2) joints [rad] to (1, 10, 2) ways from there."""
    columns, rows = (", ".join(map(str, each)) for each in zip(*exponents(), strict=True))
    numbers = ", ".join(f"{value:.6f}" for value in factors.ravel())
    line = ", ".join(f"{(k + 0.0) / SIZE:.6f}" for k in range(SIZE))
    ramp = ", ".join(f"{SPEED * STEP_S * (k + 1):.3f}" for k in range(ROWS))
    text = f"""
    <ir_version: 8, opset_import: ["" : 17]>
    find_red (uint8[1,{SIZE},{SIZE},3] image_front, float[1,2] state) => (float[1,{ROWS},2] actions)
    <float[{len(factors)},2] factors = {{{numbers}}}, float[1,1,{SIZE}] columns = {{{line}}},
     float[1,{SIZE},1] rows = {{{line}}}, float[1,1,{len(factors)}] of_column = {{{columns}}},
     float[1,1,{len(factors)}] of_row = {{{rows}}},
     float[1,{ROWS},1] ramp = {{{ramp}}}, float threshold = {{60}}, float one = {{1}}, float small = {{0.000001}},
     int64[3] single = {{1, 1, 2}}>
    {{
      picture = Cast <to = 1> (image_front)
      red, green, blue = Split <axis = 3> (picture)
      other = Max (green, blue)
      redder = Sub (red, other)
      is_red = Greater (redder, threshold)
      mask_4 = Cast <to = 1> (is_red)
      axis_3 = Constant <value_ints = [3]> ()
      mask = Squeeze (mask_4, axis_3)
      count = ReduceSum <keepdims = 0> (mask)
      divisor = Max (count, one)
      weighted_x = Mul (mask, columns)
      weighted_y = Mul (mask, rows)
      sum_x = ReduceSum <keepdims = 0> (weighted_x)
      sum_y = ReduceSum <keepdims = 0> (weighted_y)
      x_0 = Div (sum_x, divisor)
      y_0 = Div (sum_y, divisor)
      x = Max (x_0, small)
      y = Max (y_0, small)
      x_powers = Pow (x, of_column)
      y_powers = Pow (y, of_row)
      products = Mul (x_powers, y_powers)
      seen = MatMul (products, factors)
      joints = Reshape (state, single)
      is_seen = Greater (count, one)
      goal = Where (is_seen, seen, joints)
      away = Sub (goal, joints)
      away_size = Abs (away)
      distance = ReduceMax <axes = [2]> (away_size)
      divisor_2 = Max (distance, small)
      part = Div (ramp, divisor_2)
      share = Min (part, one)
      actions = Mul (share, away)
    }}
    """
    return bytes(onnx.parser.parse_model(text).SerializeToString())


if __name__ == "__main__":
    main()
