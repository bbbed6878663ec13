"""Executor, residual and safety filter in one process, 100 times a second: nothing lies between check and command.

Subscribes `joint_states`, `policy/action_chunk`, `teleop/action_chunk`, `control/source` (policy, teleop or hold: whose
chunks are followed), `safety/permission` and the profile's human topic; publishes `CONTROLLER/joint_trajectory`
(or `CONTROLLER/commands`), its mode, margin and binding constraint on `safety/state`, and what the filter is given on
`safety/filter_input`. Serves `control/home`. Nobody else commands the robot. It moves only while the safety monitor's
permission is armed and fresh.

A `residual` corrects what the policy asks for, from the features on `policy/features`; `control/residual` says how at
each tick, `control/outcome` takes what came of an episode, and `residual_authority` may be set while it runs.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseArray
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from tendon.control.clearance.model import Clearance
from tendon.control.clearance.people import HumanZone
from tendon.control.controller import Controller
from tendon.control.deadman import RELEASED
from tendon.control.executor import Placement
from tendon.control.state_losses import StateLosses
from tendon.control.tick import Tick
from tendon.core.causes import Cause, Reason
from tendon.core.clock import AwakeClock
from tendon.core.errors import InvalidDataError, StoppedError, TendonError
from tendon.core.filter_input import LEAD_TICKS
from tendon.core.modes import Mode, Source
from tendon.core.node_status import ControlStatus, Level, NodeStatus
from tendon.core.permission import PermissionFollower
from tendon.core.phrases import beginning
from tendon.core.types import Observation
from tendon.graph import topics
from tendon.graph.parameters import RESIDUAL_AUTHORITY
from tendon.robots.digest import profile_digest
from tendon.robots.environment import load_environment
from tendon.robots.safety_settings import nanoseconds
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.base.announcements import Announcements
from tendon.ros2_nodes.base.message_info import MessageInfo
from tendon.ros2_nodes.base.runtime import Urgency, run_node
from tendon.ros2_nodes.base.shell import NodeShell
from tendon.ros2_nodes.control.correction import Correction, nothing_to_limit
from tendon.ros2_nodes.control.given_inputs import GivenInputs
from tendon.ros2_nodes.control.going_home import GoingHome
from tendon.ros2_nodes.control.link import Link
from tendon.ros2_nodes.control.newest_state import NewestState
from tendon.ros2_nodes.control.robot_side import RobotSide
from tendon.safety.reports import ControlState

REPORT_EVERY = 10
ERROR_DIGITS = 6
FINISH_S = 2.0
FINISH_WALL_S = 4.0
"""For a clock that has ended with the simulator; `ros2 launch` loses patience after 5 s."""
STATE_WAIT_S = 0.5
NOTICED_TICKS = 3
"""A loop that is later than this many ticks was held up, and so was all that it listens to."""
STATES_NS, DRAIN_SHARE = 10_000_000, 0.8
"""A loop that was held up waits for the next joint state, which comes every 10 ms at least; but no longer than this
part of the time by which a command may be late."""
LOOK_S, LONGEST_LOOK_S = 3e-4, 4e-3
"""Between two looks for a joint state on its way: each is twice as long as the one before, up to the second."""
RESET_NS = 200_000_000
"""The monitor permits a reset once it has heard that the cause is gone; this node may hear that by so much later."""
SHOWN = 40
"""Characters of a word that nobody knows."""
KINDS = {"joint_trajectory": JointTrajectory, "forward_command": Float64MultiArray}
"""Message by controller type."""


class ControlNode(NodeShell):
    """Runs the controller on an absolute-deadline loop in a thread of its own."""

    def __init__(self) -> None:
        super().__init__("control_node", batched=True)
        self._period_ns = round(wire.SECOND_NS / self.profile.control_hz)
        place = self.setting("environment", "")
        clearance = Clearance(self.profile, load_environment(place) if place else None)
        self._zone: HumanZone | None = None
        if self.profile.human is not None:
            lead_ns, frame = LEAD_TICKS * self._period_ns, self.profile.base_frame
            late_s = max(0.0, self.profile.latencies.cameras.get(self.profile.human.camera, 0.0))
            safety = self.profile.safety
            self._zone = HumanZone(clearance, self.profile.human, frame, lead_ns, safety, nanoseconds(late_s))
        guards = () if self._zone is None else (self._zone,)
        residual, authority = self.setting("residual", ""), self.setting(RESIDUAL_AUTHORITY, 1.0)
        self._correction = Correction(self, Path(residual), authority) if residual else None
        if self._correction is None:
            self.add_on_set_parameters_callback(nothing_to_limit)
        correct = None if self._correction is None else self._correction.residual
        self._controller = Controller(
            self.profile,
            correct,
            clearance=clearance,
            guards=guards,
            arrived=lambda: self._link.arrived(),
            interrupted=lambda: self._link.interrupted,
        )
        if self.profile.collision_file is None:
            self.get_logger().warning(f"profile {self.profile.name} has no collision model: links are not kept apart")
        settings = self.profile.safety
        longest_ns, fresh_ns = map(nanoseconds, (settings.standstill_s, settings.permission_age_s))
        self._late_ns = round(settings.command_late_periods * self._period_ns)
        self._awake = AwakeClock(self.time, self._period_ns, NOTICED_TICKS * self._period_ns, longest_ns)
        self._permissions = PermissionFollower(self._awake.now_ns, fresh_ns, time.time_ns)
        self._event = 0
        self._loaded = profile_digest(self.profile, whole=True)
        self._refusal = ""
        self._joint_states = NewestState(self, self._refuse)
        self._chunks: deque[tuple[Source, bytes]] = deque(maxlen=4)
        self._wishes: deque[Callable[[int], None]] = deque(maxlen=8)
        self._placed: list[int] = []
        self._reset_until_ns = 0
        self._rejections: deque[str] = deque(maxlen=4)
        self._tick: Tick | None = None
        self._reported: tuple[Mode, int, Source, bool, int, bool] | None = None
        self._overruns = self._ticks = 0
        self._loop_meter, self._chunk_meter = map(self.meter, ("tick", "chunk"))
        self._ready_meter, self._metered = self.meter("ready"), self._controller.guidance.source
        self._commands = {}
        # A forward_command controller needs more commands to rest; simulated time waits until they have come.
        keeps = all(controller.type == "joint_trajectory" for controller in self.profile.controllers)
        lifespan_ns = qos.lifespan_ns(self._period_ns) if keeps and not self.time.simulated else 0
        for controller in self.profile.controllers:
            topic = topics.commands(controller)
            kind, of = KINDS[controller.type], qos.commands(lifespan_ns) if lifespan_ns else qos.NEWEST
            self._commands[controller.name] = self.create_publisher(kind, topic, of)
        losses = StateLosses(nanoseconds(settings.joint_state_age_s), self._period_ns, qos.STATES.depth)
        publishers = [*self._commands.values()]
        self._robot_side = RobotSide(self, publishers)
        self._link = Link(publishers, lifespan_ns, losses, lambda: self._robot_side.acknowledges)
        self._states = self.create_publisher(DiagnosticArray, wire.STATE.name, qos.EACH)
        self.create_subscription(JointState, topics.JOINT_STATES, self._measured, qos.STATES, raw=True, informed=True)
        for source in (Source.POLICY, Source.TELEOP):
            take, topic = partial(self._proposed, source), topics.action_chunk(source)
            self.create_subscription(JointTrajectory, topic, take, qos.NEWEST, raw=True)
        if self._correction is not None:
            self._correction.listen()
        Announcements(self, topics.CONTROL_SOURCE, self._selected)
        self._going_home = GoingHome(self, self._controller, self._wishes.append, self._profile_setting, place)
        inputs = self.create_publisher(JointTrajectory, topics.FILTER_INPUT, qos.EACH)
        self._given = GivenInputs(self.profile.joint_names, inputs.publish)
        if self.profile.human is not None:
            self.create_subscription(PoseArray, self.profile.human.topic, self._seen, qos.STREAM)
        self.create_subscription(DiagnosticArray, wire.PERMISSION.name, self._permitted, qos.NEWEST, raw=True)
        self._closing = threading.Event()
        self._leaving: Reason | None = None
        self._thread = threading.Thread(target=self._run, name="control")

    def start(self) -> None:
        """Starts the loop."""
        self._thread.start()
        self._going_home.start()

    def health(self) -> tuple[Level, str]:
        """Returns the mode as a level, with what was refused."""
        if not self._thread.is_alive():
            return Level.ERROR, "the control loop has ended"
        if self._tick is None or self._joint_states.observation is None:
            return Level.WARN, self._refusal or "waiting for joint_states"
        text = "; ".join(filter(None, (self._tick.mode.value, *self._tick.reasons, self._refusal)))
        return (Level.ERROR if self._tick.mode.stopped else Level.OK), text

    def through(self, now_ns: int) -> bool:
        """Returns false: the control loop says itself when its tick is over."""
        del now_ns
        return False

    def describe(self, status: NodeStatus) -> NodeStatus:
        """Returns a status with how many control periods were missed, and how well the robot follows."""
        errors = self._controller.tracking_error.round(ERROR_DIGITS).tolist()
        tracking = dict(zip(self.profile.joint_names, errors, strict=True))
        residual = "" if self._correction is None else self._correction.state
        return ControlStatus(
            **vars(status),
            overruns=self._overruns,
            tracking=tracking,
            residual=residual,
            simulated_time=self.time.simulated,
        )

    def check(self) -> None:
        """Logs, besides, why chunks were rejected: not in the loop, where rclpy's first line takes 20 ms."""
        super().check()
        self._robot_side.look()
        while self._rejections:
            self.get_logger().warning(self._rejections.popleft(), throttle_duration_sec=1.0)

    def take_messages(self) -> None:
        """Takes what has come, and reads the newest joint state of it."""
        super().take_messages()
        self._joint_states.read()

    def _measured(self, data: bytes, info: MessageInfo) -> None:
        self._link.came(info)
        self._joint_states.add(data)

    def _proposed(self, source: Source, data: bytes) -> None:
        self._chunks.append((source, data))

    def _selected(self, name: str) -> None:
        choices = {source.value: source for source in (Source.POLICY, Source.TELEOP, Source.HOLD)}
        source = choices.get(name)
        if source is None:
            self._refuse(f"{topics.CONTROL_SOURCE} is {beginning(name, SHOWN)!r}, must be one of {', '.join(choices)}")
            self.complain(topics.CONTROL_SOURCE, self._refusal)
            return
        self._wishes.append(lambda _: self._controller.guidance.select(source))

    def _seen(self, message: PoseArray) -> None:
        people = [np.array([p.position.x, p.position.y, p.position.z]) for p in message.poses]
        if self._zone is not None:
            try:
                seen_ns = wire.time_ns(message.header.stamp)
                self._zone.see(people, seen_ns, message.header.frame_id, self.time.now_ns())
            except TendonError as error:
                self._refuse(str(error))

    def _permitted(self, data: bytes) -> None:
        try:
            self._permissions.receive(wire.PERMISSION.decode_bytes(data))
        except InvalidDataError as error:
            self._refuse(str(error))

    def _refuse(self, text: str) -> None:
        """Keeps why something was not taken: the beginning, as it is said again and again."""
        self._refusal = beginning(text)

    def _run(self) -> None:
        period_ns = self._period_ns
        self.time.wait_for_start()
        deadline_ns = self.time.now_ns() // period_ns * period_ns
        while not self._closing.is_set():
            deadline_ns = min(deadline_ns, self.time.now_ns()) + period_ns
            self.time.sleep_until_ns(deadline_ns)
            late_ns = self.time.now_ns() - deadline_ns
            if late_ns < 0:  # simulated time went back: the loop goes on from there
                continue
            if late_ns >= period_ns:  # missed ticks are counted and left out, never made up for
                missed = late_ns // period_ns
                self._overruns += missed
                deadline_ns += missed * period_ns
            self._loop_meter.add(late_ns)
            self._step(deadline_ns, late_ns)
            self.beat()
        self._given.send()

    def _step(self, now_ns: int, late_ns: int) -> None:
        observation = self._newest_observation(now_ns, late_ns)
        self._link.heard(on_time=2 * late_ns < self._period_ns)
        if self._zone is not None:
            self._zone.pass_time(now_ns)
        self._follow(now_ns)
        while self._wishes:
            self._wishes.popleft()(now_ns)
        if self._chunks:  # one a tick, as each costs time; those that wait are as good in the next
            self._submit(*self._chunks.popleft(), now_ns)
        self._tick = tick = self._controller.tick(now_ns, observation)
        ready = () if tick.command is None else wire.command_bytes(tick.command, self.profile)
        messages = [(self._commands[controller.name], data) for controller, data in ready]
        late_ns = self.time.now_ns() - now_ns  # right before they are sent: a process can be held up anywhere
        self._ready_meter.add(late_ns)
        if messages and late_ns > self._late_ns:
            self._controller.abandon(late_ns)
            messages.clear()
        elif messages:
            self._link.send(messages, tick.last)
        else:
            self._link.repeat()
        if self._correction is not None:
            self._correction.tell(now_ns, tick)
        self._given.add(now_ns, tick.inputs)
        source = self._controller.guidance.source
        if source is not self._metered:  # how slow the one before was says nothing of this one
            self._metered = source
            self._chunk_meter.forget()
        for stamp_ns in self._placed:  # from here on the command follows that observation
            self._chunk_meter.add(self.time.now_ns() - stamp_ns)
        self._placed.clear()
        self._report(now_ns)
        self._ticks += 1
        self.pass_time(now_ns, commands=len(messages))

    def _newest_observation(self, now_ns: int, late_ns: int) -> Observation | None:
        self.take_messages()
        # The simulator publishes the time before the joint states of that time: wait for them while they come.
        if self.time.simulated and now_ns - self._joint_states.stamp_ns <= 2 * self._period_ns:
            self._await_state(now_ns, STATE_WAIT_S)
        # After a late wake-up what has arrived meanwhile is taken first, then ages are judged.
        elif not self.time.simulated and late_ns >= NOTICED_TICKS * self._period_ns:
            left_ns = DRAIN_SHARE * self._late_ns - (self.time.now_ns() - now_ns)
            self._await_state(now_ns - max(self._period_ns, STATES_NS), 1e-9 * left_ns)
        return self._joint_states.observation

    def _await_state(self, stamp_ns: int, longest_s: float) -> None:
        end_s, look_s = time.monotonic() + longest_s, LOOK_S
        while self._joint_states.stamp_ns < stamp_ns and (left_s := end_s - time.monotonic()) > 0.0:
            time.sleep(min(look_s, left_s))
            self.take_messages()
            look_s = min(2 * look_s, LONGEST_LOOK_S)

    def _follow(self, now_ns: int) -> None:
        demand = self._permissions.demand()
        self._controller.guidance.set_speed_scale(demand.speed)
        stop = self._leaving or demand.stop
        if demand.lapsed and self._controller.mode is Mode.STANDBY:
            stop = self._leaving
        if stop is not None or demand.arm:
            self._reset_until_ns = 0
        elif demand.reset:
            self._reset_until_ns = now_ns + RESET_NS
        try:
            if stop is not None:
                self._controller.stop(stop)
            elif self._reset_until_ns:
                self._reset(now_ns)
            elif demand.arm:
                self._controller.arm()
                if self._correction is not None:
                    self._correction.begin()
                self._refusal = ""
        except StoppedError as error:
            self._refuse(str(error))
        if not self._reset_until_ns:  # else the monitor would take it for an answer, and latch again
            self._event = demand.event

    def _reset(self, now_ns: int) -> None:
        """Leaves a stop, or tries again in the next tick.

        Raises:
            StoppedError: it is too late for that.
        """
        try:
            self._controller.reset()
        except StoppedError:
            if now_ns < self._reset_until_ns:
                return
            self._reset_until_ns = 0
            raise
        self._reset_until_ns, self._refusal = 0, ""

    def _submit(self, source: Source, data: bytes, now_ns: int) -> None:
        try:
            hold_ns = RELEASED
            if source is Source.TELEOP:
                held = wire.held_chunk(data, self.profile.joint_names)
                chunk, hold_ns = held.chunk, held.hold_ns
            else:
                chunk = wire.chunk(data, self.profile.joint_names)
        except TendonError as error:
            self._controller.reject(str(error), source)
            self._drop_chunk(str(error))
            return
        if self._correction is not None and source is Source.POLICY:
            chunk = self._correction.attach(chunk)
        placement = self._controller.submit(chunk, now_ns, source, hold_ns)
        if placement is Placement.ACCEPTED:
            self._refusal = ""
            self._placed.append(chunk.observation_stamp_ns)
            if self._correction is not None and source is Source.POLICY:
                self._correction.follow(chunk)
        elif placement is not Placement.IDLE:
            self._drop_chunk(placement.value)

    def _drop_chunk(self, reason: str) -> None:
        self._chunk_meter.drop()
        self._refuse(f"chunk rejected: {reason}")
        self._rejections.append(self._refusal)

    def _report(self, now_ns: int) -> None:
        tick = self._tick
        if tick is None:
            return
        guidance, settled = self._controller.guidance, self._controller.settled
        looked_at_ns, plan_ns = guidance.looked_at_ns, guidance.plan_ns
        said = (tick.mode, self._event, guidance.source, settled, looked_at_ns, plan_ns > 0)
        if said == self._reported and self._ticks % REPORT_EVERY:
            return
        self._reported = said
        obstacle = self.profile.arming_obstacle
        if self._joint_states.observation is None:
            obstacle = obstacle or "no joint state yet"
        elif not self._permissions.listening:  # it would take the armed state for one that it finds, and not follow it
            obstacle = obstacle or "it has not heard the safety monitor yet"
        else:
            obstacle = obstacle or self._robot_side.unheard()
        state = ControlState(
            mode=tick.mode,
            event=self._event,
            reason="; ".join(tick.reasons) or self._refusal,
            cause=tick.cause,
            obstacle=obstacle,
            margin=round(tick.margin, 3),
            binding=tick.binding,
            source=guidance.source,
            settled=settled,
            at_home=self._controller.at_home(),
            profile=self._loaded,
            looked_at_ns=looked_at_ns,
            plan_ns=plan_ns,
        )
        self._states.publish(wire.STATE.encode(state, now_ns))

    def finish(self, spin: Callable[[], None]) -> None:
        """Stops the robot, and leaves when its reference is at rest."""
        self._leaving = Reason(Cause.REQUESTED, "the control node was told to end")
        deadline_ns, backstop_s = self.time.now_ns() + int(FINISH_S * wire.SECOND_NS), time.monotonic() + FINISH_WALL_S
        while self._tick is not None and self._tick.mode is not Mode.LATCHED and self.time.now_ns() < deadline_ns:
            if time.monotonic() > backstop_s:
                return
            spin()

    def close(self) -> None:
        """Ends the loop."""
        self._closing.set()
        self._going_home.close()
        self.time.close()
        if self._thread.is_alive():
            self._thread.join(1.0)
        super().close()


def main() -> int:
    """Runs the node."""
    return run_node(ControlNode, Urgency.FIRST)


if __name__ == "__main__":
    sys.exit(main())
