"""The safety monitor under poison, with a robot side and a controller that the middleware knows."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from itertools import cycle
from typing import Any

import numpy as np
from rcl_interfaces.srv import GetParameters
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from tendon.core.modes import Mode, PermissionState
from tendon.graph import topics
from tendon.graph.namespace import own_namespace
from tendon.robots.digest import profile_digest
from tendon.robots.profile import RobotProfile
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.monitor.controller_parameters import TYPES
from tendon.safety.reports import ControlState
from tests.poison import messages
from tests.poison.answering import IN_TIME, WAYS, Played
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
        self._peers, self._periods = Peers(profile), 0
        self._loaded = profile_digest(profile, whole=True)
        self.armed_by_answers = 0
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
        said = ControlState(mode=mode.get(permission.state, Mode.STANDBY), event=permission.event, profile=self._loaded)
        self.give(wire.STATE.name, wire.STATE.encode(said, now_ns))
        for spec in self.profile.stop_inputs:
            self.give(spec.topic, messages.stop_input(spec))
        node._controller_parameters._look()
        node._switch_controllers()
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

    def asking(self, played: Played) -> Callable[[Any], None]:
        """Has the monitor ask for a controller's parameters again, or switch the controllers."""
        if played.client.kind is GetParameters:
            return self._reading(played)
        return self._switching(played)

    def _reading(self, played: Played) -> Callable[[Any], None]:
        """Spoils the answer for one of the names that are asked for, in turn; the others are answered well."""
        readings = self.node._controller_parameters._readings
        (reading,) = (each for each in readings if each.service == played.client.service)
        turns = zip(cycle(WAYS), cycle(range(len(TYPES))), strict=False)

        def take(answer: GetParameters.Response) -> None:
            way, k = next(turns)
            played.plan(answer, way, skip=k)
            reading._give_up()
            reading._said, reading._final, reading._nonsense = None, False, ""
            look = partial(self.node.guard, reading.service, partial(reading.look, True))
            look()
            while reading._requests:
                look()
            good = len(answer.values) <= 1 and all(each.type in (0, [*TYPES.values()][k]) for each in answer.values)
            assert reading.obstacle or good or way not in IN_TIME, f"armed in spite of {answer}"

        return take

    def _switching(self, played: Played) -> Callable[[Any], None]:
        """Spoils each answer to arming, and to the deactivation after a stop; nothing arms but two good ones."""
        node, ways = self.node, cycle(WAYS)
        service = {PermissionState.ARMED: topics.STOP, PermissionState.LATCHED: topics.RESET}

        def look() -> None:
            armed = node._permission.armed
            node._switch_controllers()
            if node._permission.armed and not armed:
                two = [*played.given][-2:]
                assert [len(each.request.activate_controllers) > 0 for each in two] == [False, True]
                assert all(each.answer.ok and each.way in IN_TIME for each in two), f"armed in spite of {two}"
                self.armed_by_answers += 1

        def take(answer: Any) -> None:
            played.plan(answer, next(ways))
            node._switch._again_s = 0.0
            look()
            if played.planned:
                self.ask(service.get(node._permission.state, topics.ARM))
                look()
            played.forget()

        return take

    def close(self) -> None:
        """Ends the node and who is beside it."""
        self._peers.close()
        super().close()
