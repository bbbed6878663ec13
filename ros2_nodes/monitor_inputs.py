"""What the safety monitor listens to beyond heartbeats: commands, frames, chunks, who publishes, and latencies.

Every message goes to the watch that judges it, and what shows the robot's motion goes to the event log.
"""

from __future__ import annotations

import re
import time
from functools import partial

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node
from sensor_msgs.msg import Image as ImageMessage
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from tendon.control.command_laws import Breach, CommandLaws, SentCommand
from tendon.control.event_log import EventLog
from tendon.control.latency import LatencyWatch
from tendon.control.liveness import CameraWatch, Frame, JointWatch, PoseHistory
from tendon.control.monitor import MonitorLimits
from tendon.control.reference import LEAD_TICKS
from tendon.control.response import Requests, Watch
from tendon.control.sources import BreachWatch, SourceWatch
from tendon.core.errors import InvalidDataError
from tendon.core.profile import Controller, RobotProfile
from tendon.core.types import Array
from tendon.ros2_nodes import conversion, qos
from tendon.ros2_nodes.permission import PERMISSION_TOPIC
from tendon.ros2_nodes.trajectory_wire import read_stamp_ns, read_trajectory

CHUNK_TOPICS = ("policy/action_chunk", "teleop/action_chunk")
COUNTED = ("control_node", "policy_node", "safety_monitor")
CAMERA_USER = "policy_node"
LOOK_S = 0.1
_P50 = re.compile(r"p50 ([0-9.]+)")


class MonitorInputs:
    """The monitor's watches and the subscriptions that feed them. Everything in the executor's thread.

    Args:
        node: subscribes.
        profile: controllers, cameras and limits.
        log: takes commands and filter inputs.
    """

    def __init__(self, node: Node, profile: RobotProfile, log: EventLog) -> None:
        self._node, self._profile, self._log = node, profile, log
        self._period_ns = round(1e9 / profile.control_hz)
        self.requests, self._latency, self._breaches = Requests(), LatencyWatch(), BreachWatch()
        arm = [i for i, joint in enumerate(profile.joints) if joint.tracking_tolerance is not None]
        self._poses, self._joints = PoseHistory(arm), JointWatch(profile)
        self._measured: Array | None = None
        self._needed = dict.fromkeys((camera.name for camera in profile.cameras), False)
        self._cameras = {
            camera.name: CameraWatch(
                camera, partial(self._needed.__getitem__, camera.name), lambda: self._poses.newest_ns, self._poses.at
            )
            for camera in profile.cameras
        }
        owners = {PERMISSION_TOPIC: "safety_monitor", **dict.fromkeys(CHUNK_TOPICS, "")}
        self._laws: dict[str, CommandLaws] = {}
        self._logged_ns: dict[str, int] = {}
        self._columns = {c.name: [profile.joint_names.index(name) for name in c.joints] for c in profile.controllers}
        outside = MonitorLimits().position_slack(profile)
        for controller in profile.controllers:
            if controller.type == "joint_trajectory":
                topic = f"{controller.name}/joint_trajectory"
                self._laws[controller.name] = CommandLaws(profile, controller, outside)
                node.create_subscription(
                    JointTrajectory, topic, partial(self._commanded, controller), qos.EACH, raw=True
                )
            else:
                topic = f"{controller.name}/commands"
                node.create_subscription(Float64MultiArray, topic, partial(self._positioned, controller), qos.EACH)
            owners[topic] = "control_node"
        self.sources = SourceWatch(owners, COUNTED, time.monotonic_ns())
        self._topics = {topic: node.resolve_topic_name(topic) for topic in owners}
        self._camera_topics = {name: node.resolve_topic_name(f"camera/{name}/image_raw") for name in self._cameras}
        for name in self._cameras:
            node.create_subscription(
                ImageMessage, f"camera/{name}/image_raw", partial(self._pictured, name), qos.STREAM
            )
        for topic in CHUNK_TOPICS:
            node.create_subscription(JointTrajectory, topic, self._proposed, qos.NEWEST, raw=True)
        node.create_subscription(JointTrajectory, conversion.FILTER_INPUT_TOPIC, self._filtered, qos.EACH)
        node.create_subscription(DiagnosticArray, "diagnostics", self._diagnosed, qos.EACH)
        node.create_timer(LOOK_S, self._look)

    @property
    def watches(self) -> tuple[Watch, ...]:
        """All that look for something."""
        return (self._breaches, self.sources, self._joints, *self._cameras.values(), self._latency, self.requests)

    def cameras_needed(self) -> str:
        """Returns which cameras the graph uses now."""
        return ", ".join(name for name, needed in self._needed.items() if needed)

    def measured(self, stamp_ns: int, position: Array, velocity: Array, now_ns: int) -> bool:
        """Takes a joint state in the profile's order; returns whether it is newer than the one before."""
        self._measured = position
        fresh = stamp_ns > self._poses.newest_ns
        self._poses.add(stamp_ns, position)
        self._joints.measured(position, velocity, now_ns)
        return fresh

    def _commanded(self, controller: Controller, data: bytes) -> None:
        laws = self._laws[controller.name]
        try:
            given = read_trajectory(data)
        except InvalidDataError as error:
            self._broken(controller, Breach(law="form", reason=f"command breaks the law of form: {error}"))
            return
        command = SentCommand(
            stamp_ns=given.stamp_ns,
            joint_names=given.joint_names,
            times_ns=given.times_ns,
            position=given.position,
            velocity=given.velocity,
        )
        columns = self._columns[controller.name]
        breach = laws.check(command, None if self._measured is None else self._measured[columns])
        if breach is not None:
            self._broken(controller, breach)
        if laws.last is not None:
            self._joints.commanded(columns, laws.last.position[0])
            self._log_command(controller, laws.last)

    def _positioned(self, controller: Controller, message: Float64MultiArray) -> None:
        """Checks what a forward_command controller is sent: it has no stop, so form and limits are all there is."""
        columns = self._columns[controller.name]
        position = np.array(message.data, dtype=np.float64)
        lower, upper = (self._profile.vector(bound)[columns] for bound in ("lower", "upper"))
        slack = MonitorLimits().position_slack(self._profile)[columns]
        if len(position) != len(columns):
            text = f"command breaks the law of form: {len(position)} positions for {len(columns)} joints"
            self._broken(controller, Breach(law="form", reason=text))
            return
        outside = np.flatnonzero(~((position >= lower - slack) & (position <= upper + slack)))
        if len(outside):
            i = int(outside[0])
            text = f"{controller.joints[i]} position {position[i]:.5g}, allowed {lower[i]:.5g} to {upper[i]:.5g}"
            self._broken(controller, Breach(law="position", reason=f"command breaks the law of position: {text}"))
            return
        self._joints.commanded(columns, position)

    def _broken(self, controller: Controller, breach: Breach) -> None:
        self._breaches.add(controller.name, breach.reason, time.monotonic_ns())
        self._log.put("breach", controller=controller.name, law=breach.law, reason=breach.reason)

    def _log_command(self, controller: Controller, command: SentCommand) -> None:
        """Logs the points that are committed now and were not before, and where the stop ends."""
        if len(command.times_ns) == 1:
            if command.stamp_ns + command.times_ns[0] != self._logged_ns.get(controller.name):
                self._logged_ns[controller.name] = command.stamp_ns + command.times_ns[0]
                goal = command.position[0].tolist()
                self._log.put("settle", controller=controller.name, stamp=command.stamp_ns, goal=goal)
            return
        known_ns = self._logged_ns.get(controller.name, 0)
        points = [
            (command.stamp_ns + time_ns, command.position[k].tolist(), command.velocity[k].tolist())
            for k, time_ns in enumerate(command.times_ns)
            if time_ns <= LEAD_TICKS * self._period_ns and command.stamp_ns + time_ns > known_ns
        ]
        if not points or not command.velocity.any():
            return
        self._logged_ns[controller.name] = points[-1][0]
        rest = {"rest_ms": command.times_ns[-1] // 1_000_000, "rest": command.position[-1].tolist()}
        self._log.put("command", controller=controller.name, stamp=command.stamp_ns, points=points, **rest)

    def _pictured(self, name: str, message: ImageMessage) -> None:
        if not self._needed[name]:
            return
        frame = Frame.of(conversion.time_ns(message.header.stamp), memoryview(message.data))
        self._cameras[name].take(frame, time.monotonic_ns())

    def _proposed(self, data: bytes) -> None:
        now_ns = time.monotonic_ns()
        try:
            stamp_ns = read_stamp_ns(data)
        except InvalidDataError:
            return  # control_node rejects it
        if self._poses.newest_ns:
            self._latency.chunk(self._poses.newest_ns - stamp_ns, now_ns)

    def _filtered(self, message: JointTrajectory) -> None:
        stamp_ns, count = conversion.time_ns(message.header.stamp), len(message.points)
        if message.header.frame_id == "reset":
            self._log.put("input", stamp=stamp_ns, reset=list(message.points[0].positions), steps=[])
            return
        steps = [
            (
                stamp_ns + (LEAD_TICKS + 1 - count + k) * self._period_ns,
                list(point.positions) or None,
                list(point.velocities) or None,
                point.effort[0] if len(point.effort) else 1.0,
            )
            for k, point in enumerate(message.points)
        ]
        self._log.put("input", stamp=stamp_ns, reset=None, steps=steps)

    def _diagnosed(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name != "control_node":
                continue
            found = _P50.match(conversion.values_of(status).get("chunk latency_ms", ""))
            if found:
                age_ns = round(float(found[1]) * 1e6)
                self._latency.report("observation to command", age_ns, time.monotonic_ns())

    def _look(self) -> None:
        """Asks the middleware who publishes and who takes frames."""
        now_ns = time.monotonic_ns()
        for topic, name in self._topics.items():
            found = self._node.get_publishers_info_by_topic(name)
            nodes = [(_known(info.node_name), bytes(info.endpoint_gid).hex()) for info in found]
            self.sources.publishers(topic, nodes, now_ns)
        for camera, name in self._camera_topics.items():
            users = self._node.get_subscriptions_info_by_topic(name)
            self._needed[camera] = any(user.node_name == CAMERA_USER for user in users)


def _known(node: str) -> str:
    """Returns a node's name, empty where the middleware says that it does not know it."""
    return "" if node.startswith("_NODE_NAME_UNKNOWN") else node
