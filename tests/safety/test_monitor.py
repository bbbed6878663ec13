"""The safety monitor's latch, and how the control node follows its permission."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tendon.core.causes import Cause, Reason
from tendon.core.errors import InvalidDataError, StoppedError
from tendon.core.modes import Mode, PermissionState
from tendon.core.permission import Permission, PermissionFollower
from tendon.robots.profile import load_profile
from tendon.robots.safety_settings import nanoseconds
from tendon.ros2_nodes import wire
from tendon.safety.monitor import SafetyMonitor
from tendon.safety.response import Finding, Response

MS = 1_000_000
PROFILE = load_profile("panda")
FRESH_NS = nanoseconds(PROFILE.safety.permission_age_s)
HOME, STILL = PROFILE.vector("home"), np.zeros(8)


class Bench:
    """A monitor with its clock and a controller that follows it."""

    def __init__(self, watches: Sequence[Any] = ()) -> None:
        self.now_ns = 10**12
        self.monitor = SafetyMonitor(PROFILE, ("control_node",), watches=watches)
        self.event = 0

    def pass_ms(self, milliseconds: int, **what: Any) -> PermissionState:
        for _ in range(milliseconds // 10):
            self.now_ns += 10 * MS
            if what.get("beats", True):
                self.monitor.beat("control_node", str(what.get("instance", "1")), self.now_ns)
            if what.get("joints", True):
                position, velocity = what.get("position", HOME), what.get("velocity", STILL)
                self.monitor.measured(np.asarray(position), np.asarray(velocity), self.now_ns)
            state = self.monitor.permission(self.now_ns)
            mode = what.get("mode", Mode(state.state.value))
            self.monitor.report(mode, int(str(what.get("event", state.event))), "")
        return self.monitor.permission(self.now_ns).state

    def armed(self) -> Bench:
        self.pass_ms(50)
        self.monitor.arm(self.now_ns)
        assert self.pass_ms(50) is PermissionState.ARMED
        return self


def test_it_does_not_arm_before_it_has_heard_of_everything() -> None:
    bench = Bench()
    with pytest.raises(StoppedError, match="no heartbeat of control_node yet; no joint state yet"):
        bench.monitor.arm(bench.now_ns)


def test_a_permission_names_the_policy_that_is_meant_and_no_other_is_while_it_is_armed() -> None:
    bench = Bench()
    bench.monitor = SafetyMonitor(PROFILE, ("control_node",), ("policy_node",))
    bench.monitor.beat("policy_node", "first", bench.now_ns)
    bench.armed()
    permission = bench.monitor.permission(bench.now_ns)
    assert permission.policy == "first"
    assert wire.PERMISSION.decode(wire.PERMISSION.encode(permission, 0)) == permission
    bench.monitor.beat("policy_node", "second", bench.now_ns)
    permission = bench.monitor.permission(bench.now_ns)
    assert permission.policy == "second" and not permission.armed


@pytest.mark.parametrize(
    ("fault", "cause", "reason"),
    [
        ({"beats": False}, Cause.HEARTBEAT, "heartbeat of control_node"),
        ({"joints": False}, Cause.STALE_JOINTS, "no joint state for 100 ms"),
        ({"position": HOME + 10.0}, Cause.LIMITS, "beyond its limits"),
        ({"position": HOME * np.nan}, Cause.LIMITS, "beyond its limits"),
        ({"velocity": STILL + 5.0}, Cause.TRACKING, "above its limit"),
        ({"velocity": STILL * np.nan}, Cause.TRACKING, "above its limit"),
        ({"mode": Mode.LATCHED}, Cause.CONTROLLER, "controller stopped"),
        ({"mode": Mode.STANDBY}, Cause.CONTROLLER, "did not arm"),
        ({"event": 1}, Cause.CONTROLLER, "did not arm"),
        ({"mode": None}, Cause.CONTROLLER, "did not arm, it is silent"),
        ({"instance": "2"}, Cause.SENDER, "two of control_node run at once"),
    ],
)
def test_any_fault_while_armed_latches_with_its_cause_and_reason(
    fault: dict[str, object], cause: Cause, reason: str
) -> None:
    bench = Bench().armed()
    assert bench.pass_ms(700, **fault) is PermissionState.LATCHED
    permission = bench.monitor.permission(bench.now_ns)
    assert permission.cause is cause and reason in permission.reason


def test_a_watched_node_may_fall_silent_but_its_restart_latches() -> None:
    bench = Bench().armed()
    bench.monitor = SafetyMonitor(PROFILE, ("control_node",), ("policy_node",))
    bench.armed()
    bench.monitor.beat("policy_node", "1", bench.now_ns)
    assert bench.pass_ms(300) is PermissionState.ARMED
    assert bench.monitor.silent(bench.now_ns) == ("policy_node",)
    bench.monitor.beat("policy_node", "2", bench.now_ns)
    assert bench.pass_ms(10) is PermissionState.LATCHED


def test_a_restart_within_a_time_that_the_monitor_left_out_is_not_two_at_once() -> None:
    """Simulated time jumps when its owner is started again: that looks like a standstill of the machine."""
    bench = Bench()
    bench.monitor = SafetyMonitor(PROFILE, ("control_node",), ("mock_node",))
    bench.monitor.beat("mock_node", "1", bench.now_ns)
    bench.armed()
    bench.monitor.beat("mock_node", "1", bench.now_ns)
    bench.monitor.beat("mock_node", "2", bench.now_ns + 20 * MS, clock_ns=bench.now_ns + 1600 * MS)
    assert bench.monitor.permission(bench.now_ns).latch == Reason(Cause.RESTARTED, "mock_node was restarted")


def test_a_single_fast_sample_is_no_fault() -> None:
    bench = Bench().armed()
    bench.pass_ms(10, velocity=STILL + 5.0)
    assert bench.pass_ms(100) is PermissionState.ARMED


def test_a_gripper_may_be_moved_by_what_it_touches_and_no_other_joint() -> None:
    bench = Bench().armed()
    finger = np.arange(len(STILL)) == PROFILE.joint_names.index("panda_finger_joint1")
    assert bench.pass_ms(500, velocity=np.where(finger, 1.0, 0.0)) is PermissionState.ARMED
    assert bench.pass_ms(500, velocity=np.where(finger, 0.0, 5.0)) is PermissionState.LATCHED


def test_reset_is_refused_while_the_cause_is_there_and_never_arms() -> None:
    bench = Bench().armed()
    bench.pass_ms(300, joints=False)
    with pytest.raises(StoppedError, match="joint state"):
        bench.monitor.reset(bench.now_ns)
    bench.pass_ms(50)
    bench.monitor.reset(bench.now_ns)
    assert bench.pass_ms(100) is PermissionState.STANDBY


def test_reset_is_refused_while_the_robot_moves() -> None:
    bench = Bench().armed()
    bench.monitor.stop(Reason(Cause.REQUESTED, "asked"))
    bench.pass_ms(20, velocity=STILL + 0.09)
    with pytest.raises(StoppedError, match="not at rest"):
        bench.monitor.reset(bench.now_ns)


def test_a_driver_that_says_no_speed_makes_no_moving_robot_stand() -> None:
    bench = Bench()
    bench.pass_ms(50)
    for k in range(50):
        bench.pass_ms(10, position=HOME + 0.02 * k)
    assert not bench.monitor.at_rest
    with pytest.raises(StoppedError, match="not at rest"):
        bench.monitor.arm(bench.now_ns)
    bench.pass_ms(300, position=HOME + 1.0)
    assert bench.monitor.at_rest


def test_what_is_found_after_a_stop_that_was_asked_for_has_to_be_looked_at() -> None:
    bench = Bench().armed()
    bench.monitor.stop(Reason(Cause.REQUESTED, "stop was requested"))
    assert bench.monitor.permission(bench.now_ns).cause is Cause.REQUESTED
    bench.pass_ms(20, position=HOME + 10.0)
    assert bench.monitor.permission(bench.now_ns).cause is Cause.LIMITS
    bench.pass_ms(20)
    assert bench.monitor.permission(bench.now_ns).cause is Cause.LIMITS, "it stays"


def test_arming_needs_a_reset_after_a_stop() -> None:
    bench = Bench().armed()
    bench.monitor.stop(Reason(Cause.REQUESTED, "asked"))
    bench.pass_ms(50)
    with pytest.raises(StoppedError, match="reset first"):
        bench.monitor.arm(bench.now_ns)


class Latch(RuleBasedStateMachine):
    """Whatever happens in whatever order: only `arm` leads to armed, and a stop only `reset` leads out of."""

    def __init__(self) -> None:
        super().__init__()
        self.bench = Bench()
        self.may_be_armed = self.latched = False

    @rule(milliseconds=st.integers(0, 300), beats=st.booleans(), joints=st.booleans(), instance=st.sampled_from("12"))
    def time_passes(self, milliseconds: int, beats: bool, joints: bool, instance: str) -> None:
        self.bench.pass_ms(milliseconds, beats=beats, joints=joints, instance=instance)

    @rule()
    def stop(self) -> None:
        self.bench.monitor.stop(Reason(Cause.REQUESTED, "asked"))
        self.latched = True

    @rule()
    def reset(self) -> None:
        try:
            self.bench.monitor.reset(self.bench.now_ns)
        except StoppedError:
            return
        self.latched = self.may_be_armed = False

    @rule()
    def arm(self) -> None:
        try:
            self.bench.monitor.arm(self.bench.now_ns)
        except StoppedError:
            return
        assert not self.latched
        self.may_be_armed = True

    @invariant()
    def holds(self) -> None:
        state = self.bench.monitor.permission(self.bench.now_ns).state
        assert state is not PermissionState.ARMED or (self.may_be_armed and not self.latched)
        assert not self.latched or state is PermissionState.LATCHED
        self.latched = state is PermissionState.LATCHED


TestLatch = Latch.TestCase


class Following:
    """A follower fed by a monitor."""

    def __init__(self) -> None:
        self.bench = Bench()
        self.follower = PermissionFollower(lambda: self.bench.now_ns, FRESH_NS, lambda: self.bench.now_ns)

    def demand(self) -> object:
        self.follower.receive(self.bench.monitor.permission(self.bench.now_ns))
        return self.follower.demand()


def test_a_follower_arms_once_on_an_event_and_not_on_a_state_it_finds() -> None:
    follow = Following()
    follow.demand()
    follow.bench.armed()
    assert follow.demand().arm
    assert not follow.demand().arm
    restarted = PermissionFollower(lambda: follow.bench.now_ns, FRESH_NS, lambda: follow.bench.now_ns)
    restarted.receive(follow.bench.monitor.permission(follow.bench.now_ns))
    assert not restarted.demand().arm


@pytest.mark.parametrize("event", [0, None])
def test_after_arming_a_permission_that_does_not_arm_is_a_stop(event: int | None) -> None:
    follow = Following()
    follow.demand()
    follow.bench.armed()
    demand = follow.demand()
    assert demand.arm
    other = Permission(state=PermissionState.STANDBY, event=demand.event if event is None else event, reason="")
    follow.follower.receive(other)
    stop = follow.follower.demand().stop
    assert stop is not None and "permits no motion" in stop.text
    assert follow.follower.demand().stop is None, "a robot that was stopped may stand by"


def test_a_monitor_that_starts_after_the_clock_was_set_back_says_so() -> None:
    """None of its permissions would be followed; it said 'reset first', and that it had reset."""
    bench = Bench().armed()
    event = bench.monitor.permission(bench.now_ns).event
    bench = Bench()
    bench.now_ns -= 3_600_000 * MS
    bench.pass_ms(50, event=event, mode=Mode.LATCHED)
    for ask in (bench.monitor.arm, bench.monitor.check_arming):
        with pytest.raises(StoppedError, match="clock was set back"):
            ask(bench.now_ns)
    bench.monitor.stop(Reason(Cause.REQUESTED, "stop was requested"))
    with pytest.raises(StoppedError, match="clock was set back"):
        bench.monitor.reset(bench.now_ns)


def test_a_permission_by_an_event_that_is_over_does_not_keep_a_robot_moving() -> None:
    follow = Following()
    follow.demand()
    follow.bench.armed()
    event = follow.demand().event
    with pytest.raises(InvalidDataError, match="before the one that is followed"):
        follow.follower.receive(Permission(state=PermissionState.ARMED, event=event - 1, reason=""))


def test_a_silent_monitor_is_a_stop_and_a_new_monitor_resets_nothing() -> None:
    follow = Following()
    follow.demand()
    follow.bench.armed()
    follow.demand()
    follow.bench.now_ns += FRESH_NS + 1
    stop = follow.follower.demand().stop
    assert stop is not None and stop.cause is Cause.HEARTBEAT and "silent" in stop.text
    now_ns = follow.bench.now_ns
    follow.bench = Bench()
    follow.bench.now_ns = now_ns
    follow.bench.pass_ms(50)
    demand = follow.demand()
    assert not (demand.stop or demand.reset or demand.arm)
    assert demand.event != follow.bench.monitor.permission(follow.bench.now_ns).event


def test_a_permission_survives_the_message() -> None:
    permission = Bench().armed().monitor.permission(10**12 + 100 * MS)
    assert wire.PERMISSION.decode(wire.PERMISSION.encode(permission, 5)) == permission


@pytest.mark.parametrize("cause", [Cause.LAW, Cause.SENDER, Cause.CLOCK])
def test_a_law_that_is_broken_after_a_stop_that_was_asked_for_has_to_be_looked_at(cause: Cause) -> None:
    """Somebody presses stop because a stranger commands the arm, and ends the graph: the stranger was forgotten."""
    found: list[Finding] = []
    bench = Bench(watches=[SimpleNamespace(findings=lambda _: found)]).armed()
    bench.monitor.stop(Reason(Cause.REQUESTED, "stop was requested"))
    found.append(Finding(source="a camera", response=Response.STOP, cause=Cause.CAMERA, reason="dark"))
    bench.pass_ms(20)
    assert bench.monitor.permission(bench.now_ns).cause is Cause.REQUESTED
    found.append(Finding(source="arm", response=Response.STOP, cause=cause, reason="broken"))
    bench.pass_ms(20)
    found.clear()
    bench.pass_ms(20)
    assert bench.monitor.permission(bench.now_ns).cause is cause
    bench.monitor.stop(Reason(Cause.REQUESTED, "asked again"))
    assert bench.monitor.permission(bench.now_ns).cause is cause
