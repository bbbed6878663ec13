"""Load a robot's profile: its joints, their limits, and where its tool is at home.

Run: python examples/load_robot.py ur5e
"""

from __future__ import annotations

import sys

import tendon
from tendon.robots.kinematics import Kinematics

robot = tendon.load_robot(sys.argv[1] if len(sys.argv) > 1 else "panda")
print(f"{robot.name}: {len(robot.joints)} joints, commanded {robot.control_hz:g} times a second")
for joint in robot.joints:
    print(
        f"  {joint.name:20} {joint.lower:7.3f} to {joint.upper:6.3f} rad or m, "
        f"at most {joint.velocity:5.2f}/s and {joint.acceleration:5.2f}/s^2"
    )
position, _ = Kinematics(robot).tool_pose(robot.vector("home"))
print(f"at home {robot.tool_frame} is at {position.round(3).tolist()} m in {robot.base_frame}")
