"""Keeps what a graph publishes, as bytes with the time of sending, and turns it into a `Recording` afterwards.

Nothing is deserialised while the graph runs, but for what is asked for with `newest`. There is no executor: messages
carry the time they were sent, so it is enough to take what has come a hundred times a second.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import CameraInfo, JointState
from trajectory_msgs.msg import JointTrajectory

from tendon.core.errors import InvalidDataError, TendonError
from tendon.core.modes import Mode, Source
from tendon.core.node_status import NodeStatus
from tendon.core.types import SentTrajectory
from tendon.demo.recording import Attempt, Motion, Recording, Stream
from tendon.graph import topics
from tendon.graph.namespace import CLOCK_REMAPPING, own_namespace
from tendon.robots.profile import RobotProfile
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.wire.cdr import deserialize
from tendon.ros2_nodes.wire.sizes import check_size
from tendon.ros2_nodes.wire.world_state import world_state
from tendon.safety.reports import ControlState, TaskState

WATCHED = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=100,
    reliability=ReliabilityPolicy.BEST_EFFORT,
    durability=DurabilityPolicy.VOLATILE,
)
"""Best effort: a publisher in the control loop must never wait for somebody who only watches."""

PERIOD_S = 0.01
CHUNKS, CLOCK = topics.action_chunk(Source.POLICY), CLOCK_REMAPPING[1]

MAX_BYTES = 1 << 30
"""Of all that is kept; a demo of ten minutes leaves a tenth of it."""

T = TypeVar("T", bound=wire.Stated)
Given = TypeVar("Given")
Read = TypeVar("Read")


class Recorder:
    """A ROS node of its own context and thread. `newest` may be called from any thread.

    Args:
        profile: says which controllers and cameras there are; its controllers are of type joint_trajectory.
    """

    def __init__(self, profile: RobotProfile) -> None:
        self._profile = profile
        self._context = rclpy.Context()
        self._context.init(args=[])
        self._node = Node(  # hidden, as nothing answers its services
            "_recorder",
            context=self._context,
            namespace=own_namespace(),
            use_global_arguments=False,
            start_parameter_services=False,
        )
        self._topics: dict[str, Subscription] = {}
        self._samples: dict[str, list[tuple[int, bytes]]] = {}
        self._bytes = 0
        self._controllers = {c: topics.commands(c) for c in profile.controllers}
        self._cameras = {camera.name: topics.camera_info(camera.name) for camera in profile.cameras}
        for topic in self._controllers.values():
            self._record(topic, JointTrajectory, WATCHED)
        for topic in self._cameras.values():
            self._record(topic, CameraInfo, WATCHED)
        for topic in (topics.JOINT_STATES, topics.WORLD_STATE):
            self._record(topic, JointState, WATCHED)
        self._record(CHUNKS, JointTrajectory, WATCHED)
        self._record(CLOCK, Clock, WATCHED)
        for status_topic in (wire.TASK, wire.STATE, wire.DIAGNOSTICS):
            self._record(status_topic.name, DiagnosticArray, qos.EACH)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._take, name="recorder", daemon=True)
        self._thread.start()

    def _record(self, topic: str, kind: type, quality: QoSProfile) -> None:
        self._samples[topic] = []
        self._topics[topic] = self._node.create_subscription(kind, topic, lambda _: None, quality, raw=True)

    def _take(self) -> None:
        while not self._closing.is_set():
            for topic, subscription in self._topics.items():
                with subscription.handle:
                    while (taken := subscription.handle.take_message(subscription.msg_type, True)) is not None:
                        self._keep(topic, taken[1]["source_timestamp"], taken[0])
            time.sleep(PERIOD_S)

    def _keep(self, topic: str, sent_ns: int, content: bytes) -> None:
        """Keeps a message that is not too large, as long as there is room."""
        if self._bytes + len(content) <= MAX_BYTES:
            with contextlib.suppress(InvalidDataError):
                check_size(self._topics[topic].msg_type, content)
                self._samples[topic].append((sent_ns, content))
                self._bytes += len(content)

    def newest(self, topic: str) -> Any:
        """Returns the last message of a topic that has had one.

        Raises:
            InvalidDataError: it cannot be read.
        """
        kind: Any = self._topics[topic].msg_type
        return deserialize(self._samples[topic][-1][1], kind)

    def count(self, topic: str) -> int:
        """Returns how many messages of a topic have been kept."""
        return len(self._samples[topic])

    def newest_task(self) -> TaskState:
        """Returns the last state of the task; one must have come.

        Raises:
            InvalidDataError: it cannot be read.
        """
        return wire.TASK.decode(self.newest(wire.TASK.name))

    def _sent(self, topic: str) -> Iterator[tuple[int, bytes]]:
        """Yields (when it was sent, on the clock of the graph, and its bytes) for each message."""
        samples = self._samples[topic]
        times_ns = self._graph_time_ns(np.array([sent_ns for sent_ns, _ in samples], dtype=np.int64))
        yield from zip(times_ns.tolist(), (content for _, content in samples), strict=True)

    def _all(self, topic: str) -> Iterator[tuple[int, Any]]:
        """Yields (when it was sent, and the message) for each that can be read."""
        for sent_ns, content in self._sent(topic):
            with contextlib.suppress(InvalidDataError):
                kind: Any = self._topics[topic].msg_type
                yield sent_ns, deserialize(content, kind)

    def _values(self, topic: wire.StatusTopic[T]) -> Iterator[tuple[int, T]]:
        """Yields (when it was sent, and the value) for each message that is one of ours."""
        for sent_ns, content in self._sent(topic.name):
            with contextlib.suppress(InvalidDataError):
                yield sent_ns, topic.decode_bytes(content)

    def _graph_time_ns(self, sent_ns: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Turns wall times of sending into the time that `/clock` showed then, where there is one."""
        clock = list(_readable(self._samples[CLOCK], lambda data: wire.time_ns(deserialize(data, Clock).clock)))
        if not clock:
            return sent_ns
        wall_ns, said_ns = np.array(clock, dtype=np.int64).T
        return np.asarray(said_ns[np.maximum(np.searchsorted(wall_ns, sent_ns, side="right") - 1, 0)])

    def recording(self, attempts: Sequence[Attempt], begin_ns: int, end_ns: int) -> Recording:
        """Returns what was kept between two times, but for what cannot be read.

        It takes a few seconds: call it when the graph has ended.
        """
        self.close()
        return Recording(
            begin_ns=begin_ns,
            end_ns=end_ns,
            joint_names=self._profile.joint_names,
            acceleration_limit=self._profile.vector("acceleration"),
            measured=self._measured(begin_ns, end_ns),
            commanded=self._commanded(begin_ns, end_ns),
            chunks=self._stream(CHUNKS, begin_ns, end_ns),
            cameras={name: self._stream(topic, begin_ns, end_ns) for name, topic in self._cameras.items()},
            worlds=tuple(
                state
                for _, (stamp_ns, _, state) in _readable(self._all(topics.WORLD_STATE), world_state)
                if begin_ns <= stamp_ns <= end_ns
            ),
            modes=tuple(self._modes()),
            statuses=self._statuses(begin_ns, end_ns),
            attempts=tuple(attempts),
        )

    def _stream(self, topic: str, begin_ns: int, end_ns: int) -> Stream:
        stamped = _readable(self._all(topic), lambda message: wire.time_ns(message.header.stamp))
        rows = [(stamp_ns, sent) for sent, stamp_ns in stamped if begin_ns <= sent <= end_ns]
        stamps, sent = np.array(rows, dtype=np.int64).reshape(-1, 2).T
        return Stream(stamp_ns=stamps, sent_ns=sent)

    def _measured(self, begin_ns: int, end_ns: int) -> Motion:
        reader = wire.JointStateReader(self._profile.joint_names)
        read = _readable(self._all(topics.JOINT_STATES), reader.read)
        return self._motion([(stamp, sent, stamp, q, v) for sent, (stamp, q, v) in read if begin_ns <= sent <= end_ns])

    def _commanded(self, begin_ns: int, end_ns: int) -> Motion:
        """The controllers' messages of one tick have one stamp; together they are the command."""
        ticks: dict[int, dict[str, tuple[int, SentTrajectory]]] = {}
        for controller, topic in self._controllers.items():
            shape = len(controller.joints)
            for sent, command in _readable(self._sent(topic), wire.read_trajectory):
                ours = sorted(command.joint_names) == sorted(controller.joints)
                whole = command.position.shape[1:] == command.velocity.shape[1:] == (shape,)
                if begin_ns <= sent <= end_ns and command.times_ns and ours and whole:
                    ticks.setdefault(command.stamp_ns, {})[controller.name] = (sent, command)
        rows = []
        for stamp, parts in sorted(ticks.items()):
            if len(parts) < len(self._controllers):
                continue
            position, velocity = np.zeros((2, len(self._profile.joint_names)))
            for _, command in parts.values():
                columns = [self._profile.joint_names.index(name) for name in command.joint_names]
                position[columns], velocity[columns] = command.position[0], command.velocity[0]
            due = stamp + command.times_ns[0]
            rows.append((stamp, max(sent for sent, _ in parts.values()), due, position, velocity))
        return self._motion(rows)

    def _motion(self, rows: Sequence[tuple[int, int, int, Any, Any]]) -> Motion:
        width = (len(rows), len(self._profile.joint_names))
        stamp, sent, due = np.array([row[:3] for row in rows], dtype=np.int64).reshape(-1, 3).T
        position, velocity = (np.array([row[k] for row in rows], dtype=np.float64).reshape(width) for k in (3, 4))
        return Motion(stamp_ns=stamp, sent_ns=sent, due_ns=due, position=position, velocity=velocity)

    def _modes(self) -> Iterator[tuple[int, Mode]]:
        before: Mode | None = None
        for sent, state in self._values(wire.STATE):
            if isinstance(state, ControlState) and state.mode is not before:
                before = state.mode
                yield sent, state.mode

    def _statuses(self, begin_ns: int, end_ns: int) -> tuple[NodeStatus, ...]:
        return tuple(status for sent, status in self._values(wire.DIAGNOSTICS) if begin_ns <= sent <= end_ns)

    def close(self) -> None:
        """Leaves the ROS graph; what was kept stays."""
        if self._closing.is_set():
            return
        self._closing.set()
        self._thread.join(1.0)
        self._node.destroy_node()
        self._context.try_shutdown()


def _readable(samples: Iterable[tuple[int, Given]], read: Callable[[Given], Read]) -> Iterator[tuple[int, Read]]:
    """Yields (when it was sent, what is in it) for each message that can be read."""
    for sent_ns, given in samples:
        with contextlib.suppress(TendonError):
            yield sent_ns, read(given)
