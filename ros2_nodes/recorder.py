"""Keeps what a graph publishes, as bytes with the time of sending, and turns it into a `Recording` afterwards.

Nothing is deserialised while the graph runs, but for what is asked for with `newest`. There is no executor: messages
carry the time they were sent, so it is enough to take what has come a hundred times a second.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription
from sensor_msgs.msg import CameraInfo, JointState
from trajectory_msgs.msg import JointTrajectory

from tendon.core.profile import RobotProfile
from tendon.evaluation.recording import Attempt, Motion, Recording, Stream
from tendon.ros2_nodes import conversion, qos, world_state
from tendon.ros2_nodes.permission import STATE_TOPIC

WATCHED = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=100,
    reliability=ReliabilityPolicy.BEST_EFFORT,
    durability=DurabilityPolicy.VOLATILE,
)
"""Best effort: a publisher in the control loop must never wait for somebody who only watches."""

PERIOD_S = 0.01
JOINTS, CHUNKS, TASK = "joint_states", "policy/action_chunk", "sim/task"


class Recorder:
    """A ROS node of its own context and thread. `newest` may be called from any thread.

    Args:
        profile: says which controllers and cameras there are; its controllers are of type joint_trajectory.
    """

    def __init__(self, profile: RobotProfile) -> None:
        self._profile = profile
        self._context = rclpy.Context()
        self._context.init(args=[])
        self._node = Node("recorder", context=self._context, use_global_arguments=False)
        self._topics: dict[str, Subscription] = {}
        self._samples: dict[str, list[tuple[int, bytes]]] = {}
        self._controllers = {c: f"{c.name}/joint_trajectory" for c in profile.controllers}
        self._cameras = {camera.name: f"camera/{camera.name}/camera_info" for camera in profile.cameras}
        for topic in self._controllers.values():
            self._record(topic, JointTrajectory, WATCHED)
        for topic in self._cameras.values():
            self._record(topic, CameraInfo, WATCHED)
        for topic in (JOINTS, world_state.TOPIC):
            self._record(topic, JointState, WATCHED)
        self._record(CHUNKS, JointTrajectory, WATCHED)
        for topic in (TASK, STATE_TOPIC, "diagnostics"):
            self._record(topic, DiagnosticArray, qos.EACH)
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
                        content, info = taken
                        self._samples[topic].append((info["source_timestamp"], content))
            time.sleep(PERIOD_S)

    def newest(self, topic: str) -> Any:
        """Returns the last message of a topic that has had one."""
        return deserialize_message(self._samples[topic][-1][1], self._topics[topic].msg_type)

    def count(self, topic: str) -> int:
        """Returns how many messages of a topic have been kept."""
        return len(self._samples[topic])

    def _all(self, topic: str) -> Iterator[tuple[int, Any]]:
        for sent_ns, content in self._samples[topic]:
            yield sent_ns, deserialize_message(content, self._topics[topic].msg_type)

    def recording(self, attempts: Sequence[Attempt], begin_ns: int, end_ns: int) -> Recording:
        """Returns what was kept between two times. It takes a few seconds: call it when the graph has ended.

        Raises:
            MismatchError: a message lacks a joint of the profile.
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
                for _, message in self._all(world_state.TOPIC)
                for stamp_ns, _, state in (world_state.world_state(message),)
                if begin_ns <= stamp_ns <= end_ns
            ),
            modes=self._modes(),
            reports=self._reports(begin_ns, end_ns),
            attempts=tuple(attempts),
        )

    def _stream(self, topic: str, begin_ns: int, end_ns: int) -> Stream:
        rows = [
            (conversion.time_ns(m.header.stamp), sent) for sent, m in self._all(topic) if begin_ns <= sent <= end_ns
        ]
        stamps, sent = np.array(rows, dtype=np.int64).reshape(-1, 2).T
        return Stream(stamp_ns=stamps, sent_ns=sent)

    def _measured(self, begin_ns: int, end_ns: int) -> Motion:
        reader = conversion.JointStateReader(self._profile.joint_names)
        rows = [(sent, *reader.read(m)) for sent, m in self._all(JOINTS) if begin_ns <= sent <= end_ns]
        return self._motion([(stamp, sent, stamp, q, v) for sent, stamp, q, v in rows])

    def _commanded(self, begin_ns: int, end_ns: int) -> Motion:
        """The controllers' messages of one tick have one stamp; together they are the command."""
        ticks: dict[int, dict[str, tuple[int, Any]]] = {}
        for controller, topic in self._controllers.items():
            for sent, message in self._all(topic):
                if begin_ns <= sent <= end_ns and message.points:
                    ticks.setdefault(conversion.time_ns(message.header.stamp), {})[controller.name] = (sent, message)
        rows = []
        for stamp, parts in sorted(ticks.items()):
            if len(parts) < len(self._controllers):
                continue
            position, velocity = np.zeros((2, len(self._profile.joint_names)))
            for controller in self._controllers:
                point = parts[controller.name][1].points[0]
                columns = [self._profile.joint_names.index(name) for name in controller.joints]
                position[columns], velocity[columns] = point.positions, point.velocities
            due = stamp + conversion.time_ns(point.time_from_start)
            rows.append((stamp, max(sent for sent, _ in parts.values()), due, position, velocity))
        return self._motion(rows)

    def _motion(self, rows: Sequence[tuple[int, int, int, Any, Any]]) -> Motion:
        width = (len(rows), len(self._profile.joint_names))
        stamp, sent, due = np.array([row[:3] for row in rows], dtype=np.int64).reshape(-1, 3).T
        position, velocity = (np.array([row[k] for row in rows], dtype=np.float64).reshape(width) for k in (3, 4))
        return Motion(stamp_ns=stamp, sent_ns=sent, due_ns=due, position=position, velocity=velocity)

    def _modes(self) -> tuple[tuple[int, str], ...]:
        modes: list[tuple[int, str]] = []
        for sent, message in self._all(STATE_TOPIC):
            for status in message.status:
                mode = conversion.values_of(status).get("mode")
                if status.name == "control_node" and mode and (not modes or modes[-1][1] != mode):
                    modes.append((sent, mode))
        return tuple(modes)

    def _reports(self, begin_ns: int, end_ns: int) -> dict[str, tuple[dict[str, str], ...]]:
        reports: dict[str, list[dict[str, str]]] = {}
        for sent, message in self._all("diagnostics"):
            for status in message.status:
                if begin_ns <= sent <= end_ns:
                    reports.setdefault(status.name, []).append(conversion.values_of(status))
        return {name: tuple(values) for name, values in reports.items()}

    def close(self) -> None:
        """Leaves the ROS graph; what was kept stays."""
        if self._closing.is_set():
            return
        self._closing.set()
        self._thread.join(1.0)
        self._node.destroy_node()
        self._context.try_shutdown()
