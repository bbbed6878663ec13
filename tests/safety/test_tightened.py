"""A threshold that a profile tightens makes its watch, or the controller, restrict the robot earlier."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from tendon.control.clearance.model import Clearance
from tendon.control.clearance.motion import MotionPath
from tendon.control.clearance.people import HumanZone
from tendon.control.controller import Controller
from tendon.control.executor import Placement
from tendon.control.feedback import Feedback
from tendon.control.standstill import Standstill
from tendon.core.causes import Cause, Reason
from tendon.core.clock import AwakeClock, ManualClock
from tendon.core.errors import InvalidDataError, StoppedError
from tendon.core.modes import Mode, PermissionState, Source
from tendon.core.permission import Permission, PermissionFollower
from tendon.core.types import ActionChunk, Observation
from tendon.robots.profile import Camera, Human, RobotProfile
from tendon.robots.rest import Rest
from tendon.robots.safety_settings import SafetySettings, nanoseconds
from tendon.safety.camera_watch import CameraWatch, Frame
from tendon.safety.effort_watch import EffortWatch
from tendon.safety.host_watch import HostWatch
from tendon.safety.joint_watch import JointWatch
from tendon.safety.latency_watch import LatencyWatch
from tendon.safety.laws import CommandLaws, Delivery
from tendon.safety.monitor import SafetyMonitor, position_slack
from tendon.safety.response import GradedResponse, Requests, Response
from tendon.safety.sender_watch import BreachWatch, SourceWatch
from tendon.safety.silence_watch import SilenceWatch
from tendon.safety.tracking_watch import TrackingWatch
from tests.control.limits_checker import PROFILE
from tests.control.robot_side import MS, PERIOD_NS, Robot
from tests.safety import hands_and_inputs
from tests.safety.test_laws import command

HOME, STILL, SPEED = PROFILE.vector("home"), np.zeros(8), PROFILE.vector("velocity")
STANDING = MotionPath(time_s=np.zeros(1), position=HOME[None], velocity=STILL[None], acceleration=STILL[None])
NEVER = 10_000


def monitor_ms(profile: RobotProfile, **fault: Any) -> int:
    """Returns after how many milliseconds of a fault an armed monitor takes permission away."""
    monitor, now_ns = SafetyMonitor(profile, ("control_node",)), 10**12
    for k in range(100):
        now_ns += 10 * MS
        wrong = fault if k >= 20 else {}
        if wrong.get("beats", True):
            monitor.beat("control_node", "1", now_ns)
        if wrong.get("joints", True):
            monitor.measured(wrong.get("position", HOME), wrong.get("velocity", STILL), now_ns)
        permission = monitor.permission(now_ns)
        if k > 10 and not permission.armed:
            return 10 * (k - 20)
        follows = fault.get("follows", True) or not permission.armed
        monitor.report(Mode(permission.state.value) if follows else Mode.STANDBY, permission.event, "")
        if k == 10:
            monitor.arm(now_ns)
    return NEVER


def permission_ms(profile: RobotProfile) -> int:
    """Returns how old a permission is when a controller that follows it must stop."""
    now = [0]
    follower = PermissionFollower(
        lambda: now[0] * MS, nanoseconds(profile.safety.permission_age_s), lambda: now[0] * MS
    )
    follower.receive(Permission(state=PermissionState.ARMED, event=1, reason=""))
    while follower.demand().stop is None:
        now[0] += 10
    return now[0]


def silent_ms(profile: RobotProfile) -> int:
    monitor = SafetyMonitor(profile, ("control_node",))
    monitor.beat("control_node", "1", 0)
    return next(ms for ms in range(0, NEVER, 5) if monitor.silent(ms * MS))


def camera_ms(
    profile: RobotProfile, frame_ms: int, grey: tuple[int, int], moves: float = 0.0, needs: Response = Response.HOLD
) -> int:
    """Returns when a camera of 20 Hz, that shows one picture while the robot moves, is found faulty."""
    camera, now_ns, pose = Camera(name="wrist", width=32, height=32, rate_hz=20.0, frame="w"), 10**12, np.zeros(7)
    watch = CameraWatch(camera, lambda: True, lambda: now_ns, lambda _: pose.copy(), profile.safety)
    for k in range(300):
        now_ns += 10 * MS
        pose += moves / 7 * 0.01
        if k * 10 % frame_ms == 0:
            watch.take(Frame.of(now_ns, bytes(grey) * 500), now_ns)
        if any(finding.response is needs for finding in watch.findings(now_ns)):
            return 10 * k
    return NEVER


def frozen_ms(profile: RobotProfile, speed: float, said: float) -> int:
    """Returns when joint states that stay equal are found frozen: sent on at `speed`, and saying that they move."""
    watch, now_ns, measured = JointWatch(profile), 10**12, np.full(8, said)
    columns = list(range(8))
    watch.commanded(columns, HOME, now_ns)
    watch.measured(HOME, measured, now_ns)
    for k in range(200):
        now_ns += 5 * MS
        watch.commanded(columns, HOME + speed * 0.005 * (k + 1), now_ns)
        watch.measured(HOME, measured, now_ns)
        if list(watch.findings(now_ns)):
            return 5 * (k + 1)
    return NEVER


def latency(profile: RobotProfile, age_ms: int, chunks: int) -> Response:
    watch = LatencyWatch(profile.safety)
    for k in range(chunks):
        watch.chunk(Source.POLICY, age_ms * MS, k * MS)
    return max((finding.response for finding in watch.findings(chunks * MS)), default=Response.FULL)


def counts_ms(add: Callable[[], Any], findings: Callable[[int], Any]) -> int:
    """Returns until when something that was added at 0 counts."""
    add()
    return max((ms for ms in range(0, NEVER, 100) if findings(ms * MS)), default=-1)


def breach_ms(profile: RobotProfile) -> int:
    watch = BreachWatch(profile.safety)
    return counts_ms(
        lambda: watch.add("command", Reason(Cause.LAW, "too fast"), 0), lambda ns: list(watch.findings(ns))
    )


def request_ms(profile: RobotProfile) -> int:
    watch = Requests(profile.safety)
    return counts_ms(lambda: watch.ask("policy_node", Response.HOLD, "", 0), lambda ns: list(watch.findings(ns)))


def release_ms(profile: RobotProfile) -> int:
    requests, graded = Requests(profile.safety), GradedResponse(profile.safety)
    requests.ask("policy_node", Response.HOLD, "", 0)
    graded.update(requests.findings(0), 0)
    return max(ms for ms in range(0, NEVER, 100) if graded.update([], ms * MS))


def reported_ms(profile: RobotProfile) -> int:
    watch = LatencyWatch(profile.safety)
    return counts_ms(lambda: watch.report("observation", 10**9, 0), lambda ns: list(watch.findings(ns)))


def doubled_ms(profile: RobotProfile) -> int:
    watch = SourceWatch({}, ("policy_node",), 0, profile.safety)
    beats = [lambda k=k: watch.beat("policy_node", "121"[k], 0) for k in range(3)]
    return counts_ms(lambda: [beat() for beat in beats], lambda ns: list(watch.findings(ns)))


def unnamed_ms(profile: RobotProfile) -> int:
    watch = SourceWatch({"t": "control_node"}, (), 0, profile.safety)
    for ms in range(0, 1000, 10):
        watch.publishers("t", [("", "a")], ms * MS)
        if list(watch.findings(ms * MS)):
            return ms
    return NEVER


def host(profile: RobotProfile, sleeps_ms: list[int], awake_ms: int = 20) -> Response:
    clock = ManualClock(10**12)
    awake = AwakeClock(clock, 20 * MS, 45 * MS, 2500 * MS)
    watch = HostWatch(awake, profile.safety)
    for slept_ms in sleeps_ms:
        clock.advance_ns(slept_ms * MS)
        awake.now_ns()
        for _ in range(awake_ms // 20 if slept_ms != sleeps_ms[-1] else 0):
            clock.advance_ns(20 * MS)
            awake.now_ns()
    return max((finding.response for finding in watch.findings(awake.now_ns())), default=Response.FULL)


def law(profile: RobotProfile, over: float) -> bool:
    """Whether a joint that starts with too high a speed breaks a law."""
    arm = profile.controllers[0]
    velocity = np.zeros((2, 7))
    velocity[0, 0] = SPEED[0] * (1.0 + over)
    position = np.tile(HOME[:7], (2, 1))
    position[1, 0] += 0.5 * velocity[0, 0] * 0.2
    sent = command(position, velocity, (0, 200))
    breach = CommandLaws(profile, arm, position_slack(profile)).check(sent, Delivery(measured=HOME[:7]))
    return breach is not None and breach.law == "velocity"


def stale_stamp_ms(profile: RobotProfile) -> int:
    """Returns how old a command may be when it arrives."""
    laws = CommandLaws(profile, profile.controllers[0], position_slack(profile))
    for ms in range(0, NEVER, 10):
        sent = command(HOME[None, :7], STILL[None, :7], (300,), 10**12 + ms * MS)
        at_ns = sent.stamp_ns + ms * MS
        if laws.check(sent, Delivery(arrived_ns=at_ns, measured=HOME[:7], measured_ns=sent.stamp_ns)):
            return ms
    return NEVER


def departs(profile: RobotProfile) -> float:
    """Returns how far the first joint may be measured from its command."""
    watch = TrackingWatch(profile, profile.controllers[0])
    for k in range(1000):
        if watch.commanded(command(HOME[None, :7], STILL[None, :7], (300,), k * 10 * MS), lost=False):
            return 1e-3 * k
        watch.measured(k * 10 * MS, HOME + 1e-3 * k)
    return NEVER


def silence_ms(profile: RobotProfile) -> int:
    watch = SilenceWatch(profile)
    watch.reported(Mode.RUNNING, 0)
    return next(ms for ms in range(0, NEVER, 10) if list(watch.findings(ms * MS)))


def armed(profile: RobotProfile, known: bool = True) -> Robot:
    robot = Robot()
    robot.controller = Controller(profile, held=robot.positions[-1] if known else None)
    robot.tick()
    robot.controller.arm()
    for _ in range(3):
        robot.tick()
    return robot


def stopped(robot: Robot) -> bool:
    return robot.controller.mode.stopped


def stale_stops(profile: RobotProfile) -> bool:
    robot = armed(profile)
    robot.stale_ns = 30 * MS
    robot.tick()
    return stopped(robot)


def late_ticks(profile: RobotProfile) -> int:
    robot = armed(profile)
    return next((k for k in range(20) if robot.tick(skip=1) and stopped(robot)), NEVER)


def gap_holds(profile: RobotProfile) -> bool:
    robot = armed(profile)
    for _ in range(40):  # until it has settled
        robot.tick()
    return robot.tick(skip=5).command is None


def chunk_ahead_ms(profile: RobotProfile) -> int:
    """Returns how far ahead of now a chunk may begin."""
    robot, rows = armed(profile), np.tile(HOME, (4, 1))
    for _ in range(40):  # until it has settled
        robot.tick()
    for ahead_ms in range(0, NEVER, 100):
        times = {"start_ns": robot.now_ns + ahead_ms * MS, "observation_stamp_ns": robot.now_ns}
        chunk = ActionChunk(actions=rows, step_ns=100 * MS, **times)
        if robot.controller.submit(chunk, robot.now_ns) is Placement.AHEAD:
            return ahead_ms
        robot.tick()
    return NEVER


def chunk_lasts_s(profile: RobotProfile) -> int:
    """Returns how long a chunk may last."""
    robot, rows = armed(profile), np.tile(HOME, (4, 1))
    for _ in range(40):  # until it has settled
        robot.tick()
    for seconds in range(1, NEVER):
        times = {"start_ns": robot.now_ns, "observation_stamp_ns": robot.now_ns}
        try:
            robot.controller.submit(ActionChunk(actions=rows, step_ns=seconds * 333 * MS, **times), robot.now_ns)
        except InvalidDataError:
            return seconds
        robot.tick()
    return NEVER


def people_ms(profile: RobotProfile) -> int:
    """Returns how old the position of people is when it counts as none."""
    zone = HumanZone(Clearance(profile), Human(topic="people"), "base", 0, profile.safety)
    zone.see((), 0, "base", 0)
    for now_ms in range(0, NEVER, 50):
        zone.pass_time(now_ms * MS)
        if zone(STANDING):
            return now_ms
    return NEVER


def invalid_chunks(profile: RobotProfile) -> int:
    robot = armed(profile)
    chunk = ActionChunk(actions=np.zeros((4, 3)), start_ns=0, step_ns=10 * MS, observation_stamp_ns=0)
    for k in range(10):
        with pytest.raises(InvalidDataError):
            robot.controller.submit(chunk, robot.now_ns)
        if stopped(robot):
            return k + 1
    return NEVER


def arm_is_refused(profile: RobotProfile) -> bool:
    """Whether a controller that was sent invalid chunks two seconds ago does not arm."""
    robot = Robot()
    robot.controller = Controller(profile)
    robot.tick()
    for _ in range(profile.safety.invalid_chunks):
        robot.controller.reject("no numbers")
    for _ in range(200):
        robot.tick()
    try:
        robot.controller.arm()
    except StoppedError:
        return True
    return False


def starts_off(profile: RobotProfile) -> float:
    """Returns how far a robot that sags from where it was held is led from there before it starts [rad]."""
    robot = armed(profile)
    robot.controller.stop(Reason(Cause.REQUESTED, "asked"))
    while robot.tick().mode is not Mode.LATCHED:
        pass
    robot.controller.reset()
    robot.offset[0] = 0.05 * (PROFILE.joints[0].tracking_tolerance or 0.0)
    robot.tick()
    robot.controller.arm()
    for _ in range(80):
        robot.tick()
    return float(abs(robot.positions[-1][0] - HOME[0]))


def settles_ns(profile: RobotProfile) -> int:
    robot = armed(profile, known=False)
    command = next(filter(None, (robot.tick().command for _ in range(20))))
    return command.trajectory.time_from_start_ns[0]


def standstill(profile: RobotProfile, slept_ms: int = 300, apart_ms: int = 0) -> Reason | None:
    hold = Standstill(profile.safety, PERIOD_NS)
    cause = hold.begin(slept_ms * MS, 10**12, 10**12)
    return hold.begin(slept_ms * MS, 10**12 + apart_ms * MS, 0) if apart_ms and not cause else cause


def settled_ns(profile: RobotProfile) -> int:
    hold = Standstill(profile.safety, PERIOD_NS)
    hold.begin(MS, 10**12, 10**12)
    return hold.until_ns or 0


def slowed(profile: RobotProfile) -> float:
    return Response.SLOW.speed(profile.safety)


def borne_ms(profile: RobotProfile, stops: bool = False, **most: float) -> int:
    """Returns after how many milliseconds of 40 N m the monitor, or the controller, restricts the robot."""
    profile = replace(profile, joints=tuple(replace(joint, **most) for joint in profile.joints))
    watch, feedback = EffortWatch(profile), Feedback(profile, Standstill(profile.safety, PERIOD_NS))
    for k in range(1000):
        effort = np.full(8, 40.0)
        watch.measured(effort, k * MS)
        seen = Observation(stamp_ns=k * MS, joint_position=HOME, joint_velocity=STILL, joint_effort=effort)
        feedback.take(seen, k * MS)
        if feedback.pressed() if stops else list(watch.findings(k * MS)):
            return k
    return NEVER


def soft(profile: RobotProfile) -> RobotProfile:
    """Returns a robot that may be further off its commands."""
    return replace(profile, joints=tuple(replace(joint, tracking_tolerance=0.15) for joint in profile.joints))


TOP = PROFILE.vector("upper")
FINGER = np.arange(8) == 7
IN_PROCESSES = {"command_late_periods", "clock_still_s", "clock_waits_s", "state_ahead_s"}
"""Only a running node reads these."""
EARLIER = [
    ("permission_age_s", 0.05, permission_ms),
    ("heartbeat_silent_s", 0.05, silent_ms),
    ("heartbeat_age_s", 0.05, lambda p: monitor_ms(p, beats=False)),
    ("joint_state_silence_s", 0.05, lambda p: monitor_ms(p, joints=False)),
    ("follow_s", 0.2, lambda p: monitor_ms(p, follows=False)),
    ("velocity_factor", 1.05, lambda p: monitor_ms(p, velocity=1.1 * SPEED)),
    ("velocity_lasts_s", 0.02, lambda p: monitor_ms(p, velocity=1.5 * SPEED)),
    ("position_slack_share", 0.002, lambda p: monitor_ms(p, position=np.where(FINGER, HOME, TOP + 0.015))),
    ("position_slack_min", 0.001, lambda p: monitor_ms(p, position=np.where(FINGER, TOP + 0.003, HOME))),
    ("rest_share", 0.01, lambda p: not Rest(p).moving(0.03 * SPEED).all()),
    ("frozen_s", 0.04, lambda p: frozen_ms(p, speed=1.0, said=0.0)),
    ("frozen_share", 0.02, lambda p: frozen_ms(p, speed=0.05, said=0.0)),
    ("implied_share", 0.005, lambda p: frozen_ms(soft(p), speed=0.0, said=0.12)),
    ("contact_lasts_s", 0.005, lambda p: borne_ms(p, contact_effort=30.0, stops=True)),
    ("contact_ignored_s", 0.12, lambda p: borne_ms(p, contact_effort=30.0)),
    ("payload_lasts_s", 0.1, lambda p: borne_ms(p, payload_effort=30.0)),
    ("law_tolerance", 1e-4, lambda p: not law(p, over=5e-4)),
    ("command_age_s", 0.05, stale_stamp_ms),
    ("tracking_factor", 1.0, departs),
    ("command_silence_s", 0.2, silence_ms),
    ("unnamed_sender_s", 0.2, unnamed_ms),
    ("doubled_node_s", 5.0, lambda p: -doubled_ms(p)),
    ("breach_s", 5.0, lambda p: -breach_ms(p)),
    ("request_s", 5.0, lambda p: -request_ms(p)),
    ("release_s", 5.0, lambda p: -release_ms(p)),
    ("camera_missed_periods", 2, lambda p: camera_ms(p, 1000, (0, 200))),
    ("camera_equal_frames", 2, lambda p: camera_ms(p, 50, (0, 200), moves=1.0)),
    ("camera_motion", 0.005, lambda p: camera_ms(p, 50, (0, 200), moves=0.05)),
    ("camera_black", 32, lambda p: camera_ms(p, 50, (0, 20))),
    ("camera_flat", 32, lambda p: camera_ms(p, 50, (100, 120))),
    ("people_age_s", 0.1, people_ms),
    ("camera_latch_s", 0.2, lambda p: camera_ms(p, 50, (0, 0), needs=Response.STOP)),
    ("input_unheard_s", 0.3, hands_and_inputs.unheard_ms),
    ("hold_silence_s", 0.05, hands_and_inputs.hold_ms),
    ("ease_wait_s", 0.1, hands_and_inputs.eased_ms),
    ("shortest_tick_s", 0.001, hands_and_inputs.hiccup_ms),
    ("latency_slow_s", 0.1, lambda p: -latency(p, 200, 3)),
    ("latency_hold_s", 0.4, lambda p: -latency(p, 500, 3)),
    ("latency_median_of", 1, lambda p: -latency(p, 900, 1)),
    ("latency_fresh_s", 5.0, lambda p: -reported_ms(p)),
    ("slow_share", 0.1, slowed),
    ("joint_state_age_s", 0.02, lambda p: not stale_stops(p)),
    ("late_ticks", 1, late_ticks),
    ("permission_age_s", 0.08, lambda p: not gap_holds(p)),
    ("chunk_ahead_s", 0.2, chunk_ahead_ms),
    ("chunk_lasts_s", 1.0, chunk_lasts_s),
    ("invalid_chunks", 1, invalid_chunks),
    ("invalid_s", 10.0, lambda p: not arm_is_refused(p)),
    ("held_share", 0.01, lambda p: -starts_off(p)),
    ("arm_settle_s", 1.0, lambda p: -settles_ns(p)),
    ("standstill_s", 0.2, lambda p: not standstill(p)),
    ("standstill_apart_s", 600.0, lambda p: not standstill(p, apart_ms=60_000)),
    ("standstill_waking_s", 0.02, lambda p: not standstill(p, slept_ms=50, apart_ms=200)),
    ("standstill_settle_s", 0.05, settled_ns),
    ("standstill_noticed_s", 0.05, lambda p: -host(p, [70])),
    ("standstill_count", 1, lambda p: -host(p, [200])),
]


@pytest.mark.parametrize(("name", "value", "measure"), EARLIER, ids=[name for name, _, _ in EARLIER])
def test_a_tightened_threshold_restricts_earlier(
    name: str, value: float, measure: Callable[[RobotProfile], float]
) -> None:
    tight = replace(PROFILE, safety=SafetySettings(**{name: value}))  # type: ignore[arg-type]
    assert measure(tight) < measure(PROFILE)


def test_every_threshold_was_tightened() -> None:
    assert {name for name, _, _ in EARLIER} | IN_PROCESSES == {field.name for field in fields(SafetySettings)}
