"""One inference: an observation of a simulated scene goes in, joint targets come out.

Run: python examples/infer_once.py
"""

from __future__ import annotations

import tendon
from tendon.robots.kinematics import Kinematics

robot = tendon.load_robot("panda")
policy = tendon.load_policy("tabletop", robot)
env = tendon.make_env()
seen, info = env.reset(seed=100_003)
env.close()

observation = tendon.Observation(
    stamp_ns=0,  # exposure of the images; the rows of the answer are placed by it
    joint_position=seen["joint_position"],
    joint_velocity=seen["joint_velocity"],
    images={c.name: tendon.Image(stamp_ns=0, pixels=seen[f"image_{c.name}"]) for c in policy.cameras},
    instruction=seen["instruction"],
)
chunk = policy.infer(observation)
print(f"{observation.instruction}: {len(chunk.actions)} rows, one each {chunk.step_ns * 1e-6:g} ms")
kinematics = Kinematics(robot)
for k in range(0, len(chunk.actions), 5):
    tool, _ = kinematics.tool_pose(chunk.actions[k])
    due_ms = (chunk.start_ns + k * chunk.step_ns) // 1_000_000
    print(f"  {due_ms:4} ms: tool at {tool.round(3).tolist()} m, fingers {chunk.actions[k, -1]:.3f} m")
