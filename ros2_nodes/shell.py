"""What every node of the graph shares: parameters, time, heartbeat and diagnostics."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TypeVar

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.node import Node
from std_msgs.msg import Header

from tendon.core.profile import load_profile
from tendon.ros2_nodes import conversion, qos
from tendon.ros2_nodes.clock import RosClock
from tendon.ros2_nodes.meter import Meter

OK, WARN, ERROR, STALE = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR, DiagnosticStatus.STALE
BEAT_PERIOD_NS = 20_000_000
REPORT_PERIOD_S = 0.5
SKEW_NS = 50_000_000

Value = TypeVar("Value", bool, int, float, str)


class NodeShell(Node):
    """A node of the graph. `runtime.run_node` calls `start`, then `check` 50 times a second, `finish` and `close`.

    Args:
        name: unless a remap gives another.
        tunable: serve parameters to other nodes.
    """

    def __init__(self, name: str, tunable: bool = False) -> None:
        super().__init__(name, start_parameter_services=tunable)
        self.profile = load_profile(self.setting("robot", "panda"))
        self.time = RosClock(self)
        self.meters: dict[str, Meter] = {}
        self.instance = f"{os.getpid()}-{time.monotonic_ns()}"
        self._beats = self.create_publisher(Header, "heartbeat", qos.EACH)
        self._next_beat_ns = 0
        self._reports = self.create_publisher(DiagnosticArray, "diagnostics", qos.EACH)
        self._next_report_s = 0.0
        self._said: tuple[bytes, str] | None = None

    def setting(self, name: str, default: Value) -> Value:
        """Returns a ROS parameter, of the type of its default."""
        value: Value = self.declare_parameter(name, default).value
        return value

    def meter(self, name: str) -> Meter:
        """Returns a new meter that appears in this node's diagnostics."""
        self.meters[name] = Meter()
        return self.meters[name]

    def beat(self) -> None:
        """Publishes the heartbeat when it is due. Called from the loop whose life it shows."""
        now_ns = time.monotonic_ns()
        if now_ns >= self._next_beat_ns:
            self._next_beat_ns = now_ns + BEAT_PERIOD_NS
            stamp = conversion.time_message(self.time.now_ns())
            self._beats.publish(Header(stamp=stamp, frame_id=f"{self.get_name()}@{self.instance}"))

    def health(self) -> tuple[bytes, str]:
        """Returns the level and text of this node's diagnostics; a node with something to say overrides it."""
        return OK, "running"

    def facts(self) -> dict[str, object]:
        """Returns more values for this node's diagnostics."""
        return {}

    def start(self) -> None:
        """Begins the node's own threads, when everything is constructed."""

    def check(self) -> None:
        """Publishes diagnostics twice a second, and at once when the health changes."""
        said = self.health()
        if abs(self.time.jump_ns()) > SKEW_NS and said[0] == OK:
            said = WARN, f"the system clock was set by {self.time.jump_ns() / 1e9:.2f} s: restart the graph"
        if said == self._said and time.monotonic() < self._next_report_s:
            return
        if said != self._said and said[0] != OK:
            self.get_logger().warning(said[1])
        self._said, self._next_report_s = said, time.monotonic() + REPORT_PERIOD_S
        values = self.facts()
        for name, meter in self.meters.items():
            values |= meter.values(name)
        status = conversion.status(self.get_name(), *said, values)
        self._reports.publish(conversion.diagnostics(self.time.now_ns(), status))

    def finish(self, spin: Callable[[], None]) -> None:
        """Brings the node's work to an end after a signal; `spin` handles messages for a moment."""

    def close(self) -> None:
        """Ends the node's threads and releases what it holds."""
        self.time.close()
        self.destroy_node()
