"""A UR5e moves on the mock, without ROS and without the arm: action chunk, executor, safety filter, driver.

Run: python examples/arm_ur5e.py
"""

from __future__ import annotations

import numpy as np

import tendon
from tendon.control.clearance.model import Clearance
from tendon.control.controller import Controller
from tendon.core.clock import ManualClock
from tendon.core.modes import Mode
from tendon.robots.drivers.mock.driver import MockDriver
from tendon.robots.trajectory_controller import TrajectoryController

robot, clock = tendon.load_robot("ur5e"), ManualClock()
driver = MockDriver(robot, clock)
driver.connect()
controller = Controller(robot, clearance=Clearance(robot))
player = TrajectoryController(robot.joint_names, driver.read().position)

turn = np.minimum(0.025 * np.arange(1, 25), 0.5)  # shoulder_pan_joint [rad], one row each 0.1 s, at rest in the end
chunk = robot.vector("home") + np.outer(turn, np.eye(len(robot.joints))[0])
for tick in range(350):
    now_ns, reading = clock.now_ns(), driver.read()
    seen = tendon.Observation(stamp_ns=now_ns, joint_position=reading.position, joint_velocity=reading.velocity)
    result = controller.tick(now_ns, seen)
    if tick == 0:
        controller.arm()
    if result.mode is Mode.ARMED and controller.settled:  # it is where its motion starts
        step = {"start_ns": now_ns + 100_000_000, "step_ns": 100_000_000, "observation_stamp_ns": now_ns}
        controller.submit(tendon.ActionChunk(actions=chunk, **step), now_ns)
    if result.command is not None:
        player.accept_command(result.command, now_ns)
    if tick % 50 == 0:
        print(f"{now_ns * 1e-9:.1f} s: {result.mode.value:8} turned by {reading.position[0]:.3f} rad")
    clock.advance_ns(controller.period_ns)
    driver.command(*player.sample(clock.now_ns()))
driver.close()
