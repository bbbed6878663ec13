"""The safety filter: the last word on every step of the reference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tendon.control.stop import Stop, approach_speed, stop_from, stopping_distance
from tendon.core.profile import RobotProfile
from tendon.core.types import Array

TOLERANCE = 1e-10
"""Of rounding only, as a part of each limit."""
CONSTRAINTS = ("position", "velocity", "acceleration")


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Verdict:
    """One accepted step of the reference.

    Attributes:
        position: (n,) at the end of the step, rad or m.
        velocity: (n,) at the end of the step, rad/s or m/s.
        acceleration: (n,) during the step, rad/s^2 or m/s^2.
        stop: the verified way to rest from there.
        reasons: why the step does not go where the target asks; empty when it does.
        margin: free part of the tightest limit, 1 at rest in mid range, 0 at a limit.
        binding: the tightest limit, such as "panda_joint4 velocity".
    """

    position: Array
    velocity: Array
    acceleration: Array
    stop: Stop
    reasons: tuple[str, ...]
    margin: float
    binding: str


class SafetyFilter:
    """Shapes a target into a reference that respects every joint's position, velocity and acceleration limit.

    The reference moves in control periods of constant acceleration. A step is taken only when the stop from its
    end stays inside the position limits, so a stop exists at every moment. The shaping is time-optimal for
    a target at rest and reaches it without overshoot; a target that moves inside the limits is followed
    without lag when its velocity is given (Kroeger and Wahl 2010 for the idea; here in closed form).

    A start outside a position limit is legal and moves only back: the limit is where the reference is until it is
    inside. Not thread-safe.

    Args:
        profile: the limits and the control rate.
    """

    def __init__(self, profile: RobotProfile) -> None:
        self._names = profile.joint_names
        self.period_s = round(1e9 / profile.control_hz) * 1e-9
        self._limit_lower, self._limit_upper = profile.vector("lower"), profile.vector("upper")
        self._velocity_limit = profile.vector("velocity")
        self._acceleration_limit = profile.vector("acceleration")
        self._step_limit = self._acceleration_limit * self.period_s
        self.reset(profile.vector("home"))

    @property
    def position(self) -> Array:
        """(n,) position the reference has reached, read-only."""
        return self._position

    @property
    def velocity(self) -> Array:
        """(n,) velocity there, read-only."""
        return self._velocity

    def reset(self, position: Array) -> None:
        """Starts at rest at (n,) finite `position`, also when that is outside the limits."""
        self._position, self._velocity = _frozen(np.array(position)), _frozen(np.zeros(len(self._names)))
        self._tighten()

    def halt(self) -> None:
        """Puts the reference at the end of its stop: the robot has followed it there on its own."""
        self.reset(self._stop().position[-1])

    def step(self, target: object, target_velocity: Array | None = None) -> Verdict:
        """Advances the reference by one period.

        Args:
            target: (n,) position due at the end of the period; anything else, `None`, NaN and infinity too, makes
                the reference follow its stop.
            target_velocity: (n,) velocity of the target then; zero when it is left out or not usable.
        """
        goal = _vector(target, len(self._names))
        if goal is None:
            return self._take(self._braked(), ("no target" if target is None else "target is not n finite numbers",))
        goal_velocity = _vector(target_velocity, len(self._names))
        wanted, velocity, reasons = self._shape(goal, np.zeros_like(goal) if goal_velocity is None else goal_velocity)
        if np.abs(velocity - wanted).max() > TOLERANCE:
            reasons += self._explain(wanted, velocity)
        return self._take(velocity, reasons)

    def _shape(self, goal: Array, goal_velocity: Array) -> tuple[Array, Array, tuple[str, ...]]:
        """Returns the velocity that would serve the target, the one the limits allow, and what was off the limits."""
        inside = np.minimum(np.maximum(goal, self._limit_lower), self._limit_upper)
        outside = inside != goal
        reasons = tuple(f"{self._names[i]} target beyond its position limit" for i in np.flatnonzero(outside))
        # A target past a limit is at rest on it; one too fast to follow counts at the velocity limit.
        rate = np.minimum(np.maximum(goal_velocity, -self._velocity_limit), self._velocity_limit)
        rate[outside] = 0.0

        middle = self._position + (0.5 * self.period_s) * self._velocity
        distance = inside - middle - (0.5 * self.period_s) * rate
        room = np.array([np.abs(distance), self._upper - middle, middle - self._lower])
        # Below zero only by rounding: the stop from here is inside, and it goes at least to `middle`.
        speeds = approach_speed(np.maximum(room, 0.0), self._acceleration_limit, self.period_s)
        wanted = rate + np.copysign(speeds[0], distance)
        low = np.maximum(np.maximum(self._velocity - self._step_limit, -self._velocity_limit), -speeds[2])
        high = np.minimum(np.minimum(self._velocity + self._step_limit, self._velocity_limit), speeds[1])
        return wanted, np.minimum(np.maximum(wanted, low), high), reasons

    def _explain(self, wanted: Array, velocity: Array) -> tuple[str, ...]:
        reasons = []
        for i in np.flatnonzero(np.abs(velocity - wanted) > TOLERANCE):
            if abs(velocity[i]) >= self._velocity_limit[i] - TOLERANCE:
                limit = "velocity"
            elif abs(velocity[i] - self._velocity[i]) >= self._step_limit[i] - TOLERANCE:
                limit = "acceleration"
            else:
                limit = "position"
            reasons.append(f"{self._names[i]} {limit} limit")
        return tuple(reasons)

    def _braked(self) -> Array:
        velocity = self._velocity
        return velocity - np.minimum(np.maximum(velocity, -self._step_limit), self._step_limit)

    def _stop(self) -> Stop:
        return stop_from(self._position, self._velocity, self._acceleration_limit, self.period_s)

    def _take(self, velocity: Array, reasons: tuple[str, ...]) -> Verdict:
        """Verifies a step and takes it, or else the first step of the stored stop, which was verified before."""
        usage = self._usage(velocity)
        tightest = int(usage.argmax())
        # Written so that NaN fails too.
        if not usage.flat[tightest] <= 1.0 + TOLERANCE:
            velocity = self._braked()
            usage = self._usage(velocity)
            tightest = int(usage.argmax())
            reasons += ("step refused: it left no stop inside the limits",)
        acceleration = (velocity - self._velocity) / self.period_s
        position = self._position + (0.5 * self.period_s) * (self._velocity + velocity)
        self._position, self._velocity = _frozen(position), _frozen(velocity)
        self._tighten()
        constraint, joint = divmod(tightest, len(self._names))
        return Verdict(
            position=self._position,
            velocity=self._velocity,
            acceleration=_frozen(acceleration),
            stop=self._stop(),
            reasons=reasons,
            margin=1.0 - float(usage.flat[tightest]),
            binding=f"{self._names[joint]} {CONSTRAINTS[constraint]}",
        )

    def _usage(self, velocity: Array) -> Array:
        """Returns (3, n): how much of each limit a step to (n,) `velocity` and the stop from there use, 1 at most."""
        rest = self._position + (0.5 * self.period_s) * (self._velocity + velocity)
        speed = np.abs(velocity)
        rest += np.copysign(stopping_distance(speed, self._acceleration_limit, self.period_s), velocity)
        return np.array(
            [
                np.abs(rest - self._centre) / self._half_range,
                speed / self._velocity_limit,
                np.abs(velocity - self._velocity) / self._step_limit,
            ]
        )

    def _tighten(self) -> None:
        """Sets the limits in force: the profile's, or the position itself where that is outside of them."""
        self._upper = np.maximum(self._limit_upper, self._position)
        self._lower = np.minimum(self._limit_lower, self._position)
        self._centre, self._half_range = 0.5 * (self._upper + self._lower), 0.5 * (self._upper - self._lower)


def _vector(value: object, count: int) -> Array | None:
    """Returns (count,) float64, or `None` for anything that is not so many finite numbers."""
    if not isinstance(value, np.ndarray) or value.shape != (count,) or value.dtype.kind not in "fiu":
        return None
    vector = value.astype(np.float64)
    return vector if np.isfinite(vector).all() else None


def _frozen(array: Array) -> Array:
    array.setflags(write=False)
    return array
