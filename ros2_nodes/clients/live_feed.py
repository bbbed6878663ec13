"""Hands what the topics of a running graph say to a `LiveScene`; it only listens."""

from __future__ import annotations

import threading
from functools import partial

from diagnostic_msgs.msg import DiagnosticArray
from sensor_msgs.msg import Image as ImageMessage
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from tendon.core.errors import TendonError
from tendon.core.modes import Source
from tendon.graph import topics
from tendon.pictures.live_scene import LiveScene
from tendon.robots.profile import RobotProfile
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.clients.operator import Operator
from tendon.safety.reports import ControlState

SOURCES = (Source.POLICY, Source.TELEOP)
MAX_HZ = 30.0
"""A picture of the robot more often than this is seen by nobody."""
CAMERA_HZ = 10.0


class LiveFeed:
    """Subscribes with the operator's node; callbacks come from its thread.

    Args:
        operator: of the graph.
        profile: its robot.
        scene: takes what is heard.
    """

    def __init__(self, operator: Operator, profile: RobotProfile, scene: LiveScene) -> None:
        self._profile, self._scene = profile, scene
        self._reader = wire.JointStateReader(profile.joint_names)
        self._next_ns: dict[str, int] = {}
        self._lock = threading.Lock()
        self.heard: dict[str, int] = {}
        self.problem = ""
        node = operator.node
        node.create_subscription(JointState, topics.JOINT_STATES, self._joints, qos.STREAM)
        node.create_subscription(DiagnosticArray, wire.STATE.name, self._state, qos.EACH)
        for source in SOURCES:
            take, topic = partial(self._plan, source), topics.action_chunk(source)
            node.create_subscription(JointTrajectory, topic, take, qos.NEWEST, raw=True)
        for camera in profile.cameras:
            topic, take = topics.image(camera.name), partial(self._image, camera.name)
            node.create_subscription(ImageMessage, topic, take, qos.STREAM)

    def _joints(self, message: JointState) -> None:
        stamp_ns = wire.time_ns(message.header.stamp)
        if not self._due(topics.JOINT_STATES, stamp_ns, MAX_HZ):
            return
        try:
            _, position, velocity = self._reader.read(message)
        except TendonError as error:
            self.problem = str(error)
            return
        with self._lock:
            self._scene.joints(stamp_ns, position, velocity)

    def _plan(self, source: Source, data: bytes) -> None:
        try:
            chunk = wire.chunk(data, self._profile.joint_names)
        except TendonError as error:
            self.problem = str(error)
            return
        self._count(topics.action_chunk(source))
        with self._lock:
            self._scene.plan(chunk.observation_stamp_ns, source.value, chunk.actions)

    def _image(self, camera: str, message: ImageMessage) -> None:
        stamp_ns = wire.time_ns(message.header.stamp)
        if not self._due(topics.image(camera), stamp_ns, CAMERA_HZ):
            return
        try:
            pixels = wire.image(message).pixels
        except TendonError as error:
            self.problem = str(error)
            return
        with self._lock:
            self._scene.image(stamp_ns, camera, pixels)

    def _state(self, message: DiagnosticArray) -> None:
        try:
            state = wire.STATE.decode(message)
        except TendonError as error:
            self.problem = str(error)
            return
        if isinstance(state, ControlState):
            self._count(wire.STATE.name)
            with self._lock:
                self._scene.state(wire.time_ns(message.header.stamp), state)

    def _due(self, name: str, stamp_ns: int, rate_hz: float) -> bool:
        """Returns whether one more is shown, at most `rate_hz` times a second of the robot's time."""
        if self._next_ns.get(name, 0) - 10_000_000_000 < stamp_ns < self._next_ns.get(name, 0):
            return False  # further back than ten seconds is another clock
        self._next_ns[name] = stamp_ns + round(1e9 / rate_hz)
        self._count(name)
        return True

    def _count(self, name: str) -> None:
        self.heard[name] = self.heard.get(name, 0) + 1
