"""The robot side's permission gate: when it opens, when it closes, and what closing does to a motion."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tendon.core.causes import Cause, Reason
from tendon.core.clock import ManualClock
from tendon.core.modes import Mode, PermissionState
from tendon.core.permission import Permission
from tendon.core.types import Array, SentTrajectory
from tendon.robots.permission_gate import PermissionGate, brakes_ns
from tendon.robots.profile import ControllerSpec, load_profile
from tendon.robots.safety_settings import nanoseconds
from tests.control.limits_checker import PROFILE, make_chunk
from tests.control.robot_side import MS, PERIOD_NS, Robot
from tests.laws import law_settings

SETTINGS = PROFILE.safety
FRESH_NS = nanoseconds(SETTINGS.permission_age_s)
STANDBY, ARMED, LATCHED = PermissionState.STANDBY, PermissionState.ARMED, PermissionState.LATCHED
REQUESTED = Reason(Cause.REQUESTED, "stop was requested")


def permission(state: PermissionState, event: int) -> Permission:
    cause = Cause.REQUESTED if state is LATCHED else None
    return Permission(state=state, event=event, reason="", cause=cause)


class Bench:
    """A gate, its clock, and who else publishes permissions."""

    def __init__(self, *heard: tuple[PermissionState, int]) -> None:
        self.clock = ManualClock(10**12)
        self.rivals: list[str] = []
        self.gate = PermissionGate(self.clock.now_ns, SETTINGS, self.clock.now_ns, lambda: self.rivals)
        for state, event in heard:
            self.hear(state, event)

    def hear(self, state: PermissionState, event: int, after_ms: int = 20) -> bool:
        self.clock.advance_ns(after_ms * MS)
        self.gate.receive(permission(state, event))
        return self.gate.takes()


def test_nothing_is_taken_before_the_monitor_was_heard_nor_in_standby_nor_latched() -> None:
    bench = Bench()
    assert not bench.gate.takes()
    assert [bench.hear(STANDBY, 0), bench.hear(LATCHED, 0), bench.hear(STANDBY, 5)] == [False] * 3
    assert not bench.gate.takes(brakes_ns=10**9), "it has never been open: nothing brakes"


def test_it_opens_with_arming_closes_with_the_latch_and_opens_with_the_next_arming() -> None:
    bench = Bench((STANDBY, 0))
    assert bench.hear(ARMED, 7) and bench.hear(ARMED, 7) and bench.gate.problem == ""
    assert not bench.hear(LATCHED, 7) and bench.gate.problem == ""
    assert not bench.hear(STANDBY, 8)
    assert bench.hear(ARMED, 9)


def test_an_armed_permission_that_it_finds_is_not_followed() -> None:
    """The robot side was started again under an armed graph: the robot may stand elsewhere."""
    bench = Bench((ARMED, 7))
    assert not bench.hear(ARMED, 7) and "before its side listened" in bench.gate.problem
    assert not bench.hear(LATCHED, 7) and bench.gate.problem == ""
    assert bench.hear(ARMED, 8)


def test_once_closed_the_same_or_an_older_arming_never_opens_it_again() -> None:
    bench = Bench((STANDBY, 0), (ARMED, 7), (LATCHED, 7))
    assert not any(bench.hear(ARMED, event) for event in (7, 3, 7))


def test_a_silence_without_a_command_does_not_close_it() -> None:
    """A PC that stood still for 250 ms: its robot side closed, as it looked whether it may move."""
    bench = Bench((STANDBY, 0), (ARMED, 7))
    bench.clock.advance_ns(250 * MS)
    assert not bench.gate.fresh()
    assert bench.hear(ARMED, 7) and bench.gate.fresh()
    bench.gate.close("it was led elsewhere")
    assert not bench.gate.fresh() and not bench.hear(ARMED, 7) and bench.gate.problem == "it was led elsewhere"
    assert bench.hear(ARMED, 8)


def test_a_silent_monitor_closes_it_and_its_return_does_not_open_it() -> None:
    bench = Bench((STANDBY, 0), (ARMED, 7))
    bench.clock.advance_ns(FRESH_NS)
    assert bench.gate.takes(), "as old as it may be"
    bench.clock.advance_ns(1)
    assert not bench.gate.takes() and f"silent for {FRESH_NS // 10**6} ms" in bench.gate.problem
    assert not bench.hear(ARMED, 7), "the robot is not where the commands continue from"
    assert bench.hear(ARMED, 8)


def test_silence_in_which_no_command_came_changes_nothing() -> None:
    bench = Bench((STANDBY, 0), (ARMED, 7))
    assert bench.hear(ARMED, 7, after_ms=5000)


def test_while_somebody_else_publishes_permissions_nobodys_opens_it() -> None:
    bench = Bench((STANDBY, 0))
    bench.rivals = ["rogue"]
    assert not bench.hear(ARMED, 2**62) and "rogue may publish permissions" in bench.gate.problem
    bench.rivals = []
    assert not bench.hear(STANDBY, 1)
    assert bench.hear(ARMED, 2), "what a stranger said does not keep the monitor's arming out"


@pytest.mark.parametrize("state", list(PermissionState))
def test_an_event_that_no_monitor_can_have_come_to_keeps_none_of_its_own_out(state: PermissionState) -> None:
    """The first event that was heard was kept, whatever it was, and no true one was followed until a restart."""
    bench = Bench((state, 10**300))
    assert not bench.hear(STANDBY, 0) and bench.hear(ARMED, 7), "not as the first"
    bench.hear(state, 10**12 + 10**11)
    assert not bench.gate.takes() and not bench.hear(ARMED, 7)
    assert bench.hear(ARMED, 8), "nor as a later one"


def test_somebody_else_who_publishes_permissions_closes_it() -> None:
    bench = Bench((STANDBY, 0), (ARMED, 7))
    bench.gate.check([])
    assert bench.gate.takes()
    bench.gate.check(["rogue"])
    assert not bench.gate.takes() and not bench.hear(ARMED, 7)
    assert "rogue may publish permissions" in bench.gate.problem


def test_a_permission_of_a_later_arming_is_looked_at_even_when_it_is_open() -> None:
    """A stranger's arming must not keep it open over the monitor's latch."""
    bench = Bench((STANDBY, 0), (ARMED, 7))
    bench.rivals = ["rogue"]
    assert not bench.hear(ARMED, 8)


def test_it_does_not_open_when_the_robot_may_settle_without_it() -> None:
    """Its commands would no longer lead in from where the robot stands."""
    bench = Bench((STANDBY, 0))
    bench.rivals = ["a node without a name"]
    quarter_ms = round(1000 * SETTINGS.arm_settle_s / 4)
    assert not bench.hear(ARMED, 7)
    bench.rivals = []
    late = Bench((STANDBY, 0))
    late.rivals = ["a node without a name"]
    late.hear(ARMED, 7)
    late.rivals = []
    assert bench.hear(ARMED, 7, after_ms=quarter_ms) and not late.hear(ARMED, 7, after_ms=quarter_ms + 1)


def test_a_controller_that_holds_no_stop_is_commanded_until_it_can_be_at_rest() -> None:
    joints = PROFILE.controllers[0].joints
    forward = ControllerSpec(name="forward", type="forward_command", joints=joints, timeout_s=0.1)
    assert brakes_ns(PROFILE, PROFILE.controllers[0]) == 0
    columns = [PROFILE.joint_names.index(name) for name in joints]
    speed, braking = (PROFILE.vector(name)[columns] for name in ("velocity", "acceleration"))
    needed_ns = brakes_ns(PROFILE, forward)
    assert (speed / braking).max() * 1e9 < needed_ns < 10**9
    bench = Bench((STANDBY, 0), (ARMED, 7), (LATCHED, 7))
    assert bench.gate.takes(needed_ns)
    bench.clock.advance_ns(needed_ns - 1)
    assert bench.gate.takes(needed_ns)
    bench.clock.advance_ns(1)
    assert not bench.gate.takes(needed_ns)


@law_settings(max_examples=50)
@given(
    heard=st.lists(
        st.tuples(
            st.sampled_from(PermissionState), st.integers(0, 5), st.integers(0, 150), st.booleans(), st.booleans()
        )
    )
)
def test_a_command_is_taken_only_under_a_fresh_armed_permission_of_an_arming_that_it_heard(heard: list[Any]) -> None:
    """Against a second, slower account of the same: all that was heard, searched anew for each command."""
    bench = Bench()
    said: list[tuple[PermissionState, int]] = []
    for state, event, after_ms, asks, rival in heard:
        bench.rivals = ["rogue"] if rival else []
        bench.hear(state, event, after_ms)
        said.append((state, event))
        if asks and bench.gate.takes():
            assert state is ARMED, "the newest permission permits nothing"
            found = [k for k, each in enumerate(said) if each[1] == event]
            assert found[0] > 0 and event > said[0][1], "it found that arming when it began to listen"
            since = said[max(k for k in found if k == 0 or said[k - 1] != said[k]) :]
            assert all(each[0] is ARMED for each in since)
            bench.clock.advance_ns(FRESH_NS + 1)
            assert not bench.gate.takes()


WHOLE_PERIODS = PROFILE.vector("acceleration") * (PERIOD_NS * 1e-9) ** 2 / 8.0
"""A stop brakes in whole control periods, so from some speeds it goes so much further than `v^2 / 2A`: `f (1 - f) / 2`
times `A h^2` for the part `f` of a period that is over (`tendon.control.stop`)."""


class GatedRobot(Robot):
    """A robot whose side has a gate, and which somebody else commands as soon as it is latched.

    Args:
        gated: whether it has one; else nobody else commands it, which is what the gate is compared with.
        hop_ns: how long a permission takes to the robot side.
    """

    def __init__(self, gated: bool, hop_ns: int) -> None:
        self.gated, self.hop_ns = gated, hop_ns
        self.latched_ns: int | None = None
        self.gate = PermissionGate(lambda: self.now_ns, SETTINGS, lambda: self.now_ns)
        self.event, self.state = 0, STANDBY
        self.refused = 0
        self.rogue_taken = 0
        super().__init__()

    def permit(self, state: PermissionState) -> None:
        self.state, self.event = state, self.event + (state is not LATCHED)

    def pass_time(self, duration_ns: int) -> None:
        for _ in range(duration_ns // MS):
            while self._flying and self._flying[0][0] <= self.now_ns:
                arrival_ns, command = self._flying.pop(0)
                if not self.gated or self.gate.takes():
                    self.side.accept_command(command, arrival_ns)
                else:
                    self.refused += 1
            if self.state is not LATCHED or self.latched_ns is None or self.now_ns >= self.latched_ns + self.hop_ns:
                self.gate.receive(permission(self.state, self.event))
                if self.state is LATCHED and self.gated and self.now_ns % PERIOD_NS == 3 * MS and self.gate.takes():
                    self.rogue_taken += 1
                    self.side.accept(self.rogue(), self.now_ns)
            super().pass_time(MS)

    def rogue(self) -> SentTrajectory:
        """A command that looks like one of ours: from where the robot is, and to rest a little further."""
        position, velocity = self.side.sample(self.now_ns)
        rest = position + 0.1 * np.sign(velocity + 1e-9)
        return SentTrajectory(
            stamp_ns=self.now_ns,
            joint_names=PROFILE.joint_names,
            times_ns=[0, 500 * MS],
            position=np.array([position, rest]),
            velocity=np.array([velocity, np.zeros(8)]),
        )

    def arm(self) -> None:
        self.permit(ARMED)
        super().arm()


def stopped(gated: bool, seed: int, hop_ns: int) -> tuple[GatedRobot, int, Array]:
    """Runs a motion and latches it at a random moment; returns the robot, when it came to rest and how far it went."""
    rng = np.random.default_rng(seed)
    robot = GatedRobot(gated, hop_ns)
    robot.permit(STANDBY)
    robot.pass_time(PERIOD_NS)
    robot.arm()
    for k in range(int(rng.integers(60, 160))):
        if k % 10 == 0:
            rows = rng.uniform(PROFILE.vector("lower") - 0.2, PROFILE.vector("upper") + 0.2, (16, 8))
            robot.controller.submit(make_chunk(rows, robot.now_ns, int(rng.integers(20, 120)) * MS), robot.now_ns)
        robot.tick(delay_ns=int(rng.integers(0, 15)) * MS)
    heard_ticks = int(rng.integers(0, 3))
    robot.permit(LATCHED)
    robot.latched_ns, since = robot.now_ns, len(robot.positions)
    for k in range(150):
        if k == heard_ticks:
            robot.controller.stop(REQUESTED)
        robot.tick(delay_ns=int(rng.integers(0, 15)) * MS)
    assert robot.controller.mode is Mode.LATCHED
    moving = np.flatnonzero(np.abs(robot.velocities[since:]).max(axis=1) > 1e-9)
    way = np.abs(np.diff(np.array(robot.positions[since:]), axis=0)).sum(axis=0)
    return robot, int(moving[-1]) + 1 if len(moving) else 0, way


def test_an_earlier_arming_than_the_one_it_is_open_for_closes_it() -> None:
    """Only another publisher has one, or a monitor that nobody armed."""
    bench = Bench((STANDBY, 0), (ARMED, 7))
    assert not bench.hear(ARMED, 3) and not bench.hear(ARMED, 7) and "earlier arming" in bench.gate.problem


@law_settings(max_examples=10)
@example(seed=0, hop_ms=0)
@example(seed=44, hop_ms=0)
@given(seed=st.integers(0, 2**32 - 1), hop_ms=st.integers(0, 25))
def test_closing_breaks_no_limit_stops_no_later_and_keeps_every_other_sender_out(seed: int, hop_ms: int) -> None:
    """Beside the same motion without a gate and without the other sender. The control node hears the latch up to
    20 ms later or earlier than the robot side, and commands take up to 15 ms.
    """
    _, free_rest_ms, free_way = stopped(False, seed, hop_ms * MS)
    robot, rest_ms, way = stopped(True, seed, hop_ms * MS)
    robot.assert_inside()
    assert robot.rogue_taken == 0 and robot.refused > 0
    assert rest_ms <= free_rest_ms and (way <= free_way + WHOLE_PERIODS).all()
    robot.controller.reset()
    robot.permit(STANDBY)
    robot.pass_time(PERIOD_NS)
    robot.arm()
    for _ in range(120):
        robot.tick()
    robot.assert_inside()
    np.testing.assert_allclose(robot.side.sample(robot.now_ns)[0], robot.controller._filter.position, atol=1e-9)


@pytest.mark.parametrize("robot", ["panda", "fr3", "ur5e", "ur10e", "xarm7", "so101", "g1_arms", "talos_upper"])
def test_no_shipped_robot_needs_more_than_a_second_of_commands_to_brake(robot: str) -> None:
    profile = load_profile(robot)
    for controller in profile.controllers:
        spec = ControllerSpec(name="any", type="forward_command", joints=controller.joints, timeout_s=0.1)
        assert 0 < brakes_ns(profile, spec) < 10**9


@pytest.mark.parametrize(("control_hz", "late_ms"), [(500.0, 20), (500.0, 60), (250.0, 60), (100.0, 20), (100.0, 100)])
def test_a_side_that_hears_of_the_arming_later_is_led_in_gently(control_hz: float, late_ms: int) -> None:
    """The way in was sent for five ticks: at 500 Hz a lost permission outlasts them, and then the setpoint jumped."""
    robot = Robot(known=False, profile=replace(PROFILE, control_hz=control_hz))
    gate = PermissionGate(lambda: robot.now_ns, SETTINGS, lambda: robot.now_ns)
    gate.receive(permission(STANDBY, 1))
    robot.offset[1] = 0.05
    accept = robot.side.accept_command
    robot.side.accept_command = lambda *given: accept(*given) if gate.takes() else None  # type: ignore[method-assign]
    robot.tick()
    robot.controller.arm()
    began_ns, since = robot.now_ns, len(robot.positions)
    while robot.now_ns < began_ns + 1500 * MS:
        if robot.now_ns >= began_ns + late_ms * MS:
            gate.receive(permission(ARMED, 2))
        robot.tick()
    steps = np.abs(np.diff(np.array(robot.positions[since:])[:, 1]))
    assert steps.max() <= 1e-3 * PROFILE.vector("velocity")[1]
    assert gate.takes() and robot.positions[-1][1] - robot.positions[since][1] == pytest.approx(0.05, abs=1e-3)
