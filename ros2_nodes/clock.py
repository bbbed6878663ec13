"""ROS time for the control path: it does not jump with the wall clock."""

from __future__ import annotations

import threading
import time

from rclpy.clock import JumpThreshold
from rclpy.duration import Duration
from rclpy.node import Node

_WAKE_S = 0.05


class RosClock:
    """A core `Clock` of ROS time.

    Normally it is `CLOCK_MONOTONIC` plus the offset to system time when the node started. When somebody sets
    the system clock, all running nodes keep their common time, and a message of a clock that differs is
    refused as too old or in the future. With `use_sim_time` it is what `/clock` says.

    Args:
        node: its `use_sim_time` decides.
    """

    def __init__(self, node: Node) -> None:
        self._ros = node.get_clock()
        self.simulated = bool(node.get_parameter("use_sim_time").value)
        self._offset_ns = time.time_ns() - time.monotonic_ns()
        self._advanced = threading.Condition()
        self._closed = False
        if self.simulated:
            nanosecond = JumpThreshold(
                min_forward=Duration(nanoseconds=1), min_backward=Duration(nanoseconds=-1), on_clock_change=True
            )
            self._jumps = self._ros.create_jump_callback(nanosecond, post_callback=self._wake)

    def now_ns(self) -> int:
        """Returns ROS time; with `use_sim_time`, 0 before the first `/clock`."""
        if self.simulated:
            return int(self._ros.now().nanoseconds)
        return time.monotonic_ns() + self._offset_ns

    def sleep_until_ns(self, deadline_ns: int) -> None:
        """Blocks until the deadline; returns early only when the clock was closed."""
        if not self.simulated:
            while not self._closed and (left := deadline_ns - self.now_ns()) > 0:
                time.sleep(left * 1e-9)
            return
        with self._advanced:
            while not self._closed and self.now_ns() < deadline_ns:
                self._advanced.wait(_WAKE_S)

    def jump_ns(self) -> int:
        """Returns how far the system clock was set since this node started; 0 with `use_sim_time`."""
        return 0 if self.simulated else time.time_ns() - time.monotonic_ns() - self._offset_ns

    def close(self) -> None:
        """Ends every sleep now and from now on."""
        self._closed = True
        self._wake()

    def _wake(self, _: object = None) -> None:
        with self._advanced:
            self._advanced.notify_all()
