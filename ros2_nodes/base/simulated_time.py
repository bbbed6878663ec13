"""Simulated time between processes: `/clock`, and what each node says when it has done what was due.

A node that lives by `/clock` says on `sim/done` that it is through with a time. `sim_node` moves the clock on when all
have said so, and gives up those that cannot any more (`tendon.core.timekeeper`).
"""

from __future__ import annotations

import os

from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from std_msgs.msg import Header

from tendon.core.timekeeper import Timekeeper
from tendon.graph import topics
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.base.clock import RosClock

REPEAT_NS = 100_000_000
"""Wall time after which a time that is not through yet is published again, for a node that has missed it."""


class DonePublisher:
    """A node's side: says that it is through with a time. Any thread.

    Args:
        node: that lives by `/clock`.
    """

    def __init__(self, node: Node) -> None:
        self._name, self._pid = node.get_name(), os.getpid()
        self._publisher = node.create_publisher(Header, topics.DONE, qos.EACH)

    def say(self, stamp_ns: int, commands: int = 0) -> None:
        """Says that this node is through with a time, and how many commands it sent the robot in it."""
        done = wire.Done(node=self._name, pid=self._pid, stamp_ns=stamp_ns, commands=commands)
        self._publisher.publish(wire.done_message(done))


class KeptClock(RosClock):
    """The clock of the node that owns simulated time.

    Args:
        node: that one.
        keeper: whose time it is.
    """

    def __init__(self, node: Node, keeper: Timekeeper) -> None:
        super().__init__(node)
        self._keeper = keeper

    def now_ns(self) -> int:
        """Returns simulated time."""
        return self._keeper.now_ns

    def jump_ns(self) -> int:
        """Returns 0: the system clock does not matter."""
        return 0


class ClockPublisher:
    """The simulator's side: `/clock`, and the ears of a timekeeper.

    Args:
        node: publishes and subscribes.
        keeper: whose time it is.
    """

    def __init__(self, node: Node, keeper: Timekeeper) -> None:
        self._keeper = keeper
        self._said_ns = 0
        self._clock = node.create_publisher(Clock, topics.CLOCK, qos.NEWEST)
        node.create_subscription(Header, topics.DONE, self._hear, qos.EACH)

    def _hear(self, message: Header) -> None:
        done = wire.read_done(message)  # nobody is waited for because of one that cannot be read
        self._keeper.done(done.node, done.pid, done.stamp_ns, done.commands)

    def publish(self, wall_ns: int) -> None:
        """Publishes the time now."""
        self._said_ns = wall_ns
        self._clock.publish(Clock(clock=wire.time_message(self._keeper.now_ns)))

    def repeat(self, wall_ns: int) -> None:
        """Publishes it again when it was said a while ago."""
        if wall_ns - self._said_ns > REPEAT_NS:
            self.publish(wall_ns)
