"""A robot side that is not there: what ros2_control does for a real arm, for trying a profile without one.

Plays every `CONTROLLER/joint_trajectory` and publishes `joint_states`, 100 times a second.

Example:
  python docs/examples/mock_arm.py docs/examples/two_joint_arm/profile.yaml
"""

from __future__ import annotations

import contextlib
import sys
import time
from functools import partial

import numpy as np
import rclpy
from rclpy.experimental import EventsExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from tendon.control.trajectory_controller import TrajectoryController
from tendon.core.errors import TendonError
from tendon.core.profile import RobotProfile, load_profile
from tendon.ros2_nodes import conversion, qos


class MockArm(Node):
    """Follows its controllers exactly."""

    def __init__(self, profile: RobotProfile) -> None:
        super().__init__("mock_arm")
        self._names = profile.joint_names
        self._columns = {c.name: [self._names.index(joint) for joint in c.joints] for c in profile.controllers}
        home = profile.vector("home")
        self._controllers = {
            c.name: TrajectoryController(c.joints, home[self._columns[c.name]]) for c in profile.controllers
        }
        for name in self._controllers:
            topic, take = f"{name}/joint_trajectory", partial(self._take, name)
            self.create_subscription(JointTrajectory, topic, take, qos.NEWEST, raw=True)
        self._states = self.create_publisher(JointState, "joint_states", qos.NEWEST)
        self.create_timer(0.01, self._measure)

    def _take(self, name: str, data: bytes) -> None:
        try:
            self._controllers[name].accept(**conversion.trajectory(data), now_ns=time.time_ns())
        except TendonError as error:
            self.get_logger().warning(f"{name} rejected a trajectory: {error}")

    def _measure(self) -> None:
        now_ns = time.time_ns()
        position, velocity = np.zeros((2, len(self._names)))
        for name, controller in self._controllers.items():
            columns = self._columns[name]
            position[columns], velocity[columns] = controller.sample(now_ns)
        self._states.publish(conversion.joint_state_message(now_ns, self._names, position, velocity))


def main() -> None:
    """Runs until Ctrl-C."""
    rclpy.init()
    executor = EventsExecutor()  # a fifth of the CPU time of rclpy.spin
    executor.add_node(MockArm(load_profile(sys.argv[1])))
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            executor.spin_once(0.1)


if __name__ == "__main__":
    main()
