"""What the safety monitor listens to beyond heartbeats: commands, what frames are like, chunks, publishers, latencies.

Every message goes to the watch that judges it, and what shows the robot's motion goes to the event log.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.subscription import Subscription
from std_msgs.msg import Float64MultiArray, Header
from trajectory_msgs.msg import JointTrajectory

from tendon.core.causes import Cause, Reason
from tendon.core.clock import AwakeClock
from tendon.core.errors import InvalidDataError
from tendon.core.filter_input import LEAD_TICKS
from tendon.core.modes import Source
from tendon.core.node_status import ControlStatus
from tendon.core.types import Array, SentTrajectory
from tendon.graph import topics
from tendon.graph.node_imports import stand_in
from tendon.robots.profile import ControllerSpec, RobotProfile
from tendon.robots.safety_settings import nanoseconds
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.base.message_info import MessageInfo
from tendon.ros2_nodes.base.middleware import middleware_name
from tendon.ros2_nodes.base.publishers import is_named, name_of, publishers, robot_name, robot_names
from tendon.ros2_nodes.base.shell import NodeShell
from tendon.ros2_nodes.monitor.arrivals import Arrivals
from tendon.ros2_nodes.monitor.stop_inputs import StopInputs
from tendon.ros2_nodes.wire.status.first_name import first_name
from tendon.safety.camera_watch import CameraWatch, PoseHistory
from tendon.safety.effort_watch import EffortWatch
from tendon.safety.event_log import EventLog
from tendon.safety.joint_watch import JointWatch
from tendon.safety.latency_watch import LatencyWatch
from tendon.safety.laws import Breach, CommandLaws, Delivery, longest_stop_ns
from tendon.safety.monitor import position_slack
from tendon.safety.reports import ControlState
from tendon.safety.response import Requests, Watch
from tendon.safety.sender_watch import BreachWatch, SourceWatch
from tendon.safety.silence_watch import SilenceWatch
from tendon.safety.tracking_watch import PositionTracking, TrackingWatch

CHUNK_TOPICS = {source: topics.action_chunk(source) for source in (Source.POLICY, Source.TELEOP)}
COUNTED = ("control_node", "policy_node", "safety_monitor", "teleop_node")
CAMERA_USER = "policy_node"
LOOK_S, SOONEST_LOOK_NS = 0.1, 20_000_000
LONGEST_NS = 1e18
"""A latency that is reported counts as no longer."""


class MonitorInputs:
    """The monitor's watches and the subscriptions that feed them. Everything in the executor's thread.

    Attributes:
        arrivals: of commands.
        breaches: how many commands have broken a law; one that was only late has not.
        ends_ns: when the last command that broke none ends.

    Args:
        node: subscribes.
        profile: controllers, cameras and limits.
        log: takes commands and filter inputs.
        awake: the clock of all ages.
    """

    def __init__(self, node: NodeShell, profile: RobotProfile, log: EventLog, awake: AwakeClock) -> None:
        self._node, self._profile, self._log, self._awake = node, profile, log, awake
        self._period_ns = round(1e9 / profile.control_hz)
        settings = profile.safety
        self.requests, self._latency = Requests(settings), LatencyWatch(settings)
        self._silence_ns = nanoseconds(settings.joint_state_silence_s)
        self._breaches, self.effort = BreachWatch(settings), EffortWatch(profile)
        self._stop_inputs = StopInputs(node, awake)
        arm = np.flatnonzero(np.isfinite(profile.tracking_tolerance)).tolist()
        self._poses, self._joints = PoseHistory(arm), JointWatch(profile)
        self.silence, self._longest_ns = SilenceWatch(profile), longest_stop_ns(profile)
        self.arrivals = Arrivals(node.time, awake)
        self._measured: tuple[int, Array] | None = None
        self.breaches, self.ends_ns = 0, 0
        self._needed = dict.fromkeys((camera.name for camera in profile.cameras), False)
        self._leader = Source.POLICY
        self._cameras = {
            camera.name: CameraWatch(
                camera,
                partial(self._needed.__getitem__, camera.name),
                lambda: self._poses.newest_ns,
                self._poses.at,
                settings,
            )
            for camera in profile.cameras
        }
        owners = {topics.PERMISSION: "safety_monitor", topics.FRAMES: CAMERA_USER}
        owners |= dict.fromkeys(CHUNK_TOPICS.values(), "")
        if profile.human is not None:  # of two who see people, the last to say that nobody is there would be believed
            owners[profile.human.topic] = ""
        self._robot = stand_in(node.get_parameter("backend").value)
        if node.time.simulated:
            owners[topics.CLOCK] = self._robot
        self._heard: dict[str, Subscription] = {}
        self._laws: dict[str, CommandLaws] = {}
        self._tracking: dict[str, TrackingWatch] = {}
        self._positions: dict[str, PositionTracking] = {}
        self._logged_ns: dict[str, int] = {}
        self._columns = {c.name: [profile.joint_names.index(name) for name in c.joints] for c in profile.controllers}
        self._slack = position_slack(profile)
        for controller in profile.controllers:
            topic = topics.commands(controller)
            if controller.type == "joint_trajectory":
                self._laws[controller.name] = CommandLaws(profile, controller, self._slack)
                self._tracking[controller.name] = TrackingWatch(profile, controller)
                self._heard[topic] = node.create_subscription(
                    JointTrajectory, topic, partial(self._commanded, controller), qos.EACH, raw=True, informed=True
                )
            else:
                self._positions[controller.name] = PositionTracking(profile, controller)
                take_one = partial(self._positioned, controller)
                self._heard[topic] = node.create_subscription(Float64MultiArray, topic, take_one, qos.EACH)
            owners[topic] = "control_node"
        self.sources = SourceWatch(owners, COUNTED, self._awake.now_ns(), settings)
        self._topics = {topic: node.resolve_topic_name(topic) for topic in owners}
        self._camera_topics = {name: node.resolve_topic_name(topics.image(name)) for name in self._cameras}
        node.create_subscription(Header, topics.FRAMES, self._pictured, qos.EACH)
        for source, topic in CHUNK_TOPICS.items():
            node.create_subscription(JointTrajectory, topic, partial(self._proposed, source), qos.NEWEST, raw=True)
        node.create_subscription(JointTrajectory, topics.FILTER_INPUT, self._filtered, qos.EACH, raw=True)
        node.create_subscription(DiagnosticArray, wire.DIAGNOSTICS.name, self._diagnosed, qos.EACH, raw=True)
        self._looked_ns = 0
        node.every(LOOK_S, self._look)

    @property
    def watches(self) -> tuple[Watch, ...]:
        """All that look for something."""
        cameras, inputs = self._cameras.values(), self._stop_inputs.watches
        found = (self._breaches, self.sources, self._joints, self.effort, self.silence)
        return (*found, *cameras, *inputs, self._latency, self.requests)

    def reported(self, state: ControlState | None, now_ns: int) -> None:
        """Takes what the control node says of itself; `None` when that cannot be read."""
        self.silence.reported(None if state is None else state.mode, now_ns)
        self._leader = Source.POLICY if state is None else state.source
        self._latency.led_by(self._leader)

    def cameras_needed(self) -> tuple[str, ...]:
        """Returns which cameras motion depends on now: those of a policy that leads."""
        return tuple(name for name, needed in self._needed.items() if needed)

    def unconnected(self) -> tuple[str, ...]:
        """Returns what keeps commands from the robot, or from being heard here, as far as the middleware knows."""
        problems = []
        for topic, subscription in self._heard.items():
            place = self._topics[topic]
            senders = [name for name, _ in publishers(self._node, place)]
            if ControlState.node not in senders or not subscription.get_publisher_count():
                problems.append(f"{ControlState.node} is not heard on {topic} yet")
            if not self._is_taken(topic):
                driver = "" if self._robot else f", nor a node that publishes {topics.JOINT_STATES}"
                nobody = f"nobody on the robot side listens to {topic}: {self._robot_side(topic)} does not{driver}"
                problems.append(nobody + self._nameless(topic))
        return tuple(problems)

    def listens(self, controller: ControllerSpec) -> bool:
        """Returns whether the robot listens to the commands of a controller."""
        return self._is_taken(topics.commands(controller))

    def _is_taken(self, topic: str) -> bool:
        """Returns whether the robot takes a command. Whoever else does may only watch: recorders, bridges, plots."""
        return not self._takers(topic).isdisjoint(robot_names(self._node, self._topics[topic], self._robot))

    def _takers(self, topic: str) -> set[str]:
        """Returns the names of who takes commands, as `name_of` has them: one without a name may be anybody."""
        return {name_of(each, self._node) for each in self._node.get_subscriptions_info_by_topic(self._topics[topic])}

    def _nameless(self, topic: str) -> str:
        """Returns what to do about somebody without a name who takes commands; empty without such."""
        if all(map(is_named, self._takers(topic))):
            return ""
        return (
            f". Somebody without a name does: wait for it; if none comes (`ros2 topic info -v {self._topics[topic]}`), "
            f"run the robot side as a ROS node with this graph's middleware, RMW_IMPLEMENTATION={middleware_name()}"
        )

    def _robot_side(self, topic: str) -> str:
        """Returns the name of the robot's node: a stand-in, or the controller of ros2_control whose topic it is."""
        return robot_name(self._node, self._topics[topic], self._robot)

    def measured(self, stamp_ns: int, position: Array, velocity: Array, came_ns: int) -> bool:
        """Takes a joint state in the profile's order; returns whether it is news: later than the last, and not old.

        When it came counts, not when the batch was taken that it came with: else a state that is rightly sent twice
        seems to have lasted for a batch more.
        """
        fresh = stamp_ns > self._poses.newest_ns
        if fresh or self._measured is None:
            self._measured = stamp_ns, position
            for watch in self._tracking.values():
                watch.measured(stamp_ns, position)
        self._poses.add(stamp_ns, position)
        self._joints.measured(position, velocity, came_ns)
        return fresh and self._late_ns(stamp_ns) <= self._silence_ns

    def _late_ns(self, stamp_ns: int) -> int:
        """Returns how old a stamp is, without what this process slept through."""
        now_ns = self._node.time.now_ns()
        return now_ns - stamp_ns - self._awake.slept_ns(stamp_ns, now_ns)

    def faulty(self, topic: str, error: Exception) -> None:
        """Takes a message that these watches failed on: a command that nobody has judged is as bad as a broken law."""
        for controller in self._profile.controllers:
            if topic == topics.commands(controller):
                text = f"command could not be judged: {type(error).__name__}: {error}"
                self._broken(controller, Breach(law="form", reason=text))

    def _commanded(self, controller: ControllerSpec, data: bytes, info: MessageInfo) -> None:
        laws, now_ns = self._laws[controller.name], self._awake.now_ns()
        try:
            command = wire.read_trajectory(data)
        except InvalidDataError as error:
            self._broken(controller, Breach(law="form", reason=f"command breaks the law of form: {error}"))
            return
        columns, last = self._columns[controller.name], laws.last
        apart = last is not None and command.stamp_ns - last.stamp_ns > self._period_ns * 3 // 2
        stamp_ns, position = self._measured or (0, None)
        delivery = Delivery(
            arrived_ns=self.arrivals.earliest_ns(info, command.stamp_ns),
            lost=self.arrivals.lost(controller.name, info, apart),
            measured=None if position is None else position[columns],
            measured_ns=stamp_ns,
        )
        breach = laws.check(command, delivery)
        if breach is not None:
            self._broken(controller, breach)
        if laws.last is None or laws.last is last:
            if delivery.lost and now_ns - self._looked_ns >= SOONEST_LOOK_NS:
                self._look()  # what equals the command before it, and has another's number, may be another's
            return
        if breach is None:
            self.ends_ns = max(self.ends_ns, now_ns + laws.last.times_ns[-1])
        self.silence.heard(controller.name, laws.last.times_ns[-1], now_ns)
        if departed := self._tracking[controller.name].commanded(laws.last, delivery.lost):
            self._breaches.add(controller.name, Reason(Cause.TRACKING, departed), now_ns)
        self._joints.commanded(columns, laws.last.position[0], now_ns)
        self._log_command(controller, laws.last)

    def _positioned(self, controller: ControllerSpec, message: Float64MultiArray) -> None:
        """Checks what a forward_command controller is sent: form, limits, and that it is near where the robot is."""
        columns = self._columns[controller.name]
        position = np.array(message.data, dtype=np.float64)
        lower, upper = (self._profile.vector(bound)[columns] for bound in ("lower", "upper"))
        slack = self._slack[columns]
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
        now_ns = self._awake.now_ns()
        if self._measured is not None:
            age_s = self._late_ns(self._measured[0]) * 1e-9
            if far := self._positions[controller.name].commanded(position, self._measured[1], age_s):
                self._breaches.add(controller.name, Reason(Cause.TRACKING, far), now_ns)
        self._joints.commanded(columns, position, now_ns)
        self.silence.heard(controller.name, self._longest_ns, now_ns)

    def _broken(self, controller: ControllerSpec, breach: Breach) -> None:
        cause = Cause.LATE if breach.law == "late" else Cause.LAW
        self.breaches += cause is Cause.LAW
        self._breaches.add(controller.name, Reason(cause, breach.reason), self._awake.now_ns())
        self._log.put("breach", controller=controller.name, law=breach.law, reason=breach.reason)

    def _log_command(self, controller: ControllerSpec, command: SentTrajectory) -> None:
        """Logs the points that are committed now and were not before, and where the stop ends."""
        if len(command.times_ns) == 1:
            if command.stamp_ns + command.times_ns[0] != self._logged_ns.get(controller.name):
                self._logged_ns[controller.name] = command.stamp_ns + command.times_ns[0]
                goal = command.position[0].tolist()
                self._log.put("settle", controller=controller.name, stamp=command.stamp_ns, goal=goal)
            return
        if not command.velocity.any():
            return
        known_ns = self._logged_ns.get(controller.name, 0)
        points = [
            (command.stamp_ns + time_ns, command.position[k].tolist(), command.velocity[k].tolist())
            for k, time_ns in enumerate(command.times_ns)
            if time_ns <= LEAD_TICKS * self._period_ns and command.stamp_ns + time_ns > known_ns
        ]
        if not points:
            return
        self._logged_ns[controller.name] = points[-1][0]
        rest = {"rest_ms": command.times_ns[-1] // 1_000_000, "rest": command.position[-1].tolist()}
        self._log.put("command", controller=controller.name, stamp=command.stamp_ns, points=points, **rest)

    def _pictured(self, message: Header) -> None:
        name, frame = wire.read_frame(message)
        if self._needed.get(name):
            self._cameras[name].take(frame, self._awake.now_ns())

    def _proposed(self, source: Source, data: bytes) -> None:
        now_ns = self._awake.now_ns()
        try:
            stamp_ns = wire.read_stamp_ns(data)
        except InvalidDataError:
            return  # control_node rejects it
        if self._poses.newest_ns:
            self._latency.chunk(source, self._poses.newest_ns - stamp_ns, now_ns)

    def _filtered(self, data: bytes) -> None:
        given = wire.read_filter_inputs(data, self._profile.joint_names)
        reset = None if given.reset is None else given.reset.tolist()
        steps = [
            (
                given.stamp_ns + (LEAD_TICKS + 1 - len(given.steps) + k) * self._period_ns,
                None if step.target is None else step.target.tolist(),
                None if step.velocity is None else step.velocity.tolist(),
                step.speed,
                None if step.away is None else step.away.tolist(),
            )
            for k, step in enumerate(given.steps)
        ]
        self._log.put("input", stamp=given.stamp_ns, reset=reset, steps=steps)

    def _diagnosed(self, data: bytes) -> None:
        if first_name(data) != ControlState.node:
            return
        try:
            status = wire.DIAGNOSTICS.decode_bytes(data)
        except InvalidDataError:
            return  # a driver's, or one that the panel shows
        if not isinstance(status, ControlStatus):
            return
        chunk = status.meters.get("chunk")
        if chunk is not None and chunk.latency is not None:
            age_ns = int(min(max(chunk.latency.p50_ms * 1e6, 0.0), LONGEST_NS))
            self._latency.report("observation to command", age_ns, self._awake.now_ns())

    def _look(self) -> None:
        """Asks the middleware who publishes and who takes frames."""
        self._looked_ns = now_ns = self._awake.now_ns()
        self._stop_inputs.look()
        if stray := self._node.time.take_stray():
            self._breaches.add(topics.CLOCK, Reason(Cause.CLOCK, stray), now_ns)
        for topic, name in self._topics.items():
            self.sources.publishers(topic, publishers(self._node, name), now_ns)
        for camera, name in self._camera_topics.items():
            users = self._node.get_subscriptions_info_by_topic(name)
            used = any(name_of(user, self._node) == CAMERA_USER for user in users)
            self._needed[camera] = used and self._leader is Source.POLICY
