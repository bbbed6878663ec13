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
from tendon.core.modes import Mode, PermissionState
from tendon.core.node_status import Level, MonitorStatus, PolicyStatus
from tendon.core.types import Array
from tendon.graph import topics
from tendon.robots.profile import load_profile
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tendon.safety.reports import ControlState, MonitorState, ResponseRequest
from tendon.safety.response import Response

PROFILE = load_profile("panda")
REST = 1e-3
"""Part of the speed limit below which the robot is commanded to stand."""


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


@dataclass(frozen=True, kw_only=True, eq=False)
class Motion:
    """What the controllers commanded.

    Attributes:
        time_ns: (k,) ROS time of each physics step.
        position: (k, n) rad or m.
        velocity: (k, n) rad/s or m/s.
    """

    time_ns: Array
    position: Array
    velocity: Array

    def between(self, start_ns: float, end_ns: float) -> Motion:
        """Returns the part from start to end."""
        inside = (self.time_ns >= start_ns) & (self.time_ns <= end_ns)
        return Motion(time_ns=self.time_ns[inside], position=self.position[inside], velocity=self.velocity[inside])

    @property
    def speed(self) -> Array:
        """(k,) the fastest joint's speed, as a part of its limit."""
        return np.asarray(np.abs(self.velocity / PROFILE.vector("velocity")).max(axis=1))

    def rest_ns(self, after_ns: float) -> int | None:
        """Returns when it came to rest for good after a moment; `None` when it did not, that moment when it stood."""
        moving = np.flatnonzero((self.time_ns >= after_ns) & (self.speed >= REST))
        if not len(moving):
            return round(after_ns)
        last = int(moving[-1])
        return None if last + 1 >= len(self.time_ns) else int(self.time_ns[last + 1])

    def braking_ns(self, after_ns: float) -> int | None:
        """Returns when the braking to rest began that ends the motion after a moment."""
        rest_ns = self.rest_ns(after_ns)
        if rest_ns is None or rest_ns <= after_ns:
            return None
        part = self.between(after_ns, rest_ns)
        high = np.flatnonzero(part.speed >= 0.95 * part.speed.max())
        return int(part.time_ns[high[-1]])


class Witness:
    """Records from its creation on; `forget` starts anew. Its callbacks run in the node's own thread.

    Args:
        node: subscribes with it.
    """

    def __init__(self, node: Node) -> None:
        self._reader = wire.JointStateReader(PROFILE.joint_names)
        self._said: dict[tuple[str, str], str] = {}
        self.forget()
        node.create_subscription(JointTrajectory, topics.COMMANDED, self._commanded, qos.EACH, raw=True)
        node.create_subscription(JointState, "joint_states", self._measured, qos.STREAM)
        for topic in (wire.STATE, wire.DIAGNOSTICS):
            node.create_subscription(DiagnosticArray, topic.name, partial(self._heard, topic), qos.EACH)

    def forget(self) -> None:
        """Drops what was recorded."""
        self._samples: list[tuple[int, Array, Array]] = []
        self.measured: list[tuple[int, Array]] = []
        self.signs: list[Sign] = []

    def motion(self) -> Motion:
        """Returns what has been commanded since `forget`, without a sample twice."""
        samples = sorted(self._samples.copy(), key=lambda sample: sample[0])
        times = np.array([sample[0] for sample in samples], dtype=np.int64)
        count = len(PROFILE.joint_names)
        rows = [np.array([s[k] for s in samples]).reshape(len(samples), count) for k in (1, 2)]
        return Motion(time_ns=times, position=rows[0], velocity=rows[1])

    def newest_ns(self) -> int:
        """Returns the time of the newest commanded sample; 0 before the first."""
        return self._samples[-1][0] if self._samples else 0

    def first_sign(self, after_ns: float) -> Sign | None:
        """Returns the first sign since a moment that says that motion ends."""
        found = [sign for sign in self.signs.copy() if sign.stops and sign.at_ns >= after_ns]
        return min(found, key=lambda sign: sign.at_ns, default=None)

    def _commanded(self, data: bytes) -> None:
        sent = wire.read_trajectory(data)
        times_ns = (sent.stamp_ns + time_ns for time_ns in sent.times_ns)
        self._samples += zip(times_ns, sent.position, sent.velocity, strict=True)

    def _measured(self, message: JointState) -> None:
        stamp_ns, position, _ = self._reader.read(message)
        self.measured.append((stamp_ns, position))

    def _heard(self, topic: wire.StatusTopic[Any], message: DiagnosticArray) -> None:
        at_ns, said = wire.time_ns(message.header.stamp), topic.decode(message)
        for key, text, stops in _said(said):
            if self._said.get((said.node, key)) != text:
                self._said[said.node, key] = text
                mode, cause = (said.mode, said.cause) if isinstance(said, ControlState) else (None, None)
                sign = Sign(at_ns=at_ns, node=said.node, text=text, stops=stops, why=said.text, mode=mode, cause=cause)
                self.signs.append(sign)


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
