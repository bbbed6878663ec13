"""The safety monitor under poison, with a robot side and a controller that the middleware knows."""

from __future__ import annotations

import time

import numpy as np
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from tendon.core.modes import Mode, PermissionState
from tendon.graph import topics
from tendon.graph.namespace import own_namespace
from tendon.robots.profile import RobotProfile
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tendon.safety.reports import ControlState
from tests.poison import messages
from tests.poison.subjects import ROUNDS, WAIT_S, HandTime, Subject

STAYS = 50
"""Periods for which a monitor must stay armed."""
PERIOD_NS = 20_000_000
LOOK_EVERY = 5
"""Periods between two looks at who publishes."""


class Peers:
    """Who the monitor finds when it asks the middleware: nobody says anything with these publishers.

    Args:
        profile: the robot's, whose controllers are commanded and whose stop inputs are published.
    """

    def __init__(self, profile: RobotProfile) -> None:
        names = ("control_node", *(each.name for each in profile.controllers))
        self._nodes = [Node(name, namespace=own_namespace(), use_global_arguments=False) for name in names]
        control, *robot = self._nodes
        for each, controller in zip(profile.controllers, robot, strict=True):
            kind = JointTrajectory if each.type == "joint_trajectory" else Float64MultiArray
            control.create_publisher(kind, topics.commands(each), qos.NEWEST)
            controller.create_subscription(kind, topics.commands(each), lambda _: None, qos.EACH)
        for spec in profile.stop_inputs:
            robot[0].create_publisher(type(messages.stop_input(spec)), spec.topic, qos.LATCHED)

    def close(self) -> None:
        """Ends them."""
        for node in self._nodes:
            node.destroy_node()


class MonitorSubject(Subject):
    """The safety monitor with a robot at rest and a controller that does what it is permitted to."""

    def __init__(self, profile: RobotProfile) -> None:
        from tendon.ros2_nodes.safety_monitor import SafetyMonitorNode

        self.hand = HandTime()
        super().__init__(SafetyMonitorNode(), profile)
        self.node._controller_parameters = None  # no executor runs here that could ask a controller for them
        self._peers, self._periods = Peers(profile), 0
        deadline = time.monotonic() + WAIT_S
        while self.node._inputs.unconnected():  # a middleware takes a moment to find them
            assert time.monotonic() < deadline, self.node._inputs.unconnected()
            time.sleep(0.02)

    def work(self) -> None:
        """A heartbeat, a joint state, what the controller says and commands, and what else permits motion."""
        node = self.node
        self.hand.pass_ns(PERIOD_NS)
        self._periods += 1
        if self._periods % LOOK_EVERY == 1:
            node._inputs._look()
        now_ns, permission = self.now_ns(), node._permission
        beat = wire.Heartbeat(node="control_node", instance="1-1")
        self.give(topics.HEARTBEAT, wire.heartbeat_message(beat, now_ns))
        noise = 1e-6 * np.random.default_rng(now_ns % 1000).normal(size=len(self.profile.joint_names))
        position = self.profile.vector("home") + noise
        self.give(topics.JOINT_STATES, messages.joint_state(self.profile, now_ns, position))
        mode = {PermissionState.ARMED: Mode.ARMED, PermissionState.LATCHED: Mode.LATCHED}
        said = ControlState(mode=mode.get(permission.state, Mode.STANDBY), event=permission.event)
        self.give(wire.STATE.name, wire.STATE.encode(said, now_ns))
        for spec in self.profile.stop_inputs:
            self.give(spec.topic, messages.stop_input(spec))
        if permission.armed:
            for controller in self.profile.controllers:
                self.give(topics.commands(controller), messages.rest(controller, self.profile, now_ns))
        node._publish()
        node.check()

    def works(self) -> str:
        """A reset and an arm, and it stays armed."""
        answers, armed = [""], 0
        for _ in range(3 * ROUNDS):  # a machine that is busy stands still, for which the monitor holds the robot
            self.work()
            state = self.node._permission.state
            armed = armed + 1 if state is PermissionState.ARMED else 0
            if armed >= STAYS:
                return ""
            if state is PermissionState.LATCHED:
                answers.append(self.ask(topics.RESET).message)
            if not armed:
                answers.append(self.ask(topics.ARM).message)
        return f"not armed: {answers[-2:]}, {self.node.health()}"

    def close(self) -> None:
        """Ends the node and who is beside it."""
        self._peers.close()
        super().close()
