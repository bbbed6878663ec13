"""What a control loop forgives is as long at every rate: a machine's hiccups do not get shorter with its ticks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendon.control.reference import ARRIVAL_PERIODS
from tendon.core.modes import Mode
from tests.control.limits_checker import PROFILE, make_chunk
from tests.control.robot_side import MS, Robot
from tests.laws import law_settings

HOME = PROFILE.vector("home")


class Led(Robot):
    """A robot in motion, that gets a chunk every 100 ms."""

    def __init__(self, control_hz: float) -> None:
        super().__init__(control_hz=control_hz)
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


@pytest.mark.parametrize("hz", [50.0, 100.0, 250.0, 500.0, 1000.0])
@pytest.mark.parametrize("milliseconds", [12, 60])
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
def test_one_that_is_held_up_for_longer_than_ten_ticks_of_100_hz_twice_is_stopped(hz: float) -> None:
    robot = Led(hz)
    for _ in range(2):
        robot.held_up(130)
        robot.go(1000)
    assert robot.controller.mode.stopped
    robot.assert_inside()


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


@law_settings(max_examples=20)
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
