"""What a person at the robot can ask: arm, stop, reset, a task. For the command line, tests and the demo."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.srv import SetParameters
from rclpy.client import Client
from rclpy.experimental import EventsExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger

from tendon.core.errors import StoppedError
from tendon.ros2_nodes import conversion, qos
from tendon.ros2_nodes.permission import STATE_TOPIC

REST = 0.02
"""A robot whose joints all move slower than this [rad/s or m/s] is at rest."""


class Operator:
    """A ROS node of its own context and thread, so that it works in any process. Any thread may call it.

    Args:
        name: of the node.
    """

    def __init__(self, name: str = "operator") -> None:
        self._context = rclpy.Context()
        self._context.init(args=[])
        self.node = Node(f"{name}_{time.monotonic_ns() % 1_000_000}", context=self._context, use_global_arguments=False)
        services = ("safety/arm", "safety/stop", "safety/reset", "control/home")
        self._calls = {name: self.node.create_client(Trigger, name) for name in services}
        self._instructions = self.node.create_publisher(String, "instruction", qos.LATCHED)
        self._selections = self.node.create_publisher(String, "policy/select", qos.LATCHED)
        self._speed: tuple[float, float] | None = None
        self._said: dict[str, dict[str, str]] = {}
        self.node.create_subscription(JointState, "joint_states", self._measured, qos.STREAM)
        self.node.create_subscription(DiagnosticArray, STATE_TOPIC, self._heard, qos.EACH)
        self.node.create_subscription(DiagnosticArray, "diagnostics", self._heard, qos.EACH)
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

    def _heard(self, message: DiagnosticArray) -> None:
        for status in message.status:
            known = self._said.setdefault(status.name, {})
            known.update(conversion.values_of(status), message=status.message, level=str(status.level[0]))

    def arm(self, timeout_s: float = 5.0) -> str:
        """Permits motion; returns the monitor's answer.

        Raises:
            StoppedError: the monitor refuses, or does not answer in time.
        """
        return self._call("safety/arm", timeout_s)

    def stop(self, timeout_s: float = 5.0) -> str:
        """Stops the robot and latches; returns the monitor's answer.

        Raises:
            StoppedError: the monitor does not answer in time.
        """
        return self._call("safety/stop", timeout_s)

    def reset(self, timeout_s: float = 5.0) -> str:
        """Releases the latch; nothing moves.

        Raises:
            StoppedError: the monitor refuses, or does not answer in time.
        """
        return self._call("safety/reset", timeout_s)

    def home(self, timeout_s: float = 5.0) -> str:
        """Sends the armed robot to its home position; returns the controller's answer at once.

        Raises:
            StoppedError: it is not armed, or the controller does not answer in time.
        """
        return self._call("control/home", timeout_s)

    def at_home(self) -> bool:
        """Returns whether the controller says that the robot is at home."""
        return self.said("control_node").get("at_home") == "true"

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
        parameter = Parameter(f"steer.{name}", value=float(value)).to_parameter_msg()
        service = "policy_node/set_parameters"
        client = self.node.create_client(SetParameters, service)
        try:
            answer = self._answer(client, SetParameters.Request(parameters=[parameter]), service, timeout_s)
        finally:
            self.node.destroy_client(client)
        result = answer.results[0]
        if not result.successful and "undeclared" in result.reason:
            raise StoppedError(f"no policy here is steered by {name!r}: the diagnostics of policy_node say by what")
        if not result.successful:
            raise StoppedError(f"not steered: {result.reason}")

    def said(self, node: str) -> dict[str, str]:
        """Returns the newest values a node gave in `diagnostics` and `safety/state`, with its message and level."""
        return dict(self._said.get(node, {}))

    def at_rest(self) -> bool:
        """Returns whether fresh joint states say that nothing moves."""
        return self._speed is not None and self._speed[0] < REST and time.monotonic() - self._speed[1] < 0.5

    def wait(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        """Returns whether a condition came true in time."""
        deadline = time.monotonic() + timeout_s
        while not condition():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        return True

    def nodes(self) -> set[str]:
        """Returns the names of the nodes that have been discovered in this ROS domain."""
        return set(self.node.get_node_names())

    def _call(self, name: str, timeout_s: float) -> str:
        response = self._answer(self._calls[name], Trigger.Request(), name, timeout_s)
        if not response.success:
            raise StoppedError(str(response.message))
        return str(response.message)

    def _answer(self, client: Client, request: Any, name: str, timeout_s: float) -> Any:
        deadline = time.monotonic() + timeout_s
        if not client.wait_for_service(timeout_s):
            raise StoppedError(f"nobody answers {name}: is the graph running in this ROS domain?")
        future = client.call_async(request)
        if not self.wait(future.done, max(0.1, deadline - time.monotonic())):
            raise StoppedError(f"{name} was not answered within {timeout_s:.1f} s")
        return future.result()

    def close(self) -> None:
        """Leaves the ROS graph."""
        self._closing.set()
        self._thread.join(1.0)
        self._executor.shutdown()
        self.node.destroy_node()
        self._context.try_shutdown()
