"""Sees what the robot really did: what its controllers commanded in every physics step, and what every node said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from tendon.core.causes import Cause
from tendon.core.errors import InvalidDataError
from tendon.core.modes import Mode, PermissionState
from tendon.core.node_status import Level, MonitorStatus, NodeStatus, PolicyStatus
from tendon.core.types import Array
from tendon.evaluation.motion import Motion
from tendon.graph import topics
from tendon.robots.profile import RobotProfile
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tendon.safety.reports import ControlState, MonitorState, ResponseRequest, TaskState
from tendon.safety.response import Response


@dataclass(frozen=True, kw_only=True)
class Sign:
    """Something a node said that it had not said before.

    Attributes:
        at_ns: the message's stamp, ROS time.
        node: of whom.
        text: what, in short.
        stops: whether it says that motion ends.
        why: its message.
        mode: the one it says; `None` when it says something else.
        cause: of a stop that it says; `None` when it says something else.
    """

    at_ns: int
    node: str
    text: str
    stops: bool
    why: str = ""
    mode: Mode | None = None
    cause: Cause | None = None


class Witness:
    """Records from its creation on; `forget` starts anew. Its callbacks run in the node's own thread.

    Args:
        node: subscribes with it.
        profile: the robot.

    Attributes:
        measured: (when, (n,) position, (n,) velocity) of each joint state [ns, rad or m, a second].
        signs: what the nodes said, each when it changed.
        statuses: (when, how a node was), as each reports twice a second.
        tasks: what the simulation said of the task in its scene.
    """

    def __init__(self, node: Node, profile: RobotProfile) -> None:
        self._profile = profile
        self._reader = wire.JointStateReader(profile.joint_names)
        self._said: dict[tuple[str, str], str] = {}
        self.forget()
        node.create_subscription(JointTrajectory, topics.COMMANDED, self._commanded, qos.EACH, raw=True)
        node.create_subscription(JointState, topics.JOINT_STATES, self._measured, qos.STREAM)
        for topic in (wire.STATE, wire.DIAGNOSTICS, wire.TASK):
            node.create_subscription(DiagnosticArray, topic.name, partial(self._heard, topic), qos.EACH)

    def forget(self) -> None:
        """Drops what was recorded."""
        self._samples: list[tuple[int, Array, Array]] = []
        self.measured: list[tuple[int, Array, Array]] = []
        self.signs: list[Sign] = []
        self.statuses: list[tuple[int, NodeStatus]] = []
        self.tasks: list[TaskState] = []

    def forget_measured(self, begin_ns: int, end_ns: int) -> None:
        """Drops the joint states between two moments."""
        self.measured = [sample for sample in self.measured.copy() if not begin_ns <= sample[0] <= end_ns]

    def motion(self) -> Motion:
        """Returns what has been commanded since `forget`, without a sample twice; the mock says nothing."""
        samples = sorted(self._samples.copy(), key=lambda sample: sample[0])
        times = np.array([sample[0] for sample in samples], dtype=np.int64)
        count = len(self._profile.joint_names)
        rows = [np.array([s[k] for s in samples]).reshape(len(samples), count) for k in (1, 2)]
        return Motion(profile=self._profile, time_ns=times, position=rows[0], velocity=rows[1])

    def newest_ns(self) -> int:
        """Returns the time of the newest commanded sample; 0 before the first."""
        return self._samples[-1][0] if self._samples else 0

    def first_sign(self, after_ns: float) -> Sign | None:
        """Returns the first sign since a moment that says that motion ends."""
        found = [sign for sign in self.signs.copy() if sign.stops and sign.at_ns >= after_ns]
        return min(found, key=lambda sign: sign.at_ns, default=None)

    def stops(self, after_ns: float) -> list[Sign]:
        """Returns what control node and safety monitor said since a moment of a stop that only a reset ends."""
        found = [sign for sign in self.signs.copy() if sign.cause is not None and sign.at_ns >= after_ns]
        return sorted(found, key=lambda sign: sign.at_ns)

    def _commanded(self, data: bytes) -> None:
        sent = wire.read_trajectory(data)
        times_ns = (sent.stamp_ns + time_ns for time_ns in sent.times_ns)
        self._samples += zip(times_ns, sent.position, sent.velocity, strict=True)

    def _measured(self, message: JointState) -> None:
        self.measured.append(self._reader.read(message))

    def _heard(self, topic: wire.StatusTopic[Any], message: DiagnosticArray) -> None:
        try:
            said = topic.decode(message)
        except InvalidDataError:  # somebody else's
            return
        at_ns = wire.time_ns(message.header.stamp)
        if isinstance(said, TaskState):
            self.tasks.append(said)
        if isinstance(said, NodeStatus):
            self.statuses.append((at_ns, said))
        for key, text, stops in _said(said):
            if self._said.get((said.node, key)) != text:
                self._said[said.node, key] = text
                mode, cause = _stop(said) if key in ("mode", "state") else (None, None)
                sign = Sign(at_ns=at_ns, node=said.node, text=text, stops=stops, why=said.text, mode=mode, cause=cause)
                self.signs.append(sign)


def _stop(said: object) -> tuple[Mode | None, Cause | None]:
    """Returns the mode that a value says, and the cause of the stop that it says."""
    if isinstance(said, ControlState):
        return said.mode, said.cause if said.mode.stopped else None
    if isinstance(said, MonitorState) and said.permission.state is PermissionState.LATCHED:
        return None, said.permission.cause
    return None, None


def _said(said: object) -> Iterator[tuple[str, str, bool]]:
    """Yields (what it is about, what it says, whether motion ends) of one value."""
    if isinstance(said, ControlState):
        yield "mode", f"mode {said.mode.value}", said.mode.stopped
    if isinstance(said, MonitorState):
        state = said.permission.state
        yield "state", f"permission {state.value}", state is PermissionState.LATCHED
    if isinstance(said, MonitorState | ResponseRequest):
        yield "response", f"asks for {said.response.word}", said.response in (Response.HOLD, Response.STOP)
    if isinstance(said, MonitorStatus):
        yield "stale", f"stale {', '.join(said.silent)}" if said.silent else "", bool(said.silent)
    if isinstance(said, PolicyStatus):
        failed = said.level is Level.ERROR
        yield "health", f"error: {said.text}" if failed else "", failed
