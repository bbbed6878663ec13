"""A policy of one's own as a ROS node: no Tendon in it, only messages. Waves the joint `turn` of the example arm.

Example:
  python examples/own_policy.py
"""

from __future__ import annotations

import math
import signal

import rclpy
from builtin_interfaces.msg import Duration
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

ROWS, STEP_S = 10, 0.1
JOINTS = ["turn", "lift"]


class OwnPolicy(Node):
    """Looks at every tenth joint state and answers one second of motion."""

    def __init__(self) -> None:
        super().__init__("own_policy")
        self._chunks = self.create_publisher(JointTrajectory, "policy/action_chunk", 1)
        self.create_subscription(JointState, "joint_states", self._observe, qos_profile_sensor_data)
        self._count = 0

    def _observe(self, observation: JointState) -> None:
        self._count += 1
        if self._count % 10:
            return
        chunk = JointTrajectory(joint_names=JOINTS)
        chunk.header.stamp = observation.header.stamp  # when the robot was seen: rows are placed by it
        seen_s = observation.header.stamp.sec % 1000 + observation.header.stamp.nanosec * 1e-9
        for k in range(1, ROWS + 1):
            at_s = k * STEP_S
            turn = 0.5 * math.sin(2.0 * math.pi * (seen_s + at_s) / 5.0)
            due = Duration(sec=int(at_s), nanosec=round(at_s % 1.0 * 1e9))
            chunk.points.append(JointTrajectoryPoint(positions=[turn, 0.3], time_from_start=due))
        self._chunks.publish(chunk)


def main() -> None:
    """Runs until Ctrl-C, SIGTERM or a terminal that is closed, at whatever moment they come."""
    requests: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:  # as nohup leaves it
            signal.signal(number, lambda number, _: requests.append(number))
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    executor = SingleThreadedExecutor()
    executor.add_node(OwnPolicy())
    while not requests:
        executor.spin_once(timeout_sec=0.1)


if __name__ == "__main__":
    main()
