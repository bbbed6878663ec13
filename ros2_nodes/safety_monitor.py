"""The safety monitor's process: it serves `safety/stop`, `safety/reset` and `safety/arm` and owns the latch.

Subscribes what the robot, its cameras and the other nodes send (`heartbeat`, `joint_states`, `safety/state`, and all of
`monitor`); publishes `safety/permission` 50 times a second, which the control node needs fresh (<= 100 ms) to
move, and its own status on `safety/state`. It runs on the time of the graph, which in simulation pauses
with the machine, and believes nobody: it can slow, hold and stop, and nothing it hears can widen a limit. The latch is
kept in a file, and what happens in the event log.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from diagnostic_msgs.msg import DiagnosticArray
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from std_srvs.srv import Trigger

from tendon.core.causes import Cause, Reason
from tendon.core.clock import AwakeClock
from tendon.core.errors import InvalidDataError, StoppedError, TendonError
from tendon.core.modes import PermissionState
from tendon.core.node_status import Level, MonitorStatus, NodeStatus
from tendon.core.permission import Permission
from tendon.graph import topics
from tendon.graph.arguments import STAND_IN_BACKENDS
from tendon.graph.domain import domain_id
from tendon.graph.namespace import place_name
from tendon.graph.running.state import STAND_INS
from tendon.robots.digest import profile_digest
from tendon.robots.safety_settings import nanoseconds
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.base.late_answers import LateAnswers
from tendon.ros2_nodes.base.message_info import MessageInfo
from tendon.ros2_nodes.base.runtime import Urgency, run_node
from tendon.ros2_nodes.base.shell import NodeShell
from tendon.ros2_nodes.monitor.controller_parameters import ControllerParameters
from tendon.ros2_nodes.monitor.controller_switch import ControllerSwitch
from tendon.ros2_nodes.monitor.inputs import MonitorInputs
from tendon.ros2_nodes.monitor.journal import Journal, why
from tendon.ros2_nodes.wire.cdr import deserialize
from tendon.safety.event_log import EventLog
from tendon.safety.host_watch import HostWatch
from tendon.safety.latch import LatchFile, LatchRecord, state_folder
from tendon.safety.monitor import SafetyMonitor
from tendon.safety.reports import ControlState, MonitorState, ResponseRequest
from tendon.safety.response import Response

REQUIRED, WATCHED = ("control_node",), ("policy_node", *STAND_INS)
PERIOD_S = 0.02
"""Between two permissions. What came meanwhile is taken before the next: no permission changes between two."""
TAKEN_PERIODS = 10
"""Control periods that a batch covers at most: a queue holds twice as many commands."""
REPORT_EVERY = 5
REQUESTED = Reason(Cause.REQUESTED, "stop was requested")
LOOP_NS, HELD_UP_NS = 20_000_000, 45_000_000
"""The monitor looks at its clock this often when it runs, and was held up when it did not for so long."""
FINISH_S = 2.0
"""Wall time in which a robot that was stopped because this process ends should be at rest."""
LOOK_S = 0.1
"""What one look at the standing clock counts at most."""
OTHER_PROFILE = "the control node has loaded another robot profile than the safety monitor: start both again"


class SafetyMonitorNode(NodeShell):
    """Feeds the monitor and publishes its permission."""

    def __init__(self) -> None:
        super().__init__("safety_monitor", batched=True)
        self._turn_ns = nanoseconds(min(PERIOD_S, TAKEN_PERIODS / self.profile.control_hz))
        self._due_ns = time.monotonic_ns()
        place = place_name(self.profile.name, domain_id(), self.get_namespace())
        self._file = LatchFile(state_folder() / f"latch-{place}.json")
        self._log = EventLog(state_folder() / "log", place, self._header())
        longest_ns = nanoseconds(self.profile.safety.standstill_s)
        self._awake = AwakeClock(self.time, LOOP_NS, HELD_UP_NS, longest_ns)
        self._journal = Journal(self._log, self._file)
        self.every(self._turn_ns * 1e-9, self.take_messages)  # first of all that is due
        self._inputs = MonitorInputs(self, self.profile, self._log, self._awake)
        inherited = self._file.inherited()
        watches = (*self._inputs.watches, HostWatch(self._awake, self.profile.safety))
        self._monitor = SafetyMonitor(
            self.profile, REQUIRED, WATCHED, watches=watches, latched=inherited, wall_ns=time.time_ns
        )
        self._log.put("start", latched="" if inherited is None else inherited.text)
        ahead_ns = nanoseconds(self.profile.safety.state_ahead_s)
        self._reader = wire.JointStateReader(self.profile.joint_names, self.time.now_ns, ahead_ns)
        self._efforts = wire.EffortReader(self.profile)
        self._permission = self._monitor.permission(self._awake.now_ns())
        self._control: ControlState | None = None
        self._loaded = profile_digest(self.profile, whole=True)
        self._count = 0
        self._last_ns = 0
        self._still_s, self._looked_s = 0.0, time.monotonic()
        self._held_ns: int | None = None
        self._held_s = 0.0
        self._answered = ""
        self._permissions = self.create_publisher(DiagnosticArray, wire.PERMISSION.name, qos.NEWEST)
        self._states = self.create_publisher(DiagnosticArray, wire.STATE.name, qos.EACH)
        self.create_subscription(Header, topics.HEARTBEAT, self._beaten, qos.EACH_OF_STREAM, raw=True)
        self.create_subscription(
            JointState, topics.JOINT_STATES, self._measured, qos.EACH_OF_STREAM, raw=True, informed=True
        )
        self.create_subscription(DiagnosticArray, wire.STATE.name, self._reported, qos.EACH, raw=True)
        self.create_service(Trigger, topics.STOP, self._stop)
        self.create_service(Trigger, topics.RESET, self._reset)
        self._arming = LateAnswers(self.create_service(Trigger, topics.ARM, self._arm))
        self._switch: ControllerSwitch | None = None
        self._controller_parameters: ControllerParameters | None = None
        if self.get_parameter("backend").value not in STAND_IN_BACKENDS:
            self._controller_parameters = ControllerParameters(
                self, self._inputs.listens, lambda: self._permission.armed
            )
            if self.profile.controller_manager is not None:
                self._switch = ControllerSwitch(self, self.profile, self._log)
                self.every(PERIOD_S, self._switch_controllers)
        self.every(PERIOD_S, self._publish)

    def take_messages(self) -> None:
        """Takes what has come since this process was last known to run."""
        self._inputs.arrivals.ran(self._due_ns)
        super().take_messages()

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
            "safety": profile.safety.changed,
            "limits": limits,
        }

    def health(self) -> tuple[Level, str]:
        """Returns the permission as a level."""
        state, reason = self._permission.state, self._permission.reason
        active = "" if self._switch is None else self._switch.problem
        if state is PermissionState.LATCHED:
            return Level.ERROR, "; ".join(filter(None, (f"latched: {reason}", active)))
        unread = "" if self._controller_parameters is None else self._controller_parameters.problem
        if problem := self._file.problem or self._log.problem or active or unread:
            return Level.WARN, problem
        if state is PermissionState.ARMED:
            silent = ", ".join(self._monitor.silent(self._awake.now_ns()))
            but = f", but silent: {silent}" if silent else ""
            if self._permission.speed < 1.0:
                return Level.WARN, f"armed, {self._response().word}: {reason}{but}"
            return (Level.WARN, f"armed{but}") if silent else (Level.OK, "armed")
        return Level.WARN, f"standby: {reason}" if reason else "standby"

    def describe(self, status: NodeStatus) -> NodeStatus:
        """Returns a status with what was found, and where the log is."""
        return MonitorStatus(
            **vars(status),
            silent=self._monitor.silent(self._awake.now_ns()),
            found=tuple(finding.reason for finding in self._monitor.findings),
            cameras=self._inputs.cameras_needed(),
            log=str(self._log.path or ""),
            log_lines_lost=self._log.lost,
        )

    def _response(self) -> Response:
        if self._permission.state is PermissionState.LATCHED:
            return Response.STOP
        restriction = self._monitor.restriction
        return Response.FULL if restriction is None else restriction.response

    def _beaten(self, data: bytes) -> None:
        beat = wire.read_heartbeat_bytes(data)  # one that cannot be read is nobody's sign of life
        now_ns = self._awake.now_ns()
        self._monitor.beat(beat.node, beat.instance, now_ns, clock_ns=time.monotonic_ns())
        self._inputs.sources.beat(beat.node, beat.instance, now_ns)

    def _measured(self, data: bytes, info: MessageInfo) -> None:
        if not self.time.now_ns():
            return  # no /clock yet
        now_ns = self._awake.now_ns()
        try:
            stamp_ns, position, velocity = self._reader.read_bytes(data)
            effort = self._efforts.read_bytes(data)
        except TendonError as error:
            self._monitor.refused(str(error), now_ns)
            return
        came_ns = now_ns - self._inputs.arrivals.waited_ns(info)
        if self._inputs.measured(stamp_ns, position, velocity, came_ns):  # the same stamp again is no life sign
            self._monitor.measured(position, velocity, now_ns)
            if effort is not None:
                self._inputs.effort.measured(effort, now_ns)
            if self._switch is not None:
                self._switch.commanded(self._inputs.ends_ns)
                self._switch.measured(self._monitor.at_rest, now_ns)

    def _reported(self, data: bytes) -> None:
        try:
            state = wire.STATE.decode_bytes(data)
        except InvalidDataError as error:
            self._unreadable(data, str(error))
            return
        if isinstance(state, ControlState):
            self._inputs.reported(state, self._awake.now_ns())
            self._monitor.report(state.mode, state.event, state.reason, state.obstacle, state.cause)
            if self._control is None or state.mode is not self._control.mode:
                self._log.put("mode", mode=state.mode.value, **why(state))
            self._control = state
        elif isinstance(state, ResponseRequest):
            self._inputs.requests.ask(state.node, state.response, state.text, self._awake.now_ns())

    def _unreadable(self, data: bytes, problem: str) -> None:
        """Takes a message that cannot be read: a controller that nobody understands, or a wish to restrict."""
        message = deserialize(data, DiagnosticArray)
        nodes = {str(status.name) for status in message.status}
        self.complain(wire.STATE.name, problem)
        if ControlState.node in nodes:
            self._monitor.report(None, 0, problem)
            self._inputs.reported(None, self._awake.now_ns())
            self._control = None
        elif (node := wire.unreadable_request(message)) and node != self.get_name():
            self._inputs.requests.ask(node, Response.STOP, problem, self._awake.now_ns())

    def live(self, now_ns: int) -> None:
        """Does what is due at a new simulated time, when what motion needs has arrived or does not come."""
        self._awake.now_ns()  # it ran: simulated time may go faster than the wall clock
        if self._overdue():
            self.take_messages()
        if self._overdue() and self._held_s < self.profile.safety.clock_waits_s:
            self._held_ns = now_ns
            return
        self._held_ns, self._held_s = None, 0.0
        super().live(now_ns)

    def _overdue(self) -> bool:
        return self._permission.armed and self._monitor.overdue(self._awake.now_ns())

    def turn(self) -> float:
        """Does what is due at even times."""
        now_ns = time.monotonic_ns()
        if now_ns >= self._due_ns:
            super().turn()
            self._due_ns = now_ns - now_ns % self._turn_ns + self._turn_ns
        return max(0.0, (self._due_ns - time.monotonic_ns()) * 1e-9)

    def check(self) -> None:
        """Looks, besides, whether simulated time goes on, and whether it waited long enough for a late message."""
        super().check()
        self._awake.now_ns()
        now_s = time.monotonic()
        passed_s = min(now_s - self._looked_s, LOOK_S)
        self._looked_s = now_s
        if self._held_ns is not None:
            self._held_s += passed_s
            self.live(self._held_ns)
        self._still_s += passed_s
        longest_s = self.profile.safety.clock_still_s
        if self.time.simulated and self._still_s > longest_s and self._permission.armed:
            text = f"simulated time has stood still for {longest_s:.0f} s of wall time"
            self._monitor.stop(Reason(Cause.STANDSTILL, text))
            self._publish()

    def _publish(self) -> None:
        now_ns = self.time.now_ns()
        if now_ns < self._last_ns:
            text = f"the clock went back by {(self._last_ns - now_ns) * 1e-9:.3f} s"
            self._monitor.stop(Reason(Cause.CLOCK, text))
        if now_ns != self._last_ns:
            self._still_s, self._last_ns = 0.0, now_ns
        self._permission = self._monitor.permission(self._awake.now_ns())
        self._journal.note(self._permission, self._monitor.findings)
        self._send(self._permission)

    def _send(self, permission: Permission) -> None:
        now_ns = self.time.now_ns()
        self._permissions.publish(wire.PERMISSION.encode_bytes(permission, now_ns))
        if self._count % REPORT_EVERY == 0:
            restriction = self._monitor.restriction
            state = MonitorState(
                permission=permission,
                response=self._response(),
                source="" if restriction is None else restriction.source,
                margin=None if self._control is None else self._control.margin,
                binding="" if self._control is None else self._control.binding,
            )
            self._states.publish(wire.STATE.encode(state, now_ns))
        self._count += 1
        self.beat()

    def count_fault(self, topic: str, error: Exception) -> None:
        """Takes note of a fault in this process; one that a command caused stops the robot."""
        super().count_fault(topic, error)
        self._inputs.faulty(topic, error)

    def _stop(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._monitor.stop(REQUESTED)
        self._log.put("request", request="stop", answer="stopping")
        self._publish()
        response.success, response.message = True, "stopping; latched until safety/reset"
        self.get_logger().warning(REQUESTED.text)
        return response

    def _reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        return self._answer(response, "reset", self._monitor.reset, "reset; safety/arm permits motion again")

    def _arm(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        switch = self._switch
        if switch is None or self._permission.armed:
            return self._answer(response, "arm", self._permit, "armed")

        def begin(now_ns: int) -> None:
            self._monitor.check_arming(now_ns, self._obstacles())
            switch.activate(end)

        def end(problem: str) -> None:
            def permit(now_ns: int) -> None:
                if problem:
                    raise StoppedError(f"cannot arm: {problem}")
                self._permit(now_ns)

            if self._answer(response, "arm", permit, "armed").success:
                switch.armed()
            else:
                switch.refused()
            try:
                self._arming.give(response)
            except RuntimeError as error:  # who asked is gone
                self.complain(topics.ARM, str(error))

        if self._answer(response, "arm", begin, "activating the controllers").success:
            self._arming.hold(response)
        return response

    def _permit(self, now_ns: int) -> None:
        self._monitor.arm(now_ns, self._obstacles())

    def _obstacles(self) -> tuple[str, ...]:
        """Returns what keeps the robot from being armed, and is no reason to stop it."""
        read = () if self._controller_parameters is None else self._controller_parameters.obstacles()
        other = self._control is not None and self._control.profile != self._loaded
        return (*self._inputs.unconnected(), *read, *((OTHER_PROFILE,) if other else ()))

    def _switch_controllers(self) -> None:
        switch = self._switch
        if switch is None:
            return
        state, breaches, now_ns = self._permission.state, self._inputs.breaches, self._awake.now_ns()
        self.guard(switch.service, lambda: switch.look(state, breaches, now_ns))

    def _answer(
        self, response: Trigger.Response, request: str, act: Callable[[int], None], done: str
    ) -> Trigger.Response:
        self.take_messages()
        now_ns = self._awake.now_ns()
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
        """Ends on request: stops the robot first; that stop ends with the graph, the latch of a fault does not."""
        armed = self._permission.armed
        if armed:
            self._monitor.stop(REQUESTED)
            self._publish()
        deadline_s = time.monotonic() + FINISH_S
        while (armed and not self._monitor.at_rest) or (self._switch is not None and not self._switch.settled):
            if time.monotonic() > deadline_s:
                break
            spin()
        permission = self._permission
        self._log.put("end", state=permission.state.value, **why(permission))
        if permission.state is PermissionState.STANDBY or permission.cause is Cause.REQUESTED:
            self._file.save(LatchRecord(state=PermissionState.STANDBY))

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
