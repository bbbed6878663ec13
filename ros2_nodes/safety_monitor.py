"""The safety monitor's process: it serves `safety/stop`, `safety/reset` and `safety/arm` and owns the latch.

Subscribes `heartbeat`, `joint_states`, `safety/state` (what the control node says of itself); publishes
`safety/permission` 50 times a second, which the control node needs fresh (<= 100 ms) to move, and its own status on
`safety/state`. It runs on monotonic time and uses no robot model: nothing it believes can widen a limit.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from diagnostic_msgs.msg import DiagnosticArray
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from std_srvs.srv import Trigger

from tendon.control.monitor import Permission, PermissionState, SafetyMonitor
from tendon.core.errors import StoppedError, TendonError
from tendon.ros2_nodes import conversion, qos
from tendon.ros2_nodes.permission import PERIOD_S, PERMISSION_TOPIC, STATE_TOPIC, permission_status
from tendon.ros2_nodes.runtime import Urgency, run_node
from tendon.ros2_nodes.shell import ERROR, OK, WARN, NodeShell

REQUIRED, WATCHED = ("control_node",), ("policy_node",)
REPORT_EVERY = 5


class SafetyMonitorNode(NodeShell):
    """Feeds the monitor and publishes its permission."""

    def __init__(self) -> None:
        super().__init__("safety_monitor")
        self._monitor = SafetyMonitor(self.profile, REQUIRED, WATCHED)
        self._reader = conversion.JointStateReader(self.profile.joint_names)
        self._permission = self._monitor.permission(time.monotonic_ns())
        self._count = 0
        self._answered = ""
        self._permissions = self.create_publisher(DiagnosticArray, PERMISSION_TOPIC, qos.NEWEST)
        self._states = self.create_publisher(DiagnosticArray, STATE_TOPIC, qos.EACH)
        self.create_subscription(Header, "heartbeat", self._beaten, qos.EACH)
        self.create_subscription(JointState, "joint_states", self._measured, qos.STREAM)
        self.create_subscription(DiagnosticArray, STATE_TOPIC, self._reported, qos.EACH)
        self.create_service(Trigger, "safety/stop", self._stop)
        self.create_service(Trigger, "safety/reset", self._reset)
        self.create_service(Trigger, "safety/arm", self._arm)
        self.create_timer(PERIOD_S, self._publish)

    def health(self) -> tuple[bytes, str]:
        """Returns the permission as a level."""
        state, reason = self._permission.state, self._permission.reason
        if state is PermissionState.LATCHED:
            return ERROR, f"latched: {reason}"
        return (
            (OK, "armed") if state is PermissionState.ARMED else (WARN, f"standby: {reason}" if reason else "standby")
        )

    def facts(self) -> dict[str, object]:
        """Returns which nodes have fallen silent."""
        return {"stale": ", ".join(self._monitor.silent(time.monotonic_ns()))}

    def _beaten(self, message: Header) -> None:
        node, _, instance = message.frame_id.partition("@")
        self._monitor.beat(node, instance, time.monotonic_ns())

    def _measured(self, message: JointState) -> None:
        try:
            _, position, velocity = self._reader.read(message)
        except TendonError as error:
            self._monitor.refused(str(error), time.monotonic_ns())
            return
        self._monitor.measured(position, velocity, time.monotonic_ns())

    def _reported(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name == "control_node":
                values = conversion.values_of(status)
                mode, event = values.get("mode", ""), int(values.get("event", "0"))
                self._monitor.report(mode, event, status.message, values.get("obstacle", ""))

    def _publish(self) -> None:
        self._permission = self._monitor.permission(time.monotonic_ns())
        self._send(self._permission)

    def _send(self, permission: Permission) -> None:
        now_ns = self.time.now_ns()
        message = conversion.diagnostics(now_ns, permission_status(permission))
        self._permissions.publish(message)
        if self._count % REPORT_EVERY == 0:
            self._states.publish(message)
        self._count += 1
        self.beat()

    def _stop(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._monitor.stop("stop was requested")
        self._publish()
        response.success, response.message = True, "stopping; latched until safety/reset"
        self.get_logger().warning("stop was requested")
        return response

    def _reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        return self._answer(response, self._monitor.reset, "reset; safety/arm permits motion again")

    def _arm(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        return self._answer(response, self._monitor.arm, "armed")

    def _answer(self, response: Trigger.Response, act: Callable[[int], None], done: str) -> Trigger.Response:
        now_ns = time.monotonic_ns()
        self._monitor.permission(now_ns)
        try:
            act(now_ns)
        except StoppedError as error:
            response.success, response.message = False, str(error)
        else:
            response.success, response.message = True, done
        self._publish()
        if response.message != self._answered:
            self.get_logger().info(response.message)
        self._answered = response.message
        return response


def main() -> int:
    """Runs the node."""
    return run_node(SafetyMonitorNode, Urgency.FIRST)


if __name__ == "__main__":
    sys.exit(main())
