"""The permission gate of a node on the robot side: it hears `safety/permission` itself, and looks who sends."""

from __future__ import annotations

import time
from collections.abc import Callable

from diagnostic_msgs.msg import DiagnosticArray

from tendon.graph import topics
from tendon.robots.permission_gate import OWNER, PermissionGate
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.base.publishers import Strangers
from tendon.ros2_nodes.base.shell import NodeShell

LOOK_S = 0.1


def listening_gate(node: NodeShell, now_ns: Callable[[], int]) -> PermissionGate:
    """Returns a gate that hears the safety monitor from here on.

    Args:
        node: subscribes.
        now_ns: see `PermissionGate`.
    """
    strangers = Strangers(node, topics.PERMISSION, OWNER)
    gate = PermissionGate(now_ns, node.profile.safety, time.time_ns, strangers.all)

    def hear(data: bytes) -> None:
        gate.receive(wire.PERMISSION.decode_bytes(data))  # one that cannot be read is nobody's: that before grows old

    node.create_subscription(DiagnosticArray, wire.PERMISSION.name, hear, qos.NEWEST, raw=True)
    node.every(LOOK_S, lambda: gate.check(strangers.named()))
    return gate
