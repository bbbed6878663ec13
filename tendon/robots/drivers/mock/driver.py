"""The mock robot: joints without mass that follow their commands, at once or with a lag, and read with noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tendon.core.checks import check_number
from tendon.core.clock import Clock
from tendon.core.errors import InvalidDataError, StoppedError
from tendon.core.types import Array, freeze
from tendon.robots.drivers.driver import JointReading
from tendon.robots.profile import RobotProfile

MAX_LAG_S, MAX_NOISE, MAX_EFFORT = 1.0, 0.1, 1e4
HELD_NS = 100_000_000
"""A servo that got no command for longer stands at the last one."""
JUMP_SHARE, JUMP_SLACK = 1.5, 1e-3
"""A command may be as far from the last one as this many times the speed limit goes meanwhile, and this [rad or m]."""
OUTSIDE = 1e-6
"""Rounding that a command may be outside a position limit [rad or m]."""


@dataclass(frozen=True, kw_only=True)
class MockSettings:
    """How the mock differs from what it is told.

    Attributes:
        lag_s: time constant of each joint's first-order lag behind its command, 0 to 1.
        noise: standard deviation of each measured position [rad or m], 0 to 0.1.
        effort: what each joint says it bears [N m or N], 0 to 10000.
    """

    lag_s: float = 0.0
    noise: float = 0.0
    effort: float = 0.0

    def __post_init__(self) -> None:
        check_number("lag_s", self.lag_s, least=0, most=MAX_LAG_S)
        check_number("noise", self.noise, least=0, most=MAX_NOISE)
        check_number("effort", self.effort, least=0, most=MAX_EFFORT)


class MockDriver:
    """A `Driver` of nothing. It stands at home when it is made.

    Args:
        profile: the robot to be.
        clock: stamps readings and says how much time has passed.
        settings: lag, noise and effort; may be replaced at any time.
    """

    def __init__(self, profile: RobotProfile, clock: Clock, settings: MockSettings | None = None) -> None:
        self._clock = clock
        self.settings = settings or MockSettings()
        self._names = profile.joint_names
        self._lower, self._upper = profile.vector("lower"), profile.vector("upper")
        self._speed, self._braking = profile.vector("velocity"), profile.vector("acceleration")
        self._position = np.array(profile.vector("home"))
        self._velocity = np.zeros(len(self._names))
        self._target, self._target_velocity = self._position.copy(), self._velocity.copy()
        self._commanded_ns, self._moved_ns = 0, 0
        self._connected = False
        self._stopped_ns: int | None = None
        self._noise = np.random.default_rng(0)

    def connect(self) -> None:
        """Holds the joints where they are."""
        now_ns = self._clock.now_ns()
        if self._connected:
            self._advance(now_ns)
        self._target, self._target_velocity = self._position.copy(), np.zeros(len(self._names))
        self._commanded_ns = self._moved_ns = now_ns
        self._connected, self._stopped_ns = True, None

    def read(self) -> JointReading:
        """Returns where the joints are now.

        Raises:
            StoppedError: not connected.
        """
        now_ns = self._now_ns()
        self._advance(now_ns)
        noise = self._noise.normal(0.0, self.settings.noise, len(self._names)) if self.settings.noise else 0.0
        effort = np.full(len(self._names), self.settings.effort)
        return JointReading(stamp_ns=now_ns, position=self._position + noise, velocity=self._velocity, effort=effort)

    def command(self, position: Array, velocity: Array) -> None:
        """Takes the next target; see `Driver.command`.

        Raises:
            StoppedError: not connected, or stopped.
            InvalidDataError: wrong shape, not finite, outside a limit, or a jump.
        """
        now_ns = self._now_ns()
        if self._stopped_ns is not None:
            raise StoppedError("the robot is stopped: connect again before it is sent commands")
        target = freeze("commanded position", position, self._position.shape)
        speed = freeze("commanded velocity", velocity, self._position.shape)
        self._check("position", target, self._lower - OUTSIDE, self._upper + OUTSIDE)
        self._check("velocity", speed, -JUMP_SHARE * self._speed, JUMP_SHARE * self._speed)
        far = JUMP_SHARE * self._speed * (now_ns - self._commanded_ns) * 1e-9 + JUMP_SLACK
        self._check("position, in one step,", target, self._target - far, self._target + far)
        self._advance(now_ns)
        self._target, self._target_velocity, self._commanded_ns = target, speed, now_ns
        if not self.settings.lag_s:
            self._position, self._velocity = target.copy(), speed.copy()

    def stop(self) -> None:
        """Brakes each joint by its acceleration limit.

        Raises:
            StoppedError: not connected.
        """
        if self._stopped_ns is None:
            now_ns = self._now_ns()
            self._advance(now_ns)
            self._target, self._target_velocity = self._position.copy(), self._velocity.copy()
            self._stopped_ns = now_ns

    def close(self) -> None:
        """Lets go of it."""
        self._connected = False

    def _now_ns(self) -> int:
        if not self._connected:
            raise StoppedError("the robot is not connected")
        return self._clock.now_ns()

    def _check(self, what: str, value: Array, low: Array, high: Array) -> None:
        for i in np.flatnonzero((value < low) | (value > high))[:1]:
            raise InvalidDataError(
                f"{self._names[i]}: commanded {what} is {value[i]:.4f}, must be {low[i]:.4f} to {high[i]:.4f}"
            )

    def _advance(self, now_ns: int) -> None:
        """Moves the joints to a time."""
        passed_s, self._moved_ns = max(0, now_ns - self._moved_ns) * 1e-9, max(now_ns, self._moved_ns)
        target, velocity = self._wanted(now_ns)
        if self._stopped_ns is not None or not self.settings.lag_s:
            self._position, self._velocity = target, velocity
            return
        if passed_s > 0:
            before, left = self._position, math.exp(-passed_s / self.settings.lag_s)
            self._position = target + (before - target) * left
            self._velocity = (self._position - before) / passed_s

    def _wanted(self, now_ns: int) -> tuple[Array, Array]:
        if self._stopped_ns is None:
            held = now_ns - self._commanded_ns > HELD_NS
            return self._target, np.zeros_like(self._target) if held else self._target_velocity
        braking = np.copysign(self._braking, self._target_velocity)
        rest_s, passed_s = np.abs(self._target_velocity) / self._braking, (now_ns - self._stopped_ns) * 1e-9
        time_s = np.minimum(passed_s, rest_s)
        position = self._target + time_s * (self._target_velocity - 0.5 * braking * time_s)
        velocity = np.where(passed_s < rest_s, self._target_velocity - braking * time_s, 0.0)
        return np.clip(position, self._lower, self._upper), velocity
