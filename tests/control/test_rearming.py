"""Armed again and again with an object held, whatever stopped it: checked at the robot side, each millisecond."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

from tendon.core.causes import Cause, Reason
from tendon.core.errors import InvalidDataError, StoppedError
from tendon.core.modes import Mode
from tendon.robots.easing import Easing, way_of
from tests.control.limits_checker import PROFILE, make_chunk
from tests.control.robot_side import MS, PERIOD_NS, Robot

GRIPPER, TICKS = 7, 1500
WAY = np.array([1.0, 0.5, 1.0, 0.5, 1.0, 0.5, 1.0, 0.0])


class Trouble:
    """A robot that moves at random: blocked, stopped, cut off by its gate, held up, led by hand, and armed again."""

    def __init__(self, seed: int) -> None:
        self.robot, self._random = Robot(), np.random.default_rng(seed)
        self.robot.offset[GRIPPER] = -0.02
        self._blocked: tuple[int, float] | None = None
        self._gate, self._easing = True, Easing(PROFILE)
        self.armed, self.eased = 0, 0

    def _now(self, chance: float) -> bool:
        return self._random.random() < chance

    def tick(self) -> None:
        robot, controller = self.robot, self.robot.controller
        with contextlib.suppress(StoppedError):
            if controller.mode is Mode.STANDBY and self._now(0.2):
                controller.arm()
                self.armed, self._gate = self.armed + 1, True
            elif controller.mode is Mode.LATCHED and self._now(0.05):
                controller.reset()
                self._let_go()
        if controller.mode.moving:
            self._disturb()
        if self._blocked is not None:
            joint, place = self._blocked
            robot.offset[joint] = place - robot.side.sample(robot.now_ns + PERIOD_NS)[0][joint]
        with contextlib.suppress(InvalidDataError):  # what ended before it came: such a controller refuses it
            robot.tick(int(self._random.integers(15)) * MS, int(self._random.choice([0] * 200 + [1, 3, 12])))
        if self._gate:
            self._easing.begin()
        else:
            robot._flying.clear()
            self._ease()

    def _ease(self) -> None:
        """What a robot side with a gate does when its stop has ended."""
        robot = self.robot
        setpoint, velocity = robot.side.sample(robot.now_ns)
        if self._easing.over or velocity.any():
            return
        goal = self._easing.look(setpoint, robot.observe(), robot.now_ns)
        if goal is not None:
            self.eased += 1
            robot.side.accept(way_of(PROFILE, setpoint, goal, robot.now_ns), robot.now_ns)

    def _let_go(self) -> None:
        """Frees the joint that is blocked, or not, or somebody leads one elsewhere by hand."""
        robot, joint = self.robot, int(self._random.integers(GRIPPER))
        if self._now(0.6):
            self._blocked, robot.offset[:GRIPPER] = None, 0.0
            if self._now(0.5):
                led = robot.observe().joint_position[joint] + self._random.uniform(-0.5, 0.5)
                lower, upper = PROFILE.joints[joint].lower, PROFILE.joints[joint].upper
                self._blocked = joint, float(np.clip(led, lower, upper))

    def _disturb(self) -> None:
        robot, controller = self.robot, self.robot.controller
        if self._now(0.1):
            goal = PROFILE.vector("home") + self._random.uniform(-5.0, 5.0) * WAY
            rows = np.linspace(robot.positions[-1], goal, 20)
            controller.submit(make_chunk(rows, robot.now_ns, 50 * MS), robot.now_ns)
        if self._now(0.004):
            controller.guidance.set_speed_scale(float(self._random.choice([0.0, 0.3, 1.0])))
        if self._blocked is None and self._now(0.005):
            joint = int(self._random.integers(GRIPPER))
            self._blocked = joint, float(robot.observe().joint_position[joint])
        if self._now(0.01):
            self._gate = self._now(0.5)
            controller.stop(Reason(Cause.REQUESTED, "test"))


@pytest.mark.parametrize("seed", range(3))
def test_no_limit_is_broken_and_nothing_is_let_go(seed: int) -> None:
    trouble = Trouble(seed)
    held = trouble.robot.positions[-1][GRIPPER]
    for _ in range(TICKS):
        trouble.tick()
    trouble.robot.assert_inside()
    assert trouble.armed > 5
    assert {row[GRIPPER] for row in trouble.robot.positions} == {held}
