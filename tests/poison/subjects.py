"""The nodes that are sent poison: how each is made, what its work is, and whether it still does it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
from rclpy.node import Node
from rclpy.subscription import Subscription
from std_msgs.msg import String
from std_srvs.srv import Trigger

from tendon.core.modes import Mode, PermissionState
from tendon.core.permission import Permission
from tendon.graph import topics
from tendon.robots.profile import RobotProfile
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import clock
from tendon.safety.reports import ControlState
from tests.poison import messages
from tests.poison.answering import Played
from tests.poison.fuzzing import Endpoint, services, subscribed, subscriptions, taker

ROUNDS = 400
"""Periods after which a node that still does not do its work counts as locked out."""
WAIT_S = 20.0


class Subject:
    """A node under fire, in this process; its loop is driven by `work` where it has one.

    Args:
        node: that one.
        profile: its robot.
        clients: other nodes beside it, whose subscriptions are sent poison too.
    """

    hand: HandTime | None = None

    def __init__(self, node: Node, profile: RobotProfile, clients: tuple[Node, ...] = ()) -> None:
        self.node, self.profile, self.nodes, self.only = node, profile, (node, *clients), ""
        self.played: list[Played] = []
        self._takers: dict[Subscription, Callable[[Any], Any]] = {}

    def endpoints(self) -> list[Endpoint]:
        """Returns every subscription and service that the node has, whoever made it."""
        now_ns = self.now_ns()
        return [
            endpoint
            for node in self.nodes
            for endpoint in (
                *subscriptions(node, lambda topic: messages.makers(topic, self.profile, now_ns)),
                *services(node, lambda kind, node=node: messages.requests(kind, _parameters(node))),
            )
            if endpoint.topic.endswith(self.only)
        ] + [endpoint for endpoint in self.answers() if endpoint.topic.endswith(self.only)]

    def answers(self) -> list[Endpoint]:
        """Returns what the node asks of others, whose answers are sent poison too."""
        return [
            Endpoint(
                node=self.node,
                topic=f"{played.client.service}: answers",
                kind=played.client.kind.Response,
                take=self.asking(played),
                raw=False,
                makers=messages.answers(played.client.kind),
            )
            for played in self.played
        ]

    def asking(self, played: Played) -> Callable[[Any], None]:
        """Returns what has the node ask one service and take an answer."""
        raise NotImplementedError(f"{type(self).__name__}: say how {played.client.service} is asked")

    def give(self, topic: str, message: Any) -> None:
        """Gives a subscription of the node a good message."""
        prefix = self.node.get_namespace().rstrip("/") + "/"
        for each in subscribed(self.node):
            if each.topic_name.removeprefix(prefix) == topic:
                take = self._takers.setdefault(each, taker(each))
                take(wire_bytes(message) if each.raw else message)

    def ask(self, service: str) -> Trigger.Response:
        """Calls a service of the node."""
        (found,) = (each for each in self.node.services if each.service_name.endswith(f"/{service}"))
        return found.callback(Trigger.Request(), Trigger.Response())

    def now_ns(self) -> int:
        """Returns the node's time."""
        return int(self.node.time.now_ns())

    def work(self) -> None:
        """Lets the node do its work for one period."""
        self.node.check()

    def works(self) -> str:
        """Returns why the node does not do its work; empty when it does."""
        return ""

    def close(self) -> None:
        """Ends the node."""
        self.node.close()
        if self.hand is not None:
            self.hand.end()


def wire_bytes(message: Any) -> bytes:
    """Returns a message as it is on the wire."""
    from rclpy.serialization import serialize_message

    return bytes(serialize_message(message))


def _parameters(node: Node) -> dict[str, Any]:
    return {name: parameter.value for name, parameter in node._parameters.items() if name in FUZZED or "." in name}


FUZZED = (
    "robot",
    "scene",
    "family",
    "jammed",
    "muted",
    "frozen",
    "lag_s",
    "noise",
    "effort",
    "backend",
    "use_sim_time",
    "instruction",
)


class HandTime:
    """Time of a node whose loop is driven here: a busy machine is no part of what is tried."""

    def __init__(self) -> None:
        self._now_ns = time.time_ns()
        self._patch = mock.patch.object(clock, "time", self)
        self._patch.start()

    def monotonic_ns(self) -> int:
        """Returns it."""
        return self._now_ns

    time_ns = monotonic_ns

    def pass_ns(self, step_ns: int) -> None:
        """Lets some pass."""
        self._now_ns += step_ns

    def end(self) -> None:
        """Gives the machine's time back."""
        self._patch.stop()


class ControlSubject(Subject):
    """The control node with an armed robot that follows; its loop is driven here, 10 ms a period."""

    def __init__(self, profile: RobotProfile) -> None:
        from tendon.ros2_nodes.control_node import ControlNode

        self.hand = HandTime()
        super().__init__(ControlNode(), profile)
        self.node._permissions._wall_ns = self.hand.time_ns
        self.steps_us: list[float] = []
        self._event = 0
        for _ in range(3):
            self.work()

    def work(self) -> None:
        """A joint state, a permission, somebody far away, and a tick."""
        node = self.node
        self.hand.pass_ns(node._period_ns)
        now_ns, tick = self.now_ns(), node._tick
        position = self.profile.vector("home") if tick is None else tick.reference
        self.give(topics.JOINT_STATES, messages.joint_state(self.profile, now_ns, position))
        self.give(messages.PEOPLE, messages.people(self.profile, now_ns))
        self.give(wire.PERMISSION.name, wire.PERMISSION.encode(self._permission(), now_ns))
        begin_ns = time.thread_time_ns()
        node._step(now_ns, 0)
        self.steps_us.append((time.thread_time_ns() - begin_ns) * 1e-3)
        if len(self.steps_us) % 50 == 0:
            node.check()

    def _permission(self) -> Permission:
        mode = self.node._controller.mode
        if mode.moving:
            return Permission(state=PermissionState.ARMED, event=self._event, reason="")
        self._event = max(self._event + 1, self.now_ns())
        wanted = PermissionState.ARMED if mode is Mode.STANDBY else PermissionState.STANDBY
        return Permission(state=wanted, event=self._event, reason="")

    def works(self) -> str:
        """It follows chunks."""
        self.give(topics.CONTROL_SOURCE, String(data="policy"))
        for _ in range(ROUNDS):
            self.give("policy/action_chunk", messages.chunk(self.profile, self.now_ns()))
            self.work()
            tick = self.node._tick
            if (
                tick.mode is Mode.RUNNING
                and tick.command is not None
                and np.abs(tick.command.trajectory.velocity).max() > 1e-3
            ):
                return ""
        return f"no motion: {self.node.health()}, {self.node._refusal}"


class PolicySubject(Subject):
    """The policy node with a policy of a few operators, in mid-task."""

    def __init__(self, profile: RobotProfile) -> None:
        from tendon.ros2_nodes.policy_node import PolicyNode

        super().__init__(PolicyNode(), profile)
        self.node.start()

    def work(self) -> None:
        """Frames, joint states around them, a permission, and whom the control node follows."""
        node = self.node
        node.time._offset_ns += 10_000_000
        now_ns = self.now_ns()
        self.give(topics.JOINT_STATES, messages.joint_state(self.profile, now_ns - 1_000_000))
        for camera in self.profile.cameras:
            self.give(topics.image(camera.name), messages.image(camera.name, self.profile, now_ns))
        self.give(topics.JOINT_STATES, messages.joint_state(self.profile, self.now_ns()))
        armed = Permission(state=PermissionState.ARMED, event=1, reason="", policy=node.instance)
        self.give(wire.PERMISSION.name, wire.PERMISSION.encode(armed, now_ns))
        self.give(wire.STATE.name, wire.STATE.encode(ControlState(mode=Mode.RUNNING, event=1), now_ns))
        node.check()

    def works(self) -> str:
        """It answers chunks."""
        self.give(topics.SELECT, String(data="tiny"))
        self.give(topics.INSTRUCTION, String(data="left"))
        time.sleep(1.1)  # announcements are told from their copies by what was said within a second
        self.give(topics.INSTRUCTION, String(data="left"))
        before, deadline = self.node._chunk_meter.total, time.monotonic() + WAIT_S
        while time.monotonic() < deadline:
            self.work()
            if self.node._chunk_meter.total > before:
                return ""
            time.sleep(0.02)
        return f"no chunk: {self.node.health()}"


class StandInSubject(Subject):
    """A robot that is none, with its loop running in its own thread, under a monitor that arms it again and again."""

    def __init__(self, node: Node, profile: RobotProfile) -> None:
        super().__init__(node, profile)
        self._event = 0
        self._permit(PermissionState.STANDBY)
        node.start()
        time.sleep(0.2)
        self.work()

    def _permit(self, state: PermissionState) -> None:
        said = Permission(state=state, event=self._event, reason="")
        self.give(wire.PERMISSION.name, wire.PERMISSION.encode(said, self.now_ns()))

    def work(self) -> None:
        """A reset and an arming, after which it takes commands for as long as a permission is fresh."""
        for state in (PermissionState.STANDBY, PermissionState.ARMED):
            self._event = max(self._event + 1, self.now_ns())
            self._permit(state)
        self.node.check()

    def works(self) -> str:
        """It goes where it is sent."""
        deadline = time.monotonic() + WAIT_S
        while time.monotonic() < deadline:
            self.work()
            for controller in self.profile.controllers:
                made = messages.makers(topics.commands(controller), self.profile, self.now_ns())[-1]()
                self.give(topics.commands(controller), made)
            for _ in range(20):
                if self.node.moving:
                    return ""
                time.sleep(0.01)
                self._permit(PermissionState.ARMED)
        return f"no motion: {self.node.health()}"


class CameraSubject(Subject):
    """The node that draws the simulated cameras; what it draws is left out, which takes 10 ms a frame."""

    def __init__(self, profile: RobotProfile) -> None:
        from tendon.ros2_nodes.camera_node import CameraNode

        super().__init__(CameraNode(), profile)
        self.drawn = 0
        self.give(topics.WORLD_STATE, messages.world(profile, self.now_ns()))
        world = self.node._world

        def draw(name: str) -> Any:
            self.drawn += 1
            size = profile.camera(name)
            return np.zeros((size.height, size.width, 3), np.uint8)

        world.render = draw
        for output in self.node._outputs:  # as if somebody took its pictures: nobody is beside it
            output._images.get_subscription_count = lambda: 1

    def works(self) -> str:
        """It draws."""
        before = self.drawn
        self.give(topics.WORLD_STATE, messages.world(self.profile, self.now_ns() + 10**9))
        self.give(topics.WORLD_STATE, messages.world(self.profile, self.now_ns() + 2 * 10**9))
        return "" if self.drawn > before else f"nothing drawn: {self.node.health()}"


class ExpertSubject(Subject):
    """The policy node with the expert, which looks at the simulated world."""

    def __init__(self, profile: RobotProfile) -> None:
        from tendon.ros2_nodes.policy_node import PolicyNode

        super().__init__(PolicyNode(), profile)

    def works(self) -> str:
        """It sees the world that was told last."""
        self.give(topics.WORLD_STATE, messages.world(self.profile, self.now_ns()))
        seen = self.node._session.active.policy._look()
        return "" if seen is not None and seen[1].poses else f"sees {seen}"


class PlainSubject(Subject):
    """A node that only publishes."""


class RecorderSide(Subject):
    """The recorder's node, which records all the while."""

    def __init__(self, node: Node, profile: RobotProfile) -> None:
        super().__init__(node, profile)
        node._start()

    def work(self) -> None:
        """Looks for those that are connected to commands, as it does several times a second."""
        self.node._inputs.look()
        super().work()

    def works(self) -> str:
        """Keeps an episode, which others may have ended."""
        self.ask("recorder/start")
        kept = self.ask("recorder/keep")
        return "" if kept.success else str(kept.message)


class TeleopSubject(Subject):
    """The teleoperation node with a leader arm, and a key that is held on a device that is none."""

    def __init__(self, profile: RobotProfile) -> None:
        from tendon.ros2_nodes.teleop_node import TeleopNode
        from tendon.teleop.device import Reading
        from tendon.teleop.devices.paired import PairedDevice

        self.hand = HandTime()
        super().__init__(TeleopNode(), profile)
        device = self.node.hands[0].device
        assert isinstance(device, PairedDevice)
        self._held = False
        device.holder.open = lambda: None  # type: ignore[method-assign]
        device.holder.read = lambda: Reading(pressed=frozenset(["space"] if self._held else []))  # type: ignore[method-assign]
        device.arm._clock_s = lambda: self.now_ns() * 1e-9  # type: ignore[attr-defined]
        self.sent: list[bytes] = []
        self.node._chunks.publish = self.sent.append

    def work(self) -> None:
        """Joint states of the robot and of the leader arm, and a look at the device."""
        self.hand.pass_ns(20_000_000)
        state = messages.joint_state(self.profile, self.now_ns())
        self.give(topics.JOINT_STATES, state)
        self.give("leader/joint_states", state)
        self.node._cycle()

    def works(self) -> str:
        """It sends chunks while a key is held, and says its release."""
        said = []
        for held in (False, True, False):
            self._held = held
            for _ in range(60):  # a device that was lost is looked for once a second
                self.work()
            said.append(wire.held_chunk(self.sent[-1], self.profile.joint_names).hold_ns if self.sent else None)
        return "" if said[1] and said[2] == 0 else f"sent holds {said}: {self.node.health()}"
