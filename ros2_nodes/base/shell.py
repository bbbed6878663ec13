"""What every node of the graph shares: parameters, time, heartbeat and diagnostics."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.exceptions import InvalidParameterTypeException
from rclpy.parameter import Parameter as RosParameter
from std_msgs.msg import Header

from tendon.core.checks import closest
from tendon.core.errors import ConfigError
from tendon.core.node_status import Health, Level, NodeStatus, is_news
from tendon.core.phrases import TEXTS, beginning, without_numbers
from tendon.graph import topics
from tendon.graph.arguments import STAND_IN_BACKENDS
from tendon.graph.namespace import own_namespace
from tendon.graph.parameters import PARAMETERS, Parameter, find_parameter
from tendon.robots.profile import load_profile
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.base.batch import Batch
from tendon.ros2_nodes.base.clock import RosClock
from tendon.ros2_nodes.base.guard import GuardedNode
from tendon.ros2_nodes.base.meter import Meter
from tendon.ros2_nodes.base.simulated_time import DonePublisher

BEAT_PERIOD_NS = 20_000_000
CHECK_S = 0.02
REPORT_PERIOD_S = 0.5
REPEAT_S = 30.0
"""Until a problem is logged again that came back without all having been well in between, such as two in turn."""
REMEMBERED = 64
"""Problems that are known to be logged, and complaints that wait to be: a peer can cause any number of them."""
SKEW_NS = 50_000_000

Value = TypeVar("Value", bool, int, float, str)


@dataclass
class _Periodic:
    period_ns: int
    work: Callable[[], None]
    due_ns: int = 0


class NodeShell(GuardedNode):
    """A node of the graph. `runtime.run_node` calls `start`, then `turn` again and again, `finish` and `close`.

    Args:
        name: fixed, whatever a remap says; a namespace may be given.
        batched: the node calls `take_messages` once a tick; otherwise the executor wakes it for each message.

    Raises:
        ConfigError: it was renamed, or a parameter does not fit.
    """

    def __init__(self, name: str, batched: bool = False) -> None:
        super().__init__(name, namespace=own_namespace())
        if self.get_name() != name:
            raise ConfigError(f"this node is called {self.get_name()}, must be {name}: the others know it by that name")
        self.add_on_set_parameters_callback(_keep_clock)
        self._profile_setting = self.setting("robot", "panda")
        self.profile = load_profile(self._profile_setting)
        self.time = RosClock(self)
        self.batch = Batch() if batched else None
        self._complaints: deque[tuple[str, str]] = deque(maxlen=REMEMBERED)
        backend = self.setting("backend", "hardware")
        if self.time.simulated and backend not in STAND_IN_BACKENDS:
            raise ConfigError(f"use_sim_time is set, but backend is {backend}: a robot does not wait for /clock")
        self.meters: dict[str, Meter] = {}
        self._periodic: list[_Periodic] = []
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._dones = DonePublisher(self) if self.time.simulated else None
        self.instance = f"{os.getpid()}-{time.monotonic_ns()}"
        self._beat = wire.Heartbeat(node=self.get_name(), instance=self.instance)
        self._beats = self.create_publisher(Header, topics.HEARTBEAT, qos.EACH)
        self._next_beat_ns = 0
        self._reports = self.create_publisher(DiagnosticArray, wire.DIAGNOSTICS.name, qos.EACH)
        self._next_report_s = self._next_check_s = 0.0
        self._said: Health | None = None
        self._logged_s: dict[str, float] = {}

    def setting(self, name: str, default: Value) -> Value:
        """Returns a ROS parameter, read-only unless `tendon.graph.parameters` says that it may be set.

        Raises:
            ConfigError: the node was started with a value of another type than the default's.
        """
        known = find_parameter(name)
        descriptor = ParameterDescriptor() if known is None else _descriptor(known)
        try:
            value: Value = self.declare_parameter(name, default, descriptor).value
        except InvalidParameterTypeException as error:
            given = self._parameter_overrides[name].value
            kind = type(default).__name__
            raise ConfigError(f"parameter {name} is {given!r}, a {type(given).__name__}, must be a {kind}") from error
        return value

    def refuse_unknown(self) -> None:
        """Checks that every parameter this node was started with is one of the graph's.

        One of another node is fine: a YAML file may hold the parameters of all under `/**`.

        Raises:
            ConfigError: one is unknown.
        """
        known = [parameter.name for parameter in PARAMETERS]
        for name in self._parameter_overrides:  # what the command line and files gave; rclpy has no public name for it
            if not self.has_parameter(name) and find_parameter(name) is None:
                raise ConfigError(f"unknown parameter {name}{closest(name, known)}")

    def meter(self, name: str) -> Meter:
        """Returns a new meter that appears in this node's diagnostics."""
        self.meters[name] = Meter(self.time.now_ns)
        return self.meters[name]

    def every(self, period_s: float, work: Callable[[], None]) -> None:
        """Calls a function once a period, in the executor's thread; in simulated time, before that time is over."""
        if self.time.simulated or self.batch is not None:
            self._periodic.append(_Periodic(period_ns=round(period_s * 1e9), work=work))
        else:
            self.create_timer(period_s, work, clock=self._steady)

    def live(self, now_ns: int) -> None:
        """Does what is due at a new simulated time, and says so."""
        self.work(now_ns)
        if self.through(now_ns):
            self.pass_time(now_ns)

    def work(self, now_ns: int) -> None:
        """Does what is due at a time, of what is to be done every so often."""
        for each in self._periodic:
            if now_ns >= each.due_ns or now_ns < each.due_ns - 2 * each.period_ns:  # the clock went back
                each.due_ns = now_ns - now_ns % each.period_ns + each.period_ns
                each.work()

    def through(self, now_ns: int) -> bool:
        """Returns whether all that is due at a simulated time is done; a node that works on calls `pass_time` later."""
        del now_ns
        return True

    def pass_time(self, now_ns: int, commands: int = 0) -> None:
        """Lets simulated time go on from `now_ns`; nothing in real time.

        Args:
            now_ns: what was due then is done.
            commands: how many commands were sent to the robot at that time.
        """
        if self._dones is not None:
            self._dones.say(now_ns, commands)

    def beat(self) -> None:
        """Publishes the heartbeat when it is due. Called from the loop whose life it shows."""
        now_ns = self.time.now_ns()
        if now_ns >= self._next_beat_ns or now_ns < self._next_beat_ns - 2 * BEAT_PERIOD_NS:  # the clock went back
            self._next_beat_ns = now_ns + BEAT_PERIOD_NS
            self._beats.publish(wire.heartbeat_bytes(self._beat, now_ns))

    def health(self) -> Health:
        """Returns the level and text of this node's diagnostics; a node with something to say overrides it."""
        return Level.OK, "running"

    def describe(self, status: NodeStatus) -> NodeStatus:
        """Returns a status with what else this kind of node says; one with something to say overrides it."""
        return status

    def start(self) -> None:
        """Begins the node's own threads, when everything is constructed."""

    def join_time(self) -> None:
        """Takes part in simulated time from here on: it waits for this node."""
        self.time.listen(self.live)

    def turn(self) -> float:
        """Does what is due between two looks of the executor for work; returns how long the next may take, s."""
        now_s = time.monotonic()
        if self.batch is not None and not self.time.simulated:
            self.work(time.monotonic_ns())
        if now_s >= self._next_check_s:
            self._next_check_s = now_s + CHECK_S
            self.check()
        return CHECK_S

    def complain(self, topic: str, text: str) -> None:
        """Logs what is wrong with what came on a topic; `check` does it where another loop takes the messages."""
        if self.batch is None:
            super().complain(topic, text)
        else:
            self._complaints.append((topic, text))

    def check(self) -> None:
        """Publishes diagnostics twice a second, and at once when a problem comes, changes or goes; logs complaints."""
        while self._complaints:
            super().complain(*self._complaints.popleft())
        level, text = self.health()
        said = level, beginning(text, TEXTS)
        if abs(self.time.jump_ns()) > SKEW_NS and said[0] is Level.OK:
            said = Level.WARN, f"the system clock was set by {self.time.jump_ns() / 1e9:.2f} s: restart the graph"
        if self.faults and said[0] is Level.OK:
            text = f"{self.faults} messages met a fault in this node, the last: {self.fault.splitlines()[0]}"
            said = Level.WARN, text
        if not is_news(self._said, said) and time.monotonic() < self._next_report_s:
            return
        if said != self._said:
            self._log_news(*said)
        self._said, self._next_report_s = said, time.monotonic() + REPORT_PERIOD_S
        status = NodeStatus(
            node=self.get_name(),
            level=said[0],
            text=said[1],
            robot=self._profile_setting,
            meters={name: meter.report() for name, meter in self.meters.items()},
        )
        self._reports.publish(wire.DIAGNOSTICS.encode(self.describe(status), self.time.now_ns()))

    def _log_news(self, level: Level, text: str) -> None:
        """Logs a problem that is news: other numbers in the same words are none."""
        if level is Level.OK:
            self._logged_s.clear()
            return
        words, now_s = without_numbers(text), time.monotonic()
        if now_s >= self._logged_s.get(words, now_s):
            self._logged_s[words] = now_s + REPEAT_S
            self._logged_s = dict([*self._logged_s.items()][-REMEMBERED:])
            self.get_logger().warning(text)

    def finish(self, spin: Callable[[], None]) -> None:
        """Brings the node's work to an end after a signal; `spin` handles messages for a moment."""

    def close(self) -> None:
        """Ends the node's threads and releases what it holds."""
        self.time.close()
        self.destroy_node()


def _descriptor(parameter: Parameter) -> ParameterDescriptor:
    return ParameterDescriptor(description=parameter.description, read_only=not parameter.tunable)


def _keep_clock(parameters: list[RosParameter]) -> SetParametersResult:
    """Refuses another clock while the node runs: time would jump in mid-motion."""
    if any(parameter.name == "use_sim_time" for parameter in parameters):
        return SetParametersResult(successful=False, reason="use_sim_time is fixed while the node runs")
    return SetParametersResult(successful=True)
