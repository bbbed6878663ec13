"""What a person at the robot can ask: arm, stop, reset, a task. For the command line, tests and the demo."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import rclpy
from rcl_interfaces.srv import GetParameterTypes, SetParameters
from rclpy.duration import Duration
from rclpy.experimental import EventsExecutor
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

from tendon.core.errors import NoAnswerError, StoppedError
from tendon.core.modes import Mode, PermissionState
from tendon.core.node_status import RecorderStatus
from tendon.core.phrases import beginning
from tendon.graph import topics
from tendon.graph.domain import domain_id, in_use, no_graph
from tendon.graph.namespace import CLOCK_REMAPPING, own_namespace
from tendon.graph.parameters import STEERED
from tendon.graph.running.state import ALWAYS, STAND_INS
from tendon.robots.rest import STILL_SPEED
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.base.clock import RosClock
from tendon.ros2_nodes.base.guard import GuardedNode
from tendon.ros2_nodes.base.guarded_client import GuardedClient
from tendon.ros2_nodes.clients.reports import Reports
from tendon.safety.reports import ControlState, MonitorState

GRAPH_NODES = frozenset((*ALWAYS, "policy_node", *STAND_INS, *STAND_INS.values()))
STATUS_S = 2.5
"""In which every node says how it is."""
DISCOVERY_S, BUSY_DISCOVERY_S, COMPANY_S = 0.5, 20.0, 4.0
"""How long a graph is looked for; longer while nothing is seen of participants that this machine has in the domain,
and then for as long as it takes until all of them are seen."""
FOUND_S = 1.5
"""How long a node may stay unknown to who joins its graph: it reports each second."""
INSTEAD = "press the emergency stop if the robot moves (`tendon status` says whether it is stopped): "
AGAIN_S = 1.0
"""Between two requests to stop: participants announce themselves as often, see `transport_small.xml`."""


class Operator:
    """A ROS node of its own context and thread, so that it works in any process. Any thread may call it.

    Args:
        name: of the node.
        simulated_time: `time` follows `/clock`; how long somebody waits for an answer is wall time all the same.
        namespace: of the graph; by default that of this process (`ROS_NAMESPACE`).
        arguments: of the command line, where ROS may find another namespace and remappings.
        domain: of ROS; by default that of this process (`ROS_DOMAIN_ID`).
    """

    def __init__(
        self,
        name: str = "operator",
        simulated_time: bool = False,
        namespace: str | None = None,
        arguments: Sequence[str] = (),
        domain: int | None = None,
    ) -> None:
        self._domain = domain_id() if domain is None else domain
        self._in_company = in_use(self._domain)
        self._context = rclpy.Context()
        self._context.init(args=list(arguments), domain_id=domain)
        self.node = GuardedNode(
            f"{name}_{time.monotonic_ns() % 1_000_000}",
            context=self._context,
            namespace=own_namespace() if namespace is None else namespace,
            cli_args=["--ros-args", "-r", ":=".join(CLOCK_REMAPPING)],
            use_global_arguments=bool(arguments),
            parameter_overrides=[Parameter("use_sim_time", value=simulated_time)],
        )
        self.time = RosClock(self.node)
        services = (topics.ARM, topics.STOP, topics.RESET, topics.HOME)
        self._calls = {name: self.node.create_guarded_client(Trigger, name) for name in services}
        self._instructions = self.node.create_publisher(String, topics.INSTRUCTION, qos.LATCHED)
        self._selections = self.node.create_publisher(String, topics.SELECT, qos.LATCHED)
        self._speed: tuple[float, float] | None = None
        self._watching_motion = False
        self.reports = Reports(self.node)
        self._executor = EventsExecutor(context=self._context)
        self._executor.add_node(self.node)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._spin, name="operator", daemon=True)
        self._thread.start()

    def _spin(self) -> None:
        while not self._closing.is_set():
            self._executor.spin_once(timeout_sec=0.1)

    def _measured(self, message: JointState) -> None:
        self._speed = (max(map(abs, message.velocity), default=0.0), time.monotonic())

    def arm(self, timeout_s: float = 5.0) -> str:
        """Permits motion; returns the monitor's answer.

        Raises:
            StoppedError: the monitor refuses, or does not answer in time.
        """
        return self.trigger(topics.ARM, timeout_s)

    def stop(self, timeout_s: float = 5.0) -> str:
        """Stops the robot and latches; returns the monitor's answer.

        Raises:
            StoppedError: the monitor does not answer in time.
        """
        return self.trigger(topics.STOP, timeout_s)

    def reset(self, timeout_s: float = 5.0) -> str:
        """Releases the latch; nothing moves.

        Raises:
            StoppedError: the monitor refuses, or does not answer in time.
        """
        return self.trigger(topics.RESET, timeout_s)

    def home(self, timeout_s: float = 15.0) -> str:
        """Sends the armed robot to its home position; returns the controller's answer once it has found a way.

        Raises:
            StoppedError: it is not armed, no way was found, or the controller does not answer in time.
        """
        return self.trigger(topics.HOME, timeout_s)

    def at_home(self) -> bool:
        """Returns whether the controller says that the robot is at home."""
        state = self.reports.newest(ControlState)
        return state is not None and state.at_home

    def mode(self) -> Mode | None:
        """Returns the controller's mode; `None` before it was heard."""
        state = self.reports.newest(ControlState)
        return None if state is None else state.mode

    def permission(self) -> PermissionState | None:
        """Returns the state of the safety monitor's permission; `None` before it was heard."""
        state = self.reports.newest(MonitorState)
        return None if state is None else state.permission.state

    def trigger(self, service: str, timeout_s: float = 5.0) -> str:
        """Calls a service of type std_srvs/Trigger; returns the answer.

        Raises:
            StoppedError: it is refused, or nobody answers in time.
        """
        client, request = self._calls.get(service), Trigger.Request()
        if client is None:
            response = self._ask(Trigger, service, request, timeout_s)
        else:
            response = self._answer(client, request, timeout_s, again=service == topics.STOP)
        if not response.success:
            raise StoppedError(beginning(response.message))
        return beginning(response.message)

    def note(self, text: str) -> None:
        """Adds words to the episode that is being recorded.

        Raises:
            StoppedError: nobody records this graph, or no episode is being recorded.
        """
        notes = self.node.create_publisher(String, topics.RECORD_NOTE, qos.EACH)
        if not self.wait(lambda: bool(notes.get_subscription_count()), 3.0):
            raise StoppedError("nobody records this graph: start it with record:=true or record:=manual")
        if not self.wait(self._in_episode, STATUS_S):
            raise StoppedError(
                "no episode is being recorded, so the note is not kept: `tendon record start` begins one"
            )
        notes.publish(String(data=text))
        notes.wait_for_all_acked(Duration(seconds=1.0))

    def _in_episode(self) -> bool:
        """Returns whether the recorder says that it records."""
        status = self.reports.newest(RecorderStatus)
        return status is not None and bool(status.episode)

    def say(self, instruction: str) -> None:
        """Gives a task in words; nodes that start later hear it as long as this operator lives."""
        self._instructions.publish(String(data=instruction))

    def select(self, policy: str) -> None:
        """Asks the policy node to change to the bundle of that name."""
        self._selections.publish(String(data=policy))

    def steer(self, name: str, value: float, timeout_s: float = 5.0) -> None:
        """Steers the running policy by one of its numbers.

        Raises:
            StoppedError: it has no such number, the value does not fit, or the policy node does not answer in time.
        """
        parameter = f"{STEERED}{name}"
        known = GetParameterTypes.Request(names=[parameter])
        if not self._ask(GetParameterTypes, "policy_node/get_parameter_types", known, timeout_s).types:
            raise StoppedError(f"no policy here is steered by {name!r}: the diagnostics of policy_node say by what")
        self.set_parameter("policy_node", parameter, float(value), timeout_s)

    def outcome(self, success: bool, timeout_s: float = 5.0) -> str:
        """Tells the gate of a residual what came of an episode; returns what becomes of it in the next one.

        Raises:
            StoppedError: the graph has no residual, does not answer in time, or cannot keep the outcome.
        """
        answer = self._ask(SetBool, topics.OUTCOME, SetBool.Request(data=success), timeout_s)
        if not answer.success:
            raise StoppedError(beginning(answer.message))
        return beginning(answer.message)

    def set_parameter(self, node: str, name: str, value: bool | int | float | str, timeout_s: float = 5.0) -> None:
        """Sets a parameter of a node of the graph.

        Raises:
            StoppedError: the node refuses the value, or does not answer in time.
        """
        request = SetParameters.Request(parameters=[Parameter(name, value=value).to_parameter_msg()])
        results = self._ask(SetParameters, f"{node}/set_parameters", request, timeout_s).results
        if len(results) != 1:
            raise StoppedError(f"{name} of {node} was not set to {value!r}: it said {len(results)} times how it went")
        if not results[0].successful:
            raise StoppedError(f"{name} of {node} was not set to {value!r}: {beginning(results[0].reason)}")

    def _ask(self, kind: type, service: str, request: Any, timeout_s: float) -> Any:
        """Calls a service once."""
        client = self.node.create_guarded_client(kind, service)
        try:
            return self._answer(client, request, timeout_s)
        finally:
            client.close()

    def at_rest(self) -> bool:
        """Returns whether fresh joint states say that nothing moves; from the first call on it listens to them."""
        if not self._watching_motion:
            self._watching_motion = True
            self.node.create_subscription(JointState, topics.JOINT_STATES, self._measured, qos.STREAM)
        return self._speed is not None and self._speed[0] < STILL_SPEED and time.monotonic() - self._speed[1] < 0.5

    def wait(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        """Returns whether a condition came true in time."""
        deadline = time.monotonic() + timeout_s
        while not condition():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        return True

    def require_graph(self) -> None:
        """Waits until a node of a graph is found.

        Raises:
            StoppedError: there is none in this ROS domain and namespace.
        """
        if self.wait(lambda: bool(self.graph_nodes()), DISCOVERY_S):
            return
        if not self._in_company:
            raise StoppedError(no_graph(self._domain))
        self.wait(lambda: len(self.node.get_node_names()) > 1, BUSY_DISCOVERY_S - DISCOVERY_S)
        if not self.wait(lambda: bool(self.graph_nodes()), COMPANY_S):
            if elsewhere := self._graphs():
                raise StoppedError(
                    f"no graph in domain {self._domain} in namespace {self.node.get_namespace()}, but in "
                    f"{', '.join(elsewhere)}: name it, such as `tendon --namespace {elsewhere[0]} ...`"
                )
            raise StoppedError(
                f"no graph was seen in domain {self._domain}, although this machine is in it: if one runs, the machine "
                "is too busy, so try again; else start one with `tendon run`"
            )

    def graph_nodes(self) -> str:
        """Returns the names of the graph's nodes that have been discovered, for a message; empty without a graph."""
        return ", ".join(sorted(self.nodes() & GRAPH_NODES))

    def nodes(self) -> set[str]:
        """Returns the names of the nodes that have been discovered in this ROS domain and namespace."""
        known = self.node.get_node_names_and_namespaces()
        return {name for name, namespace in known if namespace == self.node.get_namespace()}

    def finds(self, name: str) -> bool:
        """Returns whether a node is here; false once it had the time to be found, or to report."""
        return self.wait(lambda: name in self.nodes() | self.reports.nodes(), FOUND_S)

    def _graphs(self) -> list[str]:
        """Returns the namespaces of this ROS domain in which a safety monitor has been discovered."""
        return sorted(space for name, space in self.node.get_node_names_and_namespaces() if name == "safety_monitor")

    def _answer(self, client: GuardedClient, request: Any, timeout_s: float, again: bool = False) -> Any:
        """Returns the answer to a request. It goes to nobody while who answers has not found this client.

        Args:
            client: asks.
            request: what.
            timeout_s: for all of it.
            again: a stop: ask every `AGAIN_S`, which does no harm, and say what to do when nobody answers.
        """
        deadline_s = time.monotonic() + timeout_s
        instead = INSTEAD if again else ""
        if not self.wait(lambda: client.ready, timeout_s):  # rclpy would look four times a second
            raise StoppedError(f"{instead}nobody answers {client.service}; in the graph are: {self.graph_nodes()}")
        asked, again_s = [client.ask(request, max(0.1, deadline_s - time.monotonic()))], time.monotonic() + AGAIN_S
        try:
            while (answer := next((found for each in asked if (found := each.answer()) is not None), None)) is None:
                time.sleep(0.01)
                if again and time.monotonic() > again_s:
                    asked.append(client.ask(request, max(0.1, deadline_s - time.monotonic())))
                    again_s += AGAIN_S
        except NoAnswerError:
            raise StoppedError(f"{instead}{client.service} was not answered within {timeout_s:.1f} s") from None
        finally:
            for each in asked:
                each.give_up()
        return answer

    def close(self) -> None:
        """Leaves the ROS graph."""
        self.time.close()
        self._closing.set()
        self._thread.join(1.0)
        self._executor.shutdown()
        self.node.destroy_node()
        self._context.try_shutdown()
