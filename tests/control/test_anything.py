"""Whatever happens in whatever order: no limit is broken at the robot, and a robot that is left alone goes on."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tendon.core.causes import Cause, Reason
from tendon.core.errors import StoppedError
from tendon.core.modes import Mode, Source
from tests.control.robot_side import MS, Robot
from tests.control.test_controller import HOME, swing
from tests.laws import law_settings


class Day:
    """A robot on a bad day.

    Args:
        seed: of all that happens.
    """

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        known, acknowledges = self.rng.random(2) < 0.5
        self.robot = Robot(known=bool(known), acknowledges=bool(acknowledges))
        self.controller, self._begin_ns, self._ticks = self.robot.controller, self.robot.now_ns, 0
        self._events: list[tuple[float, Callable[[], object]]] = [
            (0.02, lambda: self.robot.tick(skip=self.among(1, 9))),
            (0.01, lambda: self.robot.tick(skip=self.among(9, 250))),
            (0.01, self._late_command),
            (0.03, self._cut),
            (0.01, lambda: self.controller.stop(Reason(Cause.REQUESTED, "test"))),
            (0.01, self._go_home),
            (0.01, lambda: self.controller.guidance.select(self.rng.choice([Source.POLICY, Source.HOLD]))),
            (0.01, lambda: self.controller.guidance.set_speed_scale(float(self.rng.choice([0.0, 0.3, 1.0])))),
            (0.02, self._push),
            (0.03, self._let_go),
        ]

    def among(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high))

    def tick(self) -> None:
        """Lets a control period pass, in which a chunk may come; a latched robot is armed again."""
        self._ticks += 1
        if self._ticks % 15 == 0:
            self.controller.submit(swing(self.robot.now_ns - 50 * MS, self._begin_ns), self.robot.now_ns)
        self.robot.tick()
        if self.controller.mode is Mode.LATCHED and self._ticks % 40 == 0:
            with contextlib.suppress(StoppedError):  # what stopped it is still there
                self.controller.reset()
                self.robot.tick()
        if self.controller.mode is Mode.STANDBY:
            with contextlib.suppress(StoppedError):
                self.controller.arm()

    def go_on(self, ticks: int) -> None:
        """Lets time pass in which anything may happen."""
        for _ in range(ticks):
            for chance, event in self._events:
                if self.rng.random() < chance:
                    event()
            self.tick()

    def leave_alone(self, ticks: int) -> None:
        """Lets time pass in which nothing happens any more."""
        self._let_go()
        self.controller.guidance.set_speed_scale(1.0)
        self.controller.guidance.select(Source.POLICY)
        for _ in range(ticks):
            self.tick()

    def _late_command(self) -> None:
        self.robot.pass_time(10 * MS)
        tick = self.controller.tick(self.robot.now_ns, self.robot.observe())
        if tick.command is not None:
            late_ms = 10 * self.among(2, 40)
            self.controller.abandon(late_ms * MS)
            self.robot.pass_time(late_ms * MS)

    def _cut(self) -> None:
        self.robot.cut = True
        for _ in range(self.among(1, 12)):
            self.robot.tick(skip=self.among(1, 9) if self.rng.random() < 0.1 else 0)
        self.robot.cut = False

    def _go_home(self) -> None:
        with contextlib.suppress(StoppedError):  # it is not armed
            self.controller.follow_home(np.array([self.controller.begin_home(), HOME]))

    def _push(self) -> None:
        self.robot.offset = np.zeros(8)
        self.robot.offset[self.among(0, 8)] = self.rng.choice([0.01, 0.06, 0.3])

    def _let_go(self) -> None:
        self.robot.offset = np.zeros(8)


@law_settings(max_examples=15)
@given(st.integers(0, 2**32 - 1))
def test_no_limit_is_broken_and_a_robot_that_is_left_alone_goes_on(seed: int) -> None:
    day = Day(seed)
    day.controller.arm()
    day.go_on(400)
    day.leave_alone(600)
    assert day.controller.mode is Mode.RUNNING
    assert np.abs(day.robot.velocities[-500:]).max() > 0.05
    day.robot.assert_inside()
