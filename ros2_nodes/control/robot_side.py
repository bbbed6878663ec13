"""Who takes the commands besides the safety monitor: the robot side, as far as the middleware knows it."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rclpy.publisher import Publisher
from rclpy.qos import ReliabilityPolicy
from rclpy.topic_endpoint_info import TopicEndpointInfo

from tendon.graph.node_imports import stand_in
from tendon.ros2_nodes.base.publishers import name_of, robot_names
from tendon.ros2_nodes.base.shell import NodeShell

LISTENERS = 2
"""Who takes every command at least: the robot side and the safety monitor."""
LOOK_S = 1.0
FAST_DDS = b"\x01\x0f"
HOST = slice(0, 4)
"""Of the id of an endpoint of Fast DDS: who made it, and its machine (by its network addresses when it was started)."""


class RobotSide:
    """Looks, and warns once of one on another machine. One thread looks, any asks.

    Args:
        node: the control node.
        publishers: of commands.
    """

    def __init__(self, node: NodeShell, publishers: Sequence[Publisher]) -> None:
        self._node, self._publishers = node, publishers
        self._stand_in = stand_in(node.get_parameter("backend").value)
        self._next_s = 0.0
        self._hosts: set[bytes] = set()
        self._warned: set[str] = set()
        self.acknowledges = False
        """Whether it is known to say which commands it has: `joint_trajectory_controller` listens best-effort."""

    def unheard(self) -> str:
        """Returns which commands the robot or the safety monitor would not get; empty when they are matched."""
        alone = [each.topic_name for each in self._publishers if each.get_subscription_count() < LISTENERS]
        return f"not both the robot and the safety monitor are connected to {', '.join(alone)}" if alone else ""

    def look(self) -> None:
        """Asks the middleware, if it was not asked a moment ago."""
        if time.monotonic() < self._next_s:
            return
        self._next_s = time.monotonic() + LOOK_S
        acknowledges = True
        for topic in (each.topic_name for each in self._publishers):
            names = robot_names(self._node, topic, self._stand_in)
            takers = self._node.get_subscriptions_info_by_topic(topic)
            robots = [each for each in takers if name_of(each, self._node) in names]
            reliable = [each.qos_profile.reliability is ReliabilityPolicy.RELIABLE for each in robots]
            acknowledges &= bool(reliable) and all(reliable)
            for robot in robots:
                self._warn_of_another(topic, robot)
        self.acknowledges = acknowledges

    def _warn_of_another(self, topic: str, robot: TopicEndpointInfo) -> None:
        self._hosts = self._hosts or {
            bytes(each.endpoint_gid)[HOST]
            for each in self._node.get_publishers_info_by_topic(topic)
            if name_of(each, self._node) == self._node.get_name()
        }
        name, host = name_of(robot, self._node), bytes(robot.endpoint_gid)[HOST]
        if not self._hosts or host in self._hosts or not host.startswith(FAST_DDS) or name in self._warned:
            return
        self._warned.add(name)
        self._node.get_logger().warning(
            f"{name} takes {topic} on another machine, or was started when this one had other network addresses: where "
            "a network between them delays commands, or loses them alone, the robot may leap. Run control node and "
            "safety monitor on the robot's machine; the policy may be elsewhere (docs/how-to/remote.md)"
        )
