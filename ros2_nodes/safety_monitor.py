"""The safety monitor's process: it serves `safety/stop`, `safety/reset` and `safety/arm` and owns the latch.

Subscribes what the robot, its cameras and the other nodes send (`heartbeat`, `joint_states`, `safety/state`, and all of
`monitor_inputs`); publishes `safety/permission` 50 times a second, which the control node needs fresh (<= 100 ms) to
move, and its own status on `safety/state`. It runs on monotonic time and believes nobody: it can slow, hold and stop,
and nothing it hears can widen a limit. The latch is kept in a file, and what happens in the event log.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace

from diagnostic_msgs.msg import DiagnosticArray
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from std_srvs.srv import Trigger

from tendon.control.event_log import EventLog, profile_digest
from tendon.control.latch_file import LatchFile, LatchRecord, state_folder
from tendon.control.monitor import Permission, PermissionState, SafetyMonitor
from tendon.core.errors import StoppedError, TendonError
from tendon.graph.domain import domain_id
from tendon.ros2_nodes import conversion, qos
from tendon.ros2_nodes.monitor_inputs import MonitorInputs
from tendon.ros2_nodes.permission import PERIOD_S, PERMISSION_TOPIC, STATE_TOPIC, permission_status
from tendon.ros2_nodes.runtime import Urgency, run_node
from tendon.ros2_nodes.shell import ERROR, OK, WARN, NodeShell

REQUIRED, WATCHED = ("control_node",), ("policy_node",)
REPORT_EVERY = 5
REQUESTED = "stop was requested"


class SafetyMonitorNode(NodeShell):
    """Feeds the monitor and publishes its permission."""

    def __init__(self) -> None:
        super().__init__("safety_monitor")
        place = f"{self.profile.name}-{domain_id()}"
        self._file = LatchFile(state_folder() / f"latch-{place}.json")
        self._log = EventLog(state_folder() / "log", place, self._header())
        self._inputs = MonitorInputs(self, self.profile, self._log)
        inherited = self._file.inherited()
        watches = self._inputs.watches
        self._monitor = SafetyMonitor(self.profile, REQUIRED, WATCHED, watches=watches, latched=inherited)
        self._log.put("start", latched=inherited)
        self._reader = conversion.JointStateReader(self.profile.joint_names)
        self._permission = self._monitor.permission(time.monotonic_ns())
        self._kept: tuple[PermissionState, str] | None = None
        self._noted: Permission | None = None
        self._found: frozenset[tuple[str, int]] = frozenset()
        self._control: dict[str, str] = {}
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

    def _header(self) -> dict[str, object]:
        """Returns what a replay needs to know."""
        profile = self.profile
        limits = {
            name: profile.vector(name).tolist() for name in ("lower", "upper", "velocity", "acceleration", "jerk")
        }
        return {
            "robot": self.get_parameter("robot").value,
            "profile": profile_digest(profile),
            "environment": self.setting("environment", ""),
            "joints": list(profile.joint_names),
            "control_hz": profile.control_hz,
            "limits": limits,
        }

    def health(self) -> tuple[bytes, str]:
        """Returns the permission as a level."""
        state, reason = self._permission.state, self._permission.reason
        if state is PermissionState.LATCHED:
            return ERROR, f"latched: {reason}"
        if problem := self._file.problem or self._log.problem:
            return WARN, problem
        if state is PermissionState.ARMED:
            silent = ", ".join(self._monitor.silent(time.monotonic_ns()))
            but = f", but silent: {silent}" if silent else ""
            if self._permission.speed < 1.0:
                return WARN, f"armed, {self._response()}: {reason}{but}"
            return (WARN, f"armed{but}") if silent else (OK, "armed")
        return WARN, f"standby: {reason}" if reason else "standby"

    def facts(self) -> dict[str, object]:
        """Returns what was found, and where the log is."""
        return {
            "stale": ", ".join(self._monitor.silent(time.monotonic_ns())),
            "found": "; ".join(finding.reason for finding in self._monitor.findings),
            "cameras": self._inputs.cameras_needed(),
            "log": self._log.path or "",
            "log lines lost": self._log.lost,
        }

    def _response(self) -> str:
        if self._permission.state is PermissionState.LATCHED:
            return "stop"
        restriction = self._monitor.restriction
        return "full" if restriction is None else restriction.response.name.lower()

    def _beaten(self, message: Header) -> None:
        node, _, instance = message.frame_id.partition("@")
        now_ns = time.monotonic_ns()
        self._monitor.beat(node, instance, now_ns)
        self._inputs.sources.beat(node, instance, now_ns)

    def _measured(self, message: JointState) -> None:
        now_ns = time.monotonic_ns()
        try:
            stamp_ns, position, velocity = self._reader.read(message)
        except TendonError as error:
            self._monitor.refused(str(error), now_ns)
            return
        if self._inputs.measured(stamp_ns, position, velocity, now_ns):  # the same stamp again is no life sign
            self._monitor.measured(position, velocity, now_ns)

    def _reported(self, message: DiagnosticArray) -> None:
        for status in message.status:
            values = conversion.values_of(status)
            if status.name == "control_node":
                mode, event = values.get("mode", ""), int(values.get("event", "0"))
                self._monitor.report(mode, event, status.message, values.get("obstacle", ""))
                if mode != self._control.get("mode"):
                    self._log.put("mode", mode=mode, reason=status.message)
                self._control = values
            elif "response" in values and status.name != self.get_name():
                self._inputs.requests.ask(status.name, values["response"], status.message, time.monotonic_ns())

    def _publish(self) -> None:
        self._permission = self._monitor.permission(time.monotonic_ns())
        self._note(self._permission)
        self._send(self._permission)

    def _note(self, permission: Permission) -> None:
        """Logs and keeps what has changed."""
        found = frozenset((finding.source, int(finding.response)) for finding in self._monitor.findings)
        if found != self._found:
            reasons = [(f.source, f.response.name.lower(), f.reason) for f in self._monitor.findings]
            self._log.put("findings", found=reasons)
            self._found = found
        if permission == self._noted:
            return
        before, self._noted = self._noted, permission
        known = before is not None and replace(before, reason=permission.reason) == permission
        if known and permission.state is not PermissionState.LATCHED:
            return  # the reason alone has changed: what was found is logged above
        values = {"state": permission.state.value, "speed": permission.speed, "reason": permission.reason}
        self._log.put("permission", event=permission.event, **values)
        kept = permission.state, permission.reason if permission.state is PermissionState.LATCHED else ""
        if kept != self._kept:
            self._kept = kept
            self._file.save(LatchRecord(state=kept[0].value, reason=kept[1]))

    def _send(self, permission: Permission) -> None:
        now_ns = self.time.now_ns()
        self._permissions.publish(conversion.diagnostics(now_ns, permission_status(permission)))
        if self._count % REPORT_EVERY == 0:
            restriction = self._monitor.restriction
            details = {
                "response": self._response(),
                "source": "" if restriction is None else restriction.source,
                "margin": self._control.get("margin", ""),
                "binding": self._control.get("binding", ""),
            }
            self._states.publish(conversion.diagnostics(now_ns, permission_status(permission, **details)))
        self._count += 1
        self.beat()

    def _stop(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._monitor.stop(REQUESTED)
        self._log.put("request", request="stop", answer="stopping")
        self._publish()
        response.success, response.message = True, "stopping; latched until safety/reset"
        self.get_logger().warning("stop was requested")
        return response

    def _reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        return self._answer(response, "reset", self._monitor.reset, "reset; safety/arm permits motion again")

    def _arm(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        return self._answer(response, "arm", self._monitor.arm, "armed")

    def _answer(
        self, response: Trigger.Response, request: str, act: Callable[[int], None], done: str
    ) -> Trigger.Response:
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
            self._log.put("request", request=request, answer=response.message)
        self._answered = response.message
        return response

    def finish(self, spin: Callable[[], None]) -> None:
        """Ends on request: a stop that somebody asked for ends with the graph, the latch of a fault does not."""
        del spin
        permission = self._permission
        self._log.put("end", state=permission.state.value, reason=permission.reason)
        if permission.state is PermissionState.STANDBY or permission.reason == REQUESTED:
            self._file.save(LatchRecord(state=PermissionState.STANDBY.value))

    def close(self) -> None:
        """Ends the threads of the latch file and the log."""
        self._file.close()
        self._log.close()
        super().close()


def main() -> int:
    """Runs the node."""
    return run_node(SafetyMonitorNode, Urgency.FIRST)


if __name__ == "__main__":
    sys.exit(main())
