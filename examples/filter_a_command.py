"""The safety filter without ROS: a target below the table is asked for, and the arm is held above it.

Run: python examples/filter_a_command.py
"""

from __future__ import annotations

import numpy as np

import tendon
from tendon.control.clearance.model import Clearance
from tendon.control.filter import SafetyFilter
from tendon.robots.environment import load_environment
from tendon.robots.kinematics import Kinematics

robot = tendon.load_robot("panda")
kinematics = Kinematics(robot)
home = robot.vector("home")
tool, rotation = kinematics.tool_pose(home)
target = kinematics.inverse(np.array([tool[0], tool[1], -0.1]), rotation, home)

safety_filter = SafetyFilter(robot, Clearance(robot, load_environment("tabletop")))
safety_filter.reset(home)
for step in range(1, 151):
    verdict = safety_filter.step(target)  # one period of 10 ms
    if step % 15 == 0:
        height = kinematics.tool_pose(verdict.position)[0][2]
        print(f"{step * 10:4} ms: tool at {height:.3f} m, rest within {verdict.stop.ticks[-1] * 10:3} ms, ", end="")
        print(", ".join(verdict.reasons) or "as asked")
print(f"asked for -0.100 m; what holds it: {verdict.binding}")
