"""A robot of a running graph that does again what was recorded: chunks through control node and filter.

The chunks reach at most a second ahead: when whoever sends them is killed, the plan runs out, and the robot brakes.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from rclpy.duration import Duration
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

from tendon.control.homing.chunk import HomingChunks
from tendon.core.errors import StoppedError
from tendon.core.modes import Source
from tendon.core.types import ActionChunk, Array
from tendon.data.replay import STEP_NS
from tendon.graph import topics
from tendon.robots.profile import RobotProfile
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.clients.guided_robot import AHEAD_NS, PATIENCE_S, WatchedRobot
from tendon.ros2_nodes.clients.operator import Operator
from tendon.safety.reports import ControlState

PAST, AHEAD = 5, 45
"""Rows of a chunk before now, and behind."""
SEND_S = 0.05
STANDSTILL_S = 5.0
"""How long the robot's time may stand still."""


class ReplayingRobot(WatchedRobot):
    """Sends recorded rows at the time of the robot, in place of a policy. Used by one thread.

    Args:
        operator: joined the graph.
        profile: of its robot.
    """

    def __init__(self, operator: Operator, profile: RobotProfile) -> None:
        self._seen: list[tuple[int, Array]] = []
        super().__init__(operator, profile, ())
        self._followed = HomingChunks(profile)
        self._chunks: Publisher | None = None
        self._source = operator.node.create_publisher(String, topics.CONTROL_SOURCE, qos.LATCHED)

    def _measured(self, message: JointState) -> None:
        super()._measured(message)
        if self._joints is not None:
            self._seen.append((self._joints.stamp_ns, self._joints.joint_position))

    def take_over(self) -> None:
        """Has the control node follow what is sent here.

        Raises:
            StoppedError: the robot is not armed, or somebody else leads it.
        """
        operator = self._operator
        operator.wait(lambda: operator.reports.newest(ControlState) is not None, PATIENCE_S)
        if operator.finds("policy_node"):
            raise StoppedError("a policy leads this graph: start it without one, `tendon run policy:=none`")
        self.check_moving("")
        if self._state_source() is Source.TELEOP:
            raise StoppedError("somebody teleoperates this robot: end that first")
        # Not before: two who may publish chunks are a fault that stops the robot.
        topic = topics.action_chunk(Source.POLICY)
        self._chunks = operator.node.create_publisher(JointTrajectory, topic, qos.NEWEST)
        self.check_followed(self._chunks)
        self._source.publish(String(data=Source.POLICY.value))
        if not operator.wait(lambda: self._state_source() is Source.POLICY, PATIENCE_S):
            raise StoppedError("the control node does not follow chunks: look at `tendon status`")

    def go(self, start: Array, told: Callable[[float], None]) -> None:
        """Leads the robot along a straight way to a position.

        Args:
            start: (n,) the position.
            told: gets the share of the way that has become due.

        Raises:
            StoppedError: it is stopped, or does not get there.
        """
        way = self._way(self.joints().joint_position, start)
        self._send_all(way, lambda row: told(min(1.0, max(0, row) / max(1, len(way) - 1))))
        told(1.0)

    def replay(self, actions: Array, told: Callable[[int], None]) -> tuple[npt.NDArray[np.int64], Array]:
        """Sends rows until the last was due.

        Args:
            actions: (k, n) a row each `STEP_NS`.
            told: gets how many rows have become due.

        Returns:
            (m,) times since the first row was due [ns], and (m, n) where the robot was.

        Raises:
            StoppedError: the robot is stopped, or somebody else takes it over.
        """
        lead = self._way(self.joints().joint_position, actions[0])
        self._seen.clear()
        begin_ns = self._send_all(np.concatenate([lead, actions]), lambda row: told(max(0, row - len(lead))))
        begin_ns += len(lead) * STEP_NS
        seen = self._seen.copy()
        return np.array([stamp for stamp, _ in seen]) - begin_ns, np.array([position for _, position in seen])

    def brake(self) -> None:
        """Leaves the robot to nobody: it brakes at once, through the filter."""
        self._source.publish(String(data=Source.HOLD.value))
        self._source.wait_for_all_acked(Duration(seconds=1.0))

    def _way(self, at: Array, start: Array) -> Array:
        """Returns (k, n) rows from a position to another, at rest at both."""
        chunk = self._followed.chunk(np.array([at, start]), 1.0, 0, 0)
        times = np.arange(0, chunk.end_ns, STEP_NS)
        known = chunk.step_ns * np.arange(len(chunk.actions))
        return np.stack([np.interp(times, known, column) for column in chunk.actions.T], axis=1)

    def _send_all(self, rows: Array, told: Callable[[int], None]) -> int:
        """Sends rows as their time comes; returns when the first was due [ns]."""
        now_ns = self.joints().stamp_ns
        begin_ns, sent_ns, moved_s = now_ns + AHEAD_NS, 0, time.monotonic()
        while now_ns < begin_ns + (len(rows) - 1) * STEP_NS:
            self.check_moving("")
            if self._state_source() is not Source.POLICY:
                raise StoppedError("somebody else has taken the robot over")
            if now_ns > sent_ns:
                self._send(rows, begin_ns, now_ns)
                sent_ns, moved_s = now_ns, time.monotonic()
            elif time.monotonic() - moved_s > STANDSTILL_S:
                raise StoppedError(f"the robot's time stands still for {STANDSTILL_S:g} s: look at `tendon status`")
            told((now_ns - begin_ns) // STEP_NS)
            time.sleep(SEND_S)
            now_ns = self.joints().stamp_ns
        return begin_ns

    def _send(self, rows: Array, begin_ns: int, now_ns: int) -> None:
        if self._chunks is None:
            raise StoppedError("chunks are sent by who has taken the robot over")
        first = (now_ns - begin_ns) // STEP_NS - PAST
        wanted = np.clip(np.arange(first, first + PAST + AHEAD), 0, len(rows) - 1)
        chunk = ActionChunk(
            actions=rows[wanted],
            start_ns=begin_ns + first * STEP_NS,
            step_ns=STEP_NS,
            observation_stamp_ns=now_ns,
        )
        self._chunks.publish(wire.chunk_bytes(chunk, self._profile.joint_names))

    def _state_source(self) -> Source | None:
        state = self._operator.reports.newest(ControlState)
        return None if state is None else state.source
