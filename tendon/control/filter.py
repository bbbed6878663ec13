"""The safety filter: the last word on every step of the reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tendon.control import joint_limits
from tendon.control.clearance.avoidance import Avoidance
from tendon.control.clearance.model import Clearance
from tendon.control.clearance.motion import MAX_QUERIES, MotionPath, Separation, check_separation
from tendon.control.retreat import with_retreat
from tendon.control.stop import History, Stop, averaged_periods, stop_from
from tendon.core.types import Array
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import RobotProfile

LIMITS = ("lower", "upper", "velocity", "acceleration", "jerk")
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
    """A candidate: the history after it, its stop, which begins at the reference there, and how it uses the limits."""

    history: History
    jerk: Array
    stop: Stop
    inside: bool
    tightest: str
    used: float


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
        self._limits = np.stack([profile.vector(name) for name in LIMITS])
        self._acceleration_limit = profile.vector("acceleration")
        self._periods = averaged_periods(self._acceleration_limit, profile.vector("jerk"), self.period_s)
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
        position = np.array(position, dtype=np.float64)
        self._history = History.at_rest(position, self._periods)
        self._position, self._velocity = _frozen(position), _frozen(np.zeros(len(self._names)))
        self._acceleration, self._away = self._velocity, None

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
        return self._judge(velocity, reasons + self._explain(velocity, wanted))

    def retreat(self, stop: Stop, goal: Array) -> Stop | None:
        """Returns a stop of the reference that then comes to (n,) `goal`, or to the limits before it, and rests there.

        Guards are not asked: it goes to where the robot was touched, and a person whom they keep it away from may be
        who touches it.

        Returns:
            `None` when something that the model knows is in the way.
        """
        inside = np.clip(goal, *joint_limits.range_in_force(self._limits, self._history.position[-1]))
        longer = with_retreat(stop, inside, tuple(self._limits[2:]), self.period_s)
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
        here, before = self._history.position[-1], self._history.velocity[-1]
        velocity, wanted, low, high = joint_limits.approach(
            goal, goal_velocity, here, before, self._limits, self.speed, self.period_s
        )
        reasons: tuple[str, ...] = ()
        lower, upper = self._limits[:2]
        if (outside := (goal < lower) | (goal > upper)).any():
            reasons = tuple(f"{self._names[i]} target beyond its position limit" for i in outside.nonzero()[0])
        if self._kinematics is not None:
            velocity, slowed = self._slowed(self._kinematics, velocity, low, high)
            reasons += slowed
        if self._avoidance is not None:
            braked, rest, lever_s = joint_limits.braking(here, before, self._acceleration_limit, self.period_s)
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

    def _explain(self, velocity: Array, wanted: Array) -> tuple[str, ...]:
        before = self._history.velocity[-1]
        found = joint_limits.reached(velocity, wanted, before, self._limits, self.speed, self.period_s)
        return tuple(f"{self._names[joint]} {constraint} limit" for joint, constraint in found)

    def _braked(self) -> Array:
        position, velocity = self._history.position[-1], self._history.velocity[-1]
        return joint_limits.braking(position, velocity, self._acceleration_limit, self.period_s)[0]

    def _step_to(self, velocity: Array) -> _Step:
        """Returns the step whose averaged motion has (n,) `velocity` at its end."""
        start, before = self._history.position[-1], self._history.velocity[-1]
        history = self._history.extended(velocity, self.period_s)
        stop = stop_from(history, self._acceleration_limit, self.period_s)
        jerk = (stop.acceleration[0] - self._acceleration) / self.period_s
        inside, joint, constraint, used = joint_limits.use_of_limits(
            start, before, history.position[-1], velocity, jerk, self._limits, self.period_s
        )
        return _Step(
            history=history,
            jerk=jerk,
            stop=stop,
            inside=inside,
            tightest=f"{self._names[joint]} {constraint}",
            used=used,
        )

    def _judge(self, velocity: Array, reasons: tuple[str, ...]) -> Verdict:
        """Verifies a step and takes it; or half of it; or else the first step of the stored stop, verified before."""
        queries = MAX_QUERIES if self._away is None else MAX_QUERIES // 2
        braked, cause = self._braked(), "it is not finite"
        for share in SHARES if np.isfinite(velocity).all() else ():
            try:
                step = self._step_to(braked + share * (velocity - braked))
            except ValueError:
                cause = "it has no stop"
                continue
            if not step.inside:
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
        margin, binding = 1.0 - step.used, step.tightest
        if separation is not None and self._clearance is not None and separation.room < ROOMY_M * margin:
            margin, binding = separation.room / ROOMY_M, self._clearance.names[separation.constraint]
        self._history, stop = step.history, step.stop
        position, velocity, acceleration = (each[0] for each in (stop.position, stop.velocity, stop.acceleration))
        self._position, self._velocity, self._acceleration = map(_frozen, (position, velocity, acceleration))
        return Verdict(
            position=self._position,
            velocity=self._velocity,
            acceleration=self._acceleration,
            jerk=_frozen(step.jerk),
            stop=stop,
            reasons=reasons,
            margin=margin,
            binding=binding,
            refused=refused,
        )


def _vector(value: object, count: int) -> Array | None:
    """Returns (count,) float64, or `None` for anything that is not so many finite numbers."""
    if not isinstance(value, np.ndarray) or value.shape != (count,) or value.dtype.kind not in "fiu":
        return None
    vector = value.astype(np.float64)
    return vector if np.isfinite(vector).all() else None


def _frozen(array: Array) -> Array:
    """Returns a copy that cannot be written."""
    copy = array.copy()
    copy.setflags(write=False)
    return copy
