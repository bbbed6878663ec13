"""The safety filter: the last word on every step of the reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tendon.control.clearance.avoidance import Avoidance
from tendon.control.clearance.model import Clearance
from tendon.control.clearance.motion import MAX_QUERIES, MotionPath, Separation, check_separation
from tendon.control.retreat import with_retreat
from tendon.control.stop import (
    History,
    Stop,
    approach_speed,
    averaged_periods,
    stop_from,
    stopping_distance,
)
from tendon.core.types import Array
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import RobotProfile

TOLERANCE = 1e-10
"""Of rounding only, as a part of each limit."""
JERK_TOLERANCE = 1e-7
"""The same for jerk, a difference of differences."""
CONSTRAINTS = ("position", "velocity", "acceleration", "jerk")
ROOMY_M = 0.1
"""A clearance that is this far beyond its margin leaves the whole margin of a verdict free."""
SHARES = (1.0, 0.5)
"""Parts of a step that are tried before the stop is played."""

Guard = Callable[[MotionPath, Array | None], str]
"""Looks at a motion to rest, and at how far the robot was measured from where it was told to be, (n,) or `None`.

Returns why the motion must not be made, empty when it may.
"""


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Verdict:
    """One accepted step of the reference. Its jerk is constant, so one cubic is the whole motion.

    Attributes:
        position: (n,) at the end of the step, rad or m.
        velocity: (n,) at the end of the step, rad/s or m/s.
        acceleration: (n,) at the end of the step, rad/s^2 or m/s^2.
        jerk: (n,) during the step, rad/s^3 or m/s^3.
        stop: the verified way to rest from there.
        reasons: why the step does not go where the target asks; empty when it does.
        margin: free part of the tightest limit, 1 at rest in mid range and far from everything, 0 at a limit.
        binding: the tightest limit, such as "panda_joint4 velocity" or "panda_hand - table".
        refused: whether the stored stop was played because the step was not safe.
    """

    position: Array
    velocity: Array
    acceleration: Array
    jerk: Array
    stop: Stop
    reasons: tuple[str, ...]
    margin: float
    binding: str
    refused: bool = False


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class _Step:
    """A candidate: the history after it, the reference there, its stop, and how much of each limit it uses."""

    history: History
    position: Array
    velocity: Array
    acceleration: Array
    jerk: Array
    stop: Stop
    usage: Array


class SafetyFilter:
    """Shapes a target into a reference inside every joint's limits that keeps its clearances and can always stop.

    A motion of constant acceleration a period follows the target time-optimally inside position, velocity and
    acceleration limits (Kroeger and Wahl 2010 for the idea; here in closed form). The reference is its average
    over the last `m` periods, which turns steps of acceleration into ramps. Averages of values inside
    limits are inside, so position, velocity and acceleration limits hold for the reference too, and its jerk is at
    most `2 A / (m h)`, which `m` keeps below the jerk limit.

    A step is taken only when (1) these limits hold during it, (2) the stop from its end stays inside them, and (3)
    along the step and that stop every clearance of the collision model stays above its margin, checked by bisection
    with a bound on the motion in between; so does every clearance of the robot that stays as far from the reference as
    it was measured. Else the stop that was stored with the step before is played, so one exists at every moment.

    Guaranteed, for the reference: position, velocity, acceleration and jerk limits at every instant, between ticks too;
    modelled clearances, for as long as the model is right; rest within `V / A + m h` of the last usable target. Not
    guaranteed: that the robot tracks the reference (watched by `Controller` with a bound of its own), or goes on to be
    as far from it as it was measured; anything not in the model; forces; that the target is reached. A start outside a
    position limit or inside a margin is legal and moves only back. Not thread-safe.

    Args:
        profile: the limits and the control rate.
        clearance: what must be kept apart; `None` checks joint limits only.
    """

    def __init__(self, profile: RobotProfile, clearance: Clearance | None = None) -> None:
        self._names = profile.joint_names
        self.period_s = round(1e9 / profile.control_hz) * 1e-9
        self._limit_lower, self._limit_upper = profile.vector("lower"), profile.vector("upper")
        self._velocity_limit = profile.vector("velocity")
        self._acceleration_limit, self._jerk_limit = profile.vector("acceleration"), profile.vector("jerk")
        self._step_limit = self._acceleration_limit * self.period_s
        # What uses up each of `CONSTRAINTS`; the first row is set by `_tighten`.
        self._whole = np.stack([self._limit_upper, self._velocity_limit, self._step_limit, self._jerk_limit])
        self._periods = averaged_periods(self._acceleration_limit, self._jerk_limit, self.period_s)
        self._clearance = clearance
        holding = np.isinf(profile.tracking_tolerance)
        self._avoidance = None if clearance is None else Avoidance(clearance, holding)
        self._tool_speed = np.inf if profile.tool_speed is None else profile.tool_speed
        self._kinematics = None if profile.tool_speed is None else Kinematics(profile)
        self.speed = 1.0
        self.guards: Sequence[Guard] = ()
        self.reset(profile.vector("home"))

    @property
    def position(self) -> Array:
        """(n,) position the reference has reached, read-only."""
        return self._position

    @property
    def velocity(self) -> Array:
        """(n,) velocity there, read-only."""
        return self._velocity

    @property
    def delay_s(self) -> float:
        """How far the reference is behind the motion that follows the target: ask for a target this much later."""
        return 0.5 * self._periods * self.period_s

    @property
    def away(self) -> Array | None:
        """(n,) how far the robot was measured from where it was told to be; `None` where that changes no distance."""
        return self._away

    @away.setter
    def away(self, away: Array | None) -> None:
        self._away = away if self._clearance is not None and self._clearance.matters(away) else None

    def reset(self, position: Array) -> None:
        """Starts at rest at (n,) finite `position`, also when that is outside the limits."""
        self._history = History.at_rest(np.array(position), self._periods)
        self._position, self._velocity = _frozen(np.array(position)), _frozen(np.zeros(len(self._names)))
        self._acceleration, self._away = self._velocity, None
        self._tighten()

    def halt(self) -> None:
        """Puts the reference at the end of its stop: the robot has followed it there on its own."""
        self.reset(stop_from(self._history, self._acceleration_limit, self.period_s).position[-1])

    def step(self, target: object, target_velocity: Array | None = None) -> Verdict:
        """Advances the reference by one period.

        Args:
            target: (n,) position due `delay_s` after the end of the period; anything else, `None`, NaN and infinity
                too, makes the reference follow its stop.
            target_velocity: (n,) velocity of the target then; zero when it is left out or not usable.
        """
        goal = _vector(target, len(self._names))
        if goal is None:
            reason = "no target" if target is None else "target is not n finite numbers"
            return self._take(self._step_to(self._braked()), (reason,))
        goal_velocity = _vector(target_velocity, len(self._names))
        rate = np.zeros_like(goal) if goal_velocity is None else goal_velocity
        wanted, velocity, reasons = self._shape(goal, rate)
        reasons += self._explain(wanted, velocity)
        return self._judge(velocity, reasons)

    def retreat(self, stop: Stop, goal: Array) -> Stop | None:
        """Returns a stop of the reference that then comes to (n,) `goal`, or to the limits before it, and rests there.

        Guards are not asked: it goes to where the robot was touched, and a person whom they keep it away from may be
        who touches it.

        Returns:
            `None` when something that the model knows is in the way.
        """
        inside = np.clip(goal, self._lower, self._upper)
        limits = self._velocity_limit, self._acceleration_limit, self._jerk_limit
        longer = with_retreat(stop, inside, limits, self.period_s)
        path = MotionPath(
            time_s=np.asarray(self.period_s * longer.ticks),
            position=longer.position,
            velocity=longer.velocity,
            acceleration=longer.acceleration,
        )
        separation = self._separation(path, MAX_QUERIES, None)  # it goes to where it is measured
        return longer if separation is None or separation.kept else None

    def _shape(self, goal: Array, goal_velocity: Array) -> tuple[Array, Array, tuple[str, ...]]:
        """Returns the velocity that would serve the target, the one the limits allow, and what was off the limits."""
        inside = np.minimum(np.maximum(goal, self._limit_lower), self._limit_upper)
        outside = (inside != goal).nonzero()[0]
        reasons = tuple(f"{self._names[i]} target beyond its position limit" for i in outside)
        top = self.speed * self._velocity_limit
        # A target past a limit is at rest on it; one too fast to follow counts at the velocity limit.
        rate = np.minimum(np.maximum(goal_velocity, -top), top)
        rate[outside] = 0.0

        here, speed = self._history.position[-1], self._history.velocity[-1]
        middle = here + (0.5 * self.period_s) * speed
        distance = inside - middle - (0.5 * self.period_s) * rate
        room = np.empty((3, len(goal)))
        room[0], room[1], room[2] = np.abs(distance), self._upper - middle, middle - self._lower
        # Below zero only by rounding: the stop from here is inside, and it goes at least to `middle`.
        speeds = approach_speed(np.maximum(room, 0.0), self._acceleration_limit, self.period_s)
        wanted = rate + np.copysign(speeds[0], distance)
        lowest, highest = speed - self._step_limit, speed + self._step_limit
        # Slowed down while faster than that, it brakes at its limit, not at once.
        fastest, slowest = np.maximum(top, lowest), np.minimum(-top, highest)
        low = np.maximum(np.maximum(lowest, slowest), -speeds[2])
        high = np.minimum(np.minimum(highest, fastest), speeds[1])
        velocity = np.minimum(np.maximum(wanted, low), high)
        if self._kinematics is not None:
            velocity, slowed = self._slowed(self._kinematics, velocity, low, high)
            reasons += slowed
        if self._avoidance is not None:
            braked = self._braked()
            rest = middle + 0.5 * self.period_s * braked + np.copysign(self._stopping_distance(braked), braked)
            lever_s = self.period_s * (np.floor(np.abs(braked) / self._step_limit) + 1.0)
            shaped = self._avoidance.shape(velocity, low, high, braked, lever_s, rest, self._away)
            if shaped is not velocity:
                return shaped, shaped, (*reasons, "led around what is near")
        return wanted, velocity, reasons

    def _slowed(self, tool: Kinematics, velocity: Array, low: Array, high: Array) -> tuple[Array, tuple[str, ...]]:
        """Returns the velocity scaled down to the tool's speed limit, as far as the joints' own limits allow."""
        speed = float(np.linalg.norm(tool.tool_velocity(self._history.position[-1], velocity)))
        most = self.speed * self._tool_speed
        if speed <= most:
            return velocity, ()
        return np.minimum(np.maximum(velocity * (most / speed), low), high), ("tool speed limit",)

    def _explain(self, wanted: Array, velocity: Array) -> tuple[str, ...]:
        limited = (np.abs(velocity - wanted) > TOLERANCE).nonzero()[0]
        if not len(limited):
            return ()
        reasons = []
        top, before = self.speed * self._velocity_limit, self._history.velocity[-1]
        for i in limited:
            if abs(velocity[i]) >= top[i] - TOLERANCE:
                limit = "velocity"
            elif abs(velocity[i] - before[i]) >= self._step_limit[i] - TOLERANCE:
                limit = "acceleration"
            else:
                limit = "position"
            reasons.append(f"{self._names[i]} {limit} limit")
        return tuple(reasons)

    def _braked(self) -> Array:
        velocity = self._history.velocity[-1]
        return np.asarray(velocity - np.minimum(np.maximum(velocity, -self._step_limit), self._step_limit))

    def _stopping_distance(self, velocity: Array) -> Array:
        return stopping_distance(np.abs(velocity), self._acceleration_limit, self.period_s)

    def _step_to(self, velocity: Array) -> _Step:
        """Returns the step whose averaged motion has (n,) `velocity` at its end."""
        before = self._history.velocity[-1]
        history = self._history.extended(velocity, self.period_s)
        position, average, acceleration = now = history.average(self.period_s)
        jerk = (acceleration - self._acceleration) / self.period_s
        rest = history.position[-1] + np.copysign(self._stopping_distance(velocity), velocity)
        usage = np.empty((len(CONSTRAINTS), len(velocity)))
        usage[0], usage[1], usage[2], usage[3] = rest - self._centre, velocity, velocity - before, jerk
        np.abs(usage, out=usage)
        usage /= self._whole
        usage[3] -= JERK_TOLERANCE
        return _Step(
            history=history,
            position=position,
            velocity=average,
            acceleration=acceleration,
            jerk=jerk,
            stop=stop_from(history, self._acceleration_limit, self.period_s, now),
            usage=usage,
        )

    def _judge(self, velocity: Array, reasons: tuple[str, ...]) -> Verdict:
        """Verifies a step and takes it; or half of it; or else the first step of the stored stop, verified before."""
        queries = MAX_QUERIES if self._away is None else MAX_QUERIES // 2
        braked, cause = self._braked(), "it is not finite"
        for share in SHARES if np.isfinite(velocity).all() else ():
            step = self._step_to(braked + share * (velocity - braked))
            # Written so that NaN fails too.
            if not step.usage.max() <= 1.0 + TOLERANCE:
                cause = "it left no stop inside the limits"
                continue
            separation, cause = self._look(step, queries)
            if separation is not None and not separation.kept and self._clearance is not None:
                cause = f"{self._clearance.names[separation.constraint]} too close"
                queries -= separation.queries
            if not cause:
                return self._take(step, reasons if share == 1.0 else (*reasons, "half a step"), separation)
        return self._take(self._step_to(braked), (*reasons, f"step refused: {cause}"), refused=True)

    def _look(self, step: _Step, queries: int) -> tuple[Separation | None, str]:
        """Returns what the clearances along a step and its stop say, and what a guard has against it."""
        if self._clearance is None and not self.guards:
            return None, ""
        path = self._path(step)
        cause = next(filter(None, (guard(path, self._away) for guard in self.guards)), "")
        return self._separation(path, queries, self._away), cause

    def _path(self, step: _Step) -> MotionPath:
        """Returns the step and its stop as one motion."""
        stop = step.stop
        return MotionPath(
            time_s=np.concatenate([[0.0], self.period_s * (stop.ticks + 1)]),
            position=np.concatenate([self._position[None], stop.position]),
            velocity=np.concatenate([self._velocity[None], stop.velocity]),
            acceleration=np.concatenate([self._acceleration[None], stop.acceleration]),
        )

    def _separation(self, path: MotionPath, queries: int, away: Array | None) -> Separation | None:
        if self._clearance is None:
            return None
        c = self._clearance
        return check_separation(path, c.distances, c.reach, c.margin, c.smooth, most=queries, away=away)

    def _take(
        self, step: _Step, reasons: tuple[str, ...], separation: Separation | None = None, refused: bool = False
    ) -> Verdict:
        usage = step.usage
        usage[0] *= usage[1] > 0.0  # a joint that rests on its limit is not about to break it
        tightest = int(usage.argmax())
        constraint, joint = divmod(tightest, len(self._names))
        margin, binding = 1.0 - float(usage.flat[tightest]), f"{self._names[joint]} {CONSTRAINTS[constraint]}"
        if separation is not None and self._clearance is not None and separation.room < ROOMY_M * margin:
            margin, binding = separation.room / ROOMY_M, self._clearance.names[separation.constraint]
        self._history = step.history
        self._position, self._velocity = _frozen(step.position), _frozen(step.velocity)
        self._acceleration = _frozen(step.acceleration)
        self._tighten()
        return Verdict(
            position=self._position,
            velocity=self._velocity,
            acceleration=self._acceleration,
            jerk=_frozen(step.jerk),
            stop=step.stop,
            reasons=reasons,
            margin=margin,
            binding=binding,
            refused=refused,
        )

    def _tighten(self) -> None:
        """Sets the limits in force: the profile's, or the position itself where that is outside of them."""
        here = self._history.position[-1]
        self._upper, self._lower = np.maximum(self._limit_upper, here), np.minimum(self._limit_lower, here)
        self._centre = 0.5 * (self._upper + self._lower)
        self._whole[0] = 0.5 * (self._upper - self._lower)


def _vector(value: object, count: int) -> Array | None:
    """Returns (count,) float64, or `None` for anything that is not so many finite numbers."""
    if not isinstance(value, np.ndarray) or value.shape != (count,) or value.dtype.kind not in "fiu":
        return None
    vector = value.astype(np.float64)
    return vector if np.isfinite(vector).all() else None


def _frozen(array: Array) -> Array:
    array.setflags(write=False)
    return array
