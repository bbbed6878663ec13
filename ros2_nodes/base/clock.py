"""ROS time for the control path: it does not jump with the wall clock."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import cast

from rclpy.clock import ROSClock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.time import Time
from rosgraph_msgs.msg import Clock

from tendon.core.time_follower import TimeFollower
from tendon.graph import topics
from tendon.ros2_nodes.wire import time_ns

_WAKE_S = 0.05
_REMEMBERED = 64


class RosClock:
    """A core `Clock` of ROS time.

    Normally it is `CLOCK_MONOTONIC` plus the offset to system time when the node started. When somebody sets
    the system clock, all running nodes keep their common time, and a message of a clock that differs is
    refused as too old or in the future. With `use_sim_time` it is what `/clock` says, as far as a `TimeFollower`
    believes it.

    Args:
        node: its `use_sim_time` decides.
    """

    def __init__(self, node: Node) -> None:
        self._ros = cast(ROSClock, node.get_clock())
        self.simulated = bool(node.get_parameter("use_sim_time").value)
        self._offset_ns = time.time_ns() - time.monotonic_ns()
        self._changed = threading.Condition()
        self._listeners: list[Callable[[int], None]] = []
        self._closed = False
        self._follower = TimeFollower()
        self._heard: deque[tuple[int, int]] = deque(maxlen=_REMEMBERED)
        if self.simulated:
            for subscription in tuple(node.subscriptions):
                if subscription.msg_type is Clock:  # that of rclpy, which believes everybody
                    node.destroy_subscription(subscription)
            newest = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
            node.create_subscription(Clock, topics.CLOCK, self._hear, newest)

    def now_ns(self) -> int:
        """Returns ROS time; with `use_sim_time`, 0 before the first `/clock`."""
        if self.simulated:
            return self._follower.now_ns
        return time.monotonic_ns() + self._offset_ns

    def ago_ns(self, wall_ns: int) -> int:
        """Returns what the time was so much wall time ago; of simulated time the last ticks are remembered."""
        if not self.simulated:
            return self.now_ns() - wall_ns
        then_ns = time.monotonic_ns() - wall_ns
        return next((stamp_ns for heard_ns, stamp_ns in reversed(self._heard) if heard_ns <= then_ns), self.now_ns())

    def listen(self, listener: Callable[[int], None]) -> None:
        """Calls a function with each new simulated time, in the executor's thread."""
        self._listeners.append(listener)

    def wait_for_start(self) -> None:
        """Blocks until there is a time; returns early only when the clock was closed."""
        with self._changed:
            while not self._closed and not self.now_ns():
                self._changed.wait(_WAKE_S)

    def sleep_until_ns(self, deadline_ns: int) -> None:
        """Blocks until the deadline; returns early only when the clock was closed or has gone back."""
        if not self.simulated:
            while not self._closed and (left := deadline_ns - self.now_ns()) > 0:
                time.sleep(left * 1e-9)
            return
        with self._changed:
            begin_ns = self.now_ns()
            while not self._closed and begin_ns <= self.now_ns() < deadline_ns:
                self._changed.wait(_WAKE_S)

    def take_stray(self) -> str:
        """Returns what was wrong with the last `/clock` that was refused, once; empty when none was."""
        return self._follower.take_stray()

    def jump_ns(self) -> int:
        """Returns how far the system clock was set since this node started; 0 with `use_sim_time`."""
        return 0 if self.simulated else time.time_ns() - time.monotonic_ns() - self._offset_ns

    def close(self) -> None:
        """Ends every sleep now and from now on."""
        self._closed = True
        self._listeners.clear()
        with self._changed:
            self._changed.notify_all()

    def _hear(self, message: Clock) -> None:
        stamp_ns, before_ns = time_ns(message.clock), self._follower.now_ns
        if not self._follower.hear(stamp_ns) or stamp_ns == before_ns:
            return
        self._heard.append((time.monotonic_ns(), stamp_ns))
        self._ros.set_ros_time_override(Time(nanoseconds=stamp_ns, clock_type=ClockType.ROS_TIME))
        with self._changed:
            self._changed.notify_all()
        for listener in tuple(self._listeners):
            listener(stamp_ns)
