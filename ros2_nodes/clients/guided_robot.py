"""A robot of a running graph that goes from view to view: chunks like a policy's, through control node and filter."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from rclpy.publisher import Publisher
from sensor_msgs.msg import Image as ImageMessage
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from tendon.calibration.motion.guide import free_way
from tendon.calibration.motion.taking import REST_SPEED, Pictures, RestWatch, add_views, boards_in
from tendon.calibration.rig.parts import Rig
from tendon.calibration.session import Session
from tendon.control.clearance.model import Clearance
from tendon.control.homing.chunk import HomingChunks
from tendon.core.errors import StoppedError
from tendon.core.modes import Source
from tendon.core.types import Array, Observation
from tendon.graph import topics
from tendon.observation.messages import image
from tendon.robots.profile import RobotProfile
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.clients.operator import Operator
from tendon.safety.reports import ControlState, MonitorState

NEAR = 5e-3
"""How near to a pose a robot that rests is there, rad or m."""
SETTLE_NS = 300_000_000
"""How long it rests before a view is taken."""
AHEAD_NS = 200_000_000
"""A chunk begins so much later than it is sent."""
STARTS_S, STEP_S = 3.0, 0.01
"""How long a chunk has to set the robot in motion before it is sent again."""
PATIENCE_S = 20.0
"""Of wall time, beyond that of the way; a machine with other work is slow."""


class WatchedRobot:
    """Joints and pictures of a graph's robot, whoever moves it. Used by one thread.

    What time it is, it takes from joint states, so that no clock of the graph need be known.

    Args:
        operator: joined the graph.
        profile: of its robot.
        cameras: names of those that take pictures.
    """

    def __init__(self, operator: Operator, profile: RobotProfile, cameras: Sequence[str]) -> None:
        self._operator, self._profile = operator, profile
        self._late_ns = {name: round(1e9 * late_s) for name, late_s in profile.latencies.cameras.items()}
        self._reader = wire.JointStateReader(profile.joint_names)
        self._joints: Observation | None = None
        self._frames: dict[str, ImageMessage] = {}
        node = operator.node
        node.create_subscription(JointState, topics.JOINT_STATES, self._measured, qos.STREAM)
        for name in cameras:
            take = partial(self._frames.__setitem__, name)
            node.create_subscription(ImageMessage, topics.image(name), take, qos.STREAM)
        self._cameras = tuple(cameras)

    def joints(self) -> Observation:
        """Returns the newest joint state.

        Raises:
            StoppedError: none comes.
        """
        if not self._operator.wait(lambda: self._joints is not None, PATIENCE_S) or self._joints is None:
            raise StoppedError(f"nothing comes on {topics.JOINT_STATES}: start the graph, `tendon run policy:=none`")
        return self._joints

    def pictures(self) -> Pictures:
        """See `Mover`.

        Raises:
            StoppedError: a camera sends nothing.
        """
        since_ns = self.joints().stamp_ns
        found: dict[str, tuple[int, np.ndarray]] = {}

        def all_there() -> bool:
            for name, message in dict(self._frames).items():
                stamp_ns = wire.time_ns(message.header.stamp) - self._late_ns.get(name, 0)
                if stamp_ns >= since_ns and name not in found:
                    found[name] = stamp_ns, np.array(image(message).pixels)
            return len(found) == len(self._cameras)

        if not self._operator.wait(all_there, PATIENCE_S):
            missing = ", ".join(sorted(set(self._cameras) - set(found)))
            raise StoppedError(f"camera {missing} sends nothing for {PATIENCE_S:g} s: look at its driver and its topic")
        return found

    def check_moving(self, then: str) -> None:
        """Checks that the robot may move.

        Args:
            then: what to do once it is armed again.

        Raises:
            StoppedError: it may not, and why.
        """
        mode = self._operator.mode()
        if mode is None or not mode.moving:
            raise StoppedError(
                f"the robot is {'not there' if mode is None else mode.value}: {self.said() or 'it is not armed'}; see "
                f"to the cause, arm it (`tendon safety arm`), and run this again{then}"
            )

    def said(self) -> str:
        """Returns why the robot is stopped, as monitor and control node say; empty when they say nothing."""
        reports = self._operator.reports
        monitor, control = reports.newest(MonitorState), reports.newest(ControlState)
        said = ["" if monitor is None else monitor.permission.reason, "" if control is None else control.reason]
        return "; ".join(filter(None, said))

    def check_followed(self, chunks: Publisher) -> None:
        """Checks that a control node takes the chunks of a publisher.

        Raises:
            StoppedError: none does.
        """
        if not self._operator.wait(lambda: bool(chunks.get_subscription_count()), PATIENCE_S):
            raise StoppedError("no control node takes chunks: start the graph with `tendon run policy:=none`")

    def _measured(self, message: JointState) -> None:
        stamp_ns, position, velocity = self._reader.read(message)
        self._joints = Observation(stamp_ns=stamp_ns, joint_position=position, joint_velocity=velocity)


class GuidedRobot(WatchedRobot):
    """A `tendon.calibration.motion.taking.Mover` of an armed graph without a policy, in whose place it sends chunks.

    Args:
        operator: joined the graph.
        profile: of its robot.
        cameras: names of those that take pictures.
        clearance: what ways keep apart; the graph's filter keeps it besides.
    """

    def __init__(self, operator: Operator, profile: RobotProfile, cameras: Sequence[str], clearance: Clearance) -> None:
        super().__init__(operator, profile, cameras)
        self._clearance, self._chunks_of = clearance, HomingChunks(profile)
        topic = topics.action_chunk(Source.POLICY)
        self._chunks = operator.node.create_publisher(JointTrajectory, topic, qos.NEWEST)

    def go(self, goal: Array) -> Observation:
        """See `Mover`."""
        self._operator.wait(lambda: self._operator.mode() is not None, PATIENCE_S)
        begun_s, next_s, rested_ns, limit_s = time.monotonic(), 0.0, 0, PATIENCE_S
        while True:
            at = self.joints()
            self.check_moving(": views that are there are kept")
            there = bool((np.abs(at.joint_position - goal) < NEAR).all())
            rests = bool((np.abs(at.joint_velocity) < REST_SPEED).all())
            rested_ns = (rested_ns or at.stamp_ns) if there and rests else 0
            if rested_ns and at.stamp_ns - rested_ns > SETTLE_NS:
                return at
            if not there and rests and time.monotonic() > next_s:
                way_s = self._send(free_way(self._profile, self._clearance, at.joint_position, goal))
                # Dropped while the robot settled after it was armed, or held on the way: once more, from where it is.
                next_s = time.monotonic() + way_s + STARTS_S
                limit_s = max(limit_s, 3 * way_s + PATIENCE_S)
            if time.monotonic() - begun_s > limit_s:
                raise StoppedError(f"the robot is not at its next pose: {self.said() or 'it does not move'}")
            time.sleep(STEP_S)

    def _send(self, way: Array) -> float:
        """Publishes a way; returns how long it takes [s]."""
        self.check_followed(self._chunks)
        now_ns = self.joints().stamp_ns
        chunk = self._chunks_of.chunk(way, 1.0, now_ns + AHEAD_NS, now_ns)
        self._chunks.publish(wire.chunk_bytes(chunk, self._profile.joint_names))
        return (chunk.end_ns - now_ns) * 1e-9


def watch_for_views(robot: WatchedRobot, session: Session, rig: Rig, count: int, tell: Callable[[str], None]) -> int:
    """Takes views wherever a robot that somebody leads rests; returns at how many poses there was a board.

    Args:
        robot: that is led.
        session: takes the views.
        rig: whose boards are looked for.
        count: ends it; Ctrl-C does too.
        tell: gets a line about each pose.
    """
    names = rig.profile.joint_names
    watch = RestWatch([[shot.joints[name] for name in names] for shot in session.shots()])
    taken, seen_ns = 0, 0
    with contextlib.suppress(KeyboardInterrupt):
        while taken < count:
            at = robot.joints()
            if at.stamp_ns == seen_ns or not watch.see(at):
                seen_ns = at.stamp_ns
                time.sleep(STEP_S)
                continue
            shown, why = {}, []
            for camera, (stamp_ns, pixels) in robot.pictures().items():
                boards, reasons = boards_in(rig, pixels, f"camera {camera}")
                if boards:
                    shown[camera] = stamp_ns, pixels
                    tell(f"pose {taken + 1}: camera {camera} sees board {', '.join(boards)}")
                why += reasons if not boards else []
            if shown and np.abs(robot.joints().joint_position - at.joint_position).max() < NEAR:
                add_views(session, shown, at, names)
                taken += 1
            else:
                watch.forget()
                tell(f"not kept: {'; '.join(why) or 'the robot moved meanwhile'}")
    return taken
