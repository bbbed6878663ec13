"""What people put where our safety filter is: plain clamping, and a quadratic program alone. For benchmarks only."""

from __future__ import annotations

import daqp
import numpy as np

from tendon.control.clearance.model import Clearance
from tendon.control.filter import SafetyFilter, Verdict
from tendon.control.stop import Stop
from tendon.core.types import Array
from tendon.robots.profile import RobotProfile

DAMPER_M = 0.05
"""Clearance above its margin at which the program begins to slow an approach."""


class Clamp:
    """Clips the target's position, and its distance from the last command by the speed limit."""

    def __init__(self, profile: RobotProfile, period_s: float) -> None:
        self._lower, self._upper = profile.vector("lower"), profile.vector("upper")
        self._reach = profile.vector("velocity") * period_s
        self.position = profile.vector("home")

    def reset(self, position: Array) -> None:
        """Starts at a position."""
        self.position = position

    def step(self, target: Array) -> Array:
        """Returns the clamped target."""
        near = np.clip(target, self.position - self._reach, self.position + self._reach)
        self.position = np.clip(near, self._lower, self._upper)
        return self.position


class QuadraticProgram:
    """A program for the next velocity: speed and acceleration limits as bounds, dampers for the others.

    The usual form (Faverjon and Tournassoud 1987; Kanoun 2012), without a check of what comes out and without a stop.
    """

    def __init__(self, profile: RobotProfile, period_s: float, clearance: Clearance | None) -> None:
        self._period_s = period_s
        self._lower, self._upper = profile.vector("lower"), profile.vector("upper")
        self._speed, self._step = profile.vector("velocity"), profile.vector("acceleration") * period_s
        self._clearance = clearance
        self.infeasible = 0
        self.reset(profile.vector("home"))

    def reset(self, position: Array) -> None:
        """Starts at rest."""
        self.position, self._velocity = position, np.zeros_like(position)

    def step(self, target: Array) -> Array:
        """Returns the next position."""
        gain = 0.1 / self._period_s
        wanted = (target - self.position) * gain
        low = np.maximum(np.maximum(-self._speed, self._velocity - self._step), gain * (self._lower - self.position))
        high = np.minimum(np.minimum(self._speed, self._velocity + self._step), gain * (self._upper - self.position))
        count = len(wanted)
        gradients, floor = np.zeros((0, count)), np.zeros(0)
        if self._clearance is not None:
            room = self._clearance.distances(self.position) - self._clearance.margin
            near = np.flatnonzero(room < DAMPER_M)
            if len(near):
                gradients = np.ascontiguousarray(self._clearance.gradients(self.position, near.tolist()))
                floor = -gain * room[near]
        solution, _, status, _ = daqp.solve(
            np.eye(count),
            -wanted,
            gradients,
            np.concatenate([high, np.full(len(floor), 1e30)]),
            np.concatenate([low, floor]),
            np.zeros(count + len(floor), dtype=np.int32),
        )
        if status != 1:  # what most stacks do then: the target is clipped
            self.infeasible += 1
            solution = np.clip(wanted, -self._speed, self._speed)
        self._velocity = np.asarray(solution)
        self.position = self.position + self._period_s * self._velocity
        return self.position


class Unfiltered(SafetyFilter):
    """In the place of the filter, what clamping to the position limits does: to see what the filter costs."""

    def step(self, target: object, target_velocity: Array | None = None) -> Verdict:
        """Returns the target itself."""
        still = np.zeros_like(self._position)
        moving = isinstance(target, np.ndarray)
        position = np.clip(target, self._limit_lower, self._limit_upper) if moving else self._position
        velocity = target_velocity if moving and target_velocity is not None else still
        change = (position - self._position) / self.period_s
        acceleration, self._rate = (change - getattr(self, "_rate", still)) / self.period_s, change
        self._position, self._velocity = position, velocity
        stop = Stop(
            ticks=np.array([0, 1]),
            position=np.array([position, position]),
            velocity=np.array([velocity, still]),
            acceleration=np.array([still, still]),
        )
        return Verdict(
            position=position,
            velocity=velocity,
            acceleration=acceleration,
            jerk=still,
            stop=stop,
            reasons=(),
            margin=1.0,
            binding="",
        )
