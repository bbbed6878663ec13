"""Who takes the commands besides the safety monitor: the robot side, as far as the middleware knows it."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rclpy.publisher import Publisher
from rclpy.qos import ReliabilityPolicy
from rclpy.topic_endpoint_info import TopicEndpointInfo

from tendon.graph.running.state import RECORDER_NODE
from tendon.ros2_nodes.base.publishers import name_of
from tendon.ros2_nodes.base.shell import NodeShell

LISTENERS = 2
"""Who takes every command at least: the robot side and the safety monitor."""
OURS = ("safety_monitor", RECORDER_NODE)
LOOK_S = 1.0
FAST_DDS = b"\x01\x0f"
HOST = slice(0, 4)
"""Of the id of an endpoint of Fast DDS: who made it, and its machine (by the addresses of its network)."""


class RobotSide:
    """Looks, and warns once of one on another machine. One thread looks, any asks.

    Args:
        node: the control node.
        publishers: of commands.
    """

    def __init__(self, node: NodeShell, publishers: Sequence[Publisher]) -> None:
        self._node, self._publishers = node, publishers
        self._next_s = 0.0
        self._warned = False
        self._hosts: set[bytes] = set()
        self.acknowledges = True
        """Whether each says which commands it has: `joint_trajectory_controller` does not, it listens best-effort."""

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
            found = self._node.get_subscriptions_info_by_topic(topic)
            robots = [each for each in found if name_of(each, self._node) not in OURS]
            acknowledges &= all(each.qos_profile.reliability is ReliabilityPolicy.RELIABLE for each in robots)
            self._warn_of_others(topic, robots)
        self.acknowledges = acknowledges

    def _warn_of_others(self, topic: str, robots: Sequence[TopicEndpointInfo]) -> None:
        if self._warned:
            return
        self._hosts = self._hosts or {
            bytes(each.endpoint_gid)[HOST]
            for each in self._node.get_publishers_info_by_topic(topic)
            if name_of(each, self._node) == self._node.get_name()
        }
        ids = {name_of(each, self._node): bytes(each.endpoint_gid)[HOST] for each in robots}
        other = [name for name, host in ids.items() if name and host[:2] == FAST_DDS and host not in self._hosts]
        if other and self._hosts:
            self._warned = True
            self._node.get_logger().warning(
                f"{', '.join(other)} takes {topic} on another machine: where the network between delays commands, or "
                "loses them alone, the robot may leap. Run control node and safety monitor on the robot's machine; "
                "the policy may be elsewhere (docs/how-to/remote.md)"
            )
