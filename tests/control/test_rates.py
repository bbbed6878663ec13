"""What a control loop forgives is as long at every rate: a machine's hiccups do not get shorter with its ticks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendon.control.reference import ARRIVAL_PERIODS
from tendon.core.modes import Mode, PermissionState
from tendon.core.permission import Permission
from tendon.robots.permission_gate import PermissionGate
from tendon.robots.profile import RobotProfile
from tendon.robots.safety_settings import SafetySettings
from tests.control.limits_checker import PROFILE, make_chunk
from tests.control.robot_side import MS, Robot
from tests.laws import law_settings

HOME = PROFILE.vector("home")
USUAL_MS = (20, 40, 80, 100, 140)
"""How long a loop is held up in `make test`; `make test-laws` tries every 10 ms."""


class Led(Robot):
    """A robot in motion, that gets a chunk every 100 ms."""

    def __init__(self, control_hz: float, profile: RobotProfile = PROFILE) -> None:
        super().__init__(profile=replace(profile, control_hz=control_hz))
        self.arm()
        self.begin_ns, self._asked_ns = self.now_ns, 0
        self.go(600)

    def go(self, milliseconds: int) -> None:
        for _ in range(milliseconds * MS // self.controller.period_ns):
            if self.now_ns - self._asked_ns >= 100 * MS:
                self._asked_ns = self.now_ns
                since_s = (self.now_ns - self.begin_ns) * 1e-9 + 0.05 * np.arange(16)
                rows = np.tile(HOME, (16, 1))
                rows[:, 0] += 0.3 * np.sin(since_s)
                self.controller.submit(make_chunk(rows, self.now_ns - MS, 50 * MS), self.now_ns)
            self.tick()

    def held_up(self, milliseconds: int) -> None:
        self.tick(skip=milliseconds * MS // self.controller.period_ns)


@pytest.mark.parametrize(
    ("hz", "milliseconds"),
    [
        *((50.0, ms) for ms in (12, 30)),
        *((100.0, ms) for ms in (12, 50)),
        *((hz, ms) for hz in (250.0, 500.0, 1000.0) for ms in (12, 60)),
    ],
)
def test_a_loop_that_is_held_up_twice_for_a_moment_goes_on(hz: float, milliseconds: int) -> None:
    """At 1000 Hz 12 ms latched: "the control loop stood still twice within 10 s"."""
    robot = Led(hz)
    for _ in range(2):
        robot.held_up(milliseconds)
        robot.go(1000)
        assert robot.controller.mode is Mode.RUNNING
        assert np.abs(robot.velocities[-500:]).max() > 0.05
    robot.assert_inside()


@pytest.mark.parametrize("hz", [100.0, 1000.0])
def test_one_that_is_held_up_twice_for_longer_than_the_robot_side_waits_is_stopped(hz: float) -> None:
    robot = Led(hz)
    for _ in range(2):
        robot.held_up(80)
        robot.go(1000)
    assert robot.controller.mode.stopped
    robot.assert_inside()


@pytest.mark.parametrize("hz", [50.0, 100.0, 1000.0])
@pytest.mark.parametrize("age_ms", [75, 100])
@pytest.mark.parametrize(
    "milliseconds",
    [ms if ms in USUAL_MS else pytest.param(ms, marks=pytest.mark.laws) for ms in range(20, 150, 10)],
)
def test_a_robot_side_that_did_not_stand_still_takes_the_command_after_it(
    hz: float, age_ms: int, milliseconds: int
) -> None:
    """It refused one after 80 to 100 ms, as its permission was too old, and tracking stopped the robot for good.

    The monitor stood still too: it sent its last permission up to 20 ms before, and sends the next 10 ms after it. The
    loop ticks for the last tick that is over, up to a period late.
    """
    profile = replace(PROFILE, safety=SafetySettings(permission_age_s=age_ms * 1e-3))
    robot = Led(hz, profile)
    gate = PermissionGate(lambda: robot.now_ns, profile.safety, lambda: robot.now_ns)
    for state, event in ((PermissionState.STANDBY, 0), (PermissionState.ARMED, 7)):
        gate.receive(Permission(state=state, event=event, reason=""))
    robot.go(20)
    tick = robot.tick(skip=milliseconds * MS // robot.controller.period_ns)
    robot.now_ns += robot.controller.period_ns - MS + 9 * MS
    assert gate.takes() or tick.command is None
    assert tick.mode is Mode.RUNNING
    assert tick.command is not None or milliseconds > 20 or hz < 100.0, "20 ms are no standstill"


@pytest.mark.parametrize("late_ms", [2, 14])
def test_a_command_of_a_fast_loop_that_is_a_few_milliseconds_late_twice_is_a_hold_each_time(late_ms: int) -> None:
    """It would be sent at 100 Hz. At 1000 Hz it is not, and the robot plays its stop; a latch would be for nothing."""
    robot = Led(1000.0)
    for _ in range(2):
        robot.controller.abandon(late_ms * MS)
        robot.go(1000)
        assert robot.controller.mode is Mode.RUNNING
    robot.controller.abandon(16 * MS)
    robot.go(1000)
    assert robot.controller.mode is Mode.RUNNING
    robot.controller.abandon(16 * MS)
    assert robot.controller.mode.stopped


@law_settings(max_examples=6)
@given(seed=st.integers(0, 2**32 - 1), hz=st.sampled_from([50.0, 500.0, 1000.0]))
def test_a_loop_that_is_held_up_never_breaks_a_limit_at_the_robot(seed: int, hz: float) -> None:
    rng = np.random.default_rng(seed)
    robot = Led(hz)
    latest_ns = round(ARRIVAL_PERIODS * robot.controller.period_ns)
    for _ in range(6):
        robot.go(int(rng.integers(20, 200)))
        robot.tick(
            delay_ns=int(rng.integers(0, latest_ns)), skip=int(rng.integers(1, 98 * MS // robot.controller.period_ns))
        )
    robot.pass_time(1000 * MS)
    robot.assert_inside()
    assert not robot.velocities[-1].any(), "not at rest after its last command"
