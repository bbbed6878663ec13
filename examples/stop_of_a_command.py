"""Every command ends in a stop: whoever sends them dies in mid-motion, and the last command brings the arm to rest.

Run: python examples/stop_of_a_command.py
"""

from __future__ import annotations

import numpy as np

import tendon
from tendon.control.controller import Controller
from tendon.robots.trajectory_controller import TrajectoryController

robot = tendon.load_robot("panda")
home, rest = robot.vector("home"), np.zeros(len(robot.joints))
away = home + np.eye(len(home))[0]  # the first joint, 1 rad further
controller = Controller(robot, held=home)  # what the robot side holds at the start
arm = TrajectoryController(robot.joint_names, home)  # what runs beside the motors and plays commands

now_ns, died_ns = 0, 900_000_000
controller.tick(now_ns, tendon.Observation(stamp_ns=now_ns, joint_position=home, joint_velocity=rest))
controller.arm()
while now_ns <= 1_200_000_000:
    position, velocity = arm.sample(now_ns)
    if now_ns >= 400_000_000 and now_ns % 100_000_000 == 0:
        print(f"{now_ns // 1_000_000:4} ms: {position[0] - home[0]:.3f} rad, {velocity[0]:.3f} rad/s")
    if now_ns < died_ns:
        if now_ns == 400_000_000:
            rows = {"start_ns": now_ns, "step_ns": 1_000_000_000, "observation_stamp_ns": now_ns}
            controller.submit(tendon.ActionChunk(actions=np.array([home, away, away]), **rows), now_ns)
        seen = tendon.Observation(stamp_ns=now_ns, joint_position=position, joint_velocity=velocity)
        command = controller.tick(now_ns, seen).command
        if command is not None:  # none while the arm settles after it was armed
            arm.accept_command(command, now_ns)
    elif now_ns == died_ns:
        print("     the sender is dead: no command from here on")
    now_ns += controller.period_ns
