"""The laws every command on the wire obeys, checked by mathematics of their own: nothing of the filter is used here.

A controller plays the cubic Hermite spline through a command's points, so velocity is a parabola, acceleration a line
and jerk constant between two points, and the largest values of each can be computed exactly.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tendon.core.types import Array, SentTrajectory
from tendon.robots.profile import ControllerSpec, RobotProfile

AGREED_PERIODS = 2
"""A new command may part from the one before only later than this after its stamp: the robot plays the old one until
the new one has arrived, and must not notice when that was."""
LONGEST_PERIODS = 15
"""What a command may last beyond one and a half times the robot's braking time, in control periods."""


@dataclass(frozen=True, kw_only=True)
class Breach:
    """One law that a command breaks.

    Attributes:
        law: its name: form, end, position, velocity, acceleration, jerk, smooth, agree, order, settle, duration.
        reason: joint, value and bound, for a person.
    """

    law: str
    reason: str


class CommandLaws:
    """Checks the commands of one joint_trajectory controller, each against the profile and the one before it.

    Not thread-safe. A command of one point asks the robot to settle there from rest. A position outside the limits
    is forgiven as far as the motion came from there, and `outside` allows for a robot that was found there.

    Args:
        profile: the limits, what is forgiven of them, and the control rate.
        controller: whose commands.
        outside: (n,) in the profile's order, how far beyond its limits a joint may be found at the start, rad or m.
    """

    def __init__(self, profile: RobotProfile, controller: ControllerSpec, outside: Array) -> None:
        self._names = controller.joints
        columns = [profile.joint_names.index(name) for name in controller.joints]
        lower, upper = profile.vector("lower")[columns], profile.vector("upper")[columns]
        self._tolerance = profile.safety.law_tolerance
        slack = self._tolerance * 1e-3 * (upper - lower)
        self._lower, self._upper = lower - slack, upper + slack
        self._found_lower, self._found_upper = lower - outside[columns], upper + outside[columns]
        self._velocity = profile.vector("velocity")[columns]
        jump = self._tolerance * self._velocity
        self._jump = jump * (round(1e9 / profile.control_hz) * 1e-9), jump
        self._acceleration = profile.vector("acceleration")[columns]
        self._jerk = profile.vector("jerk")[columns]
        self._period_ns = round(1e9 / profile.control_hz)
        braking = profile.vector("velocity") / profile.vector("acceleration")
        braking_s = float((braking + profile.vector("acceleration") / profile.vector("jerk")).max())
        self._longest_ns = round(1.5e9 * braking_s) + LONGEST_PERIODS * self._period_ns
        self._last: SentTrajectory | None = None

    @property
    def last(self) -> SentTrajectory | None:
        """The newest command of the right form, its columns in the controller's order."""
        return self._last

    def forget(self) -> None:
        """Takes the next command as the first: the robot has come to rest on its own."""
        self._last = None

    def check(self, command: SentTrajectory, measured: Array | None = None) -> Breach | None:
        """Returns the first law a command breaks, and remembers it as the one the robot plays.

        Args:
            command: in any order of its joints.
            measured: (n,) where the controller's joints are measured, in the controller's order; a settling
                command starts there.
        """
        breach, ordered = self._form(command)
        if ordered is None:
            return breach
        breach = breach or self._order(ordered)
        breach = breach or (self._settles(ordered, measured) if len(ordered.times_ns) == 1 else self._moves(ordered))
        self._last = ordered
        return breach

    def _form(self, command: SentTrajectory) -> tuple[Breach | None, SentTrajectory | None]:
        names, position, velocity = tuple(command.joint_names), command.position, command.velocity
        if names != self._names and sorted(names) != sorted(self._names):
            return self._breach("form", f"it is for {list(command.joint_names)}, not {list(self._names)}"), None
        shape = (len(command.times_ns), len(self._names))
        if not shape[0] or position.shape != shape or velocity.shape != shape:
            sizes = f"{shape[0]} times, positions {position.shape}, velocities {velocity.shape}"
            return self._breach("form", f"it has {sizes}: one position and velocity per joint and time"), None
        if names != self._names:
            order = [names.index(name) for name in self._names]
            position, velocity = position[:, order], velocity[:, order]
        for what, values in (("position", position), ("velocity", velocity)):
            if not np.isfinite(values).all():
                point, joint = np.argwhere(~np.isfinite(values))[0]
                return self._breach("form", f"{self._names[joint]} {what} is {values[point, joint]} at {point}"), None
        ordered = SentTrajectory(
            stamp_ns=command.stamp_ns,
            joint_names=self._names,
            times_ns=command.times_ns,
            position=position,
            velocity=velocity,
        )
        times = command.times_ns
        if times[0] < 0 or any(later <= earlier for earlier, later in pairwise(times)):
            return self._breach("form", f"times {[t * 1e-6 for t in times]} ms do not increase from 0"), None
        if velocity[-1].any():
            joint = int(np.abs(velocity[-1]).argmax())
            return self._breach(
                "end", f"{self._names[joint]} ends with velocity {velocity[-1, joint]:.4g}, not at rest"
            ), ordered
        if times[-1] > self._longest_ns and len(times) > 1:
            lasts, most = times[-1] * 1e-6, self._longest_ns * 1e-6
            return self._breach("duration", f"it comes to rest after {lasts:.0f} ms, allowed {most:.0f} ms"), ordered
        return None, ordered

    def _order(self, command: SentTrajectory) -> Breach | None:
        if self._last is None or command.stamp_ns > self._last.stamp_ns:
            return None
        back_ms = (self._last.stamp_ns - command.stamp_ns) * 1e-6
        return self._breach("order", f"its stamp is {back_ms:.1f} ms before or at that of the command before it")

    def _settles(self, command: SentTrajectory, measured: Array | None) -> Breach | None:
        goal, last = command.position[0], self._last
        end_ns = command.stamp_ns + command.times_ns[0]
        if last is not None and last.stamp_ns + last.times_ns[-1] == end_ns and (last.position[-1] == goal).all():
            return None  # the rest of the same motion
        outside = np.flatnonzero(~((goal >= self._found_lower) & (goal <= self._found_upper)))
        if len(outside):
            return self._position_breach(int(outside[0]), goal, (self._found_lower, self._found_upper))
        start = measured if measured is not None else (None if last is None else last.position[-1])
        if start is None:
            return None
        seconds = command.times_ns[0] * 1e-9
        # The cubic from rest to rest: speed peaks at 3/2 of the mean, acceleration at both ends.
        for law, factor, limit in (
            ("velocity", 1.5 / seconds, self._velocity),
            ("acceleration", 6.0 / seconds**2, self._acceleration),
        ):
            value = factor * np.abs(goal - start)
            over = np.flatnonzero(~(value <= (1.0 + self._tolerance) * limit))
            if len(over):
                i = int(over[0])
                words = f"{self._names[i]} would settle with {law} {value[i]:.4g}, limit {limit[i]:.4g}"
                return self._breach("settle", words)
        return None

    def _moves(self, command: SentTrajectory) -> Breach | None:
        return self._agrees(command) or self._inside(command)

    def _agrees(self, command: SentTrajectory) -> Breach | None:
        """Checks the part that the robot may still play from the command before."""
        last = self._last
        if last is None:
            return None
        gap_s = (command.stamp_ns - last.stamp_ns) * 1e-9
        bounds = self._jump
        if command.stamp_ns - last.stamp_ns > self._period_ns * 3 // 2:
            # Commands between the two may have been lost on their way to this process, so this much is unknown.
            bounds = (gap_s * self._velocity, np.minimum(gap_s * self._acceleration, 2.0 * self._velocity))
        for k, time_ns in enumerate(command.times_ns):
            if time_ns > AGREED_PERIODS * self._period_ns:
                return None
            position, velocity = sample(last, command.stamp_ns + time_ns)
            for what, value, before, bound in (
                ("position", command.position[k], position, bounds[0]),
                ("velocity", command.velocity[k], velocity, bounds[1]),
            ):
                gap = np.abs(value - before)
                if not (gap <= bound).all():
                    i = int(np.flatnonzero(~(gap <= bound))[0])
                    jump = f"{self._names[i]} {what} jumps by {gap[i]:.4g} at {time_ns * 1e-6:.0f} ms"
                    return self._breach("agree", f"{jump} from the command before it, allowed {bound[i]:.2g}")
        return None

    def _inside(self, command: SentTrajectory) -> Breach | None:
        """Checks the extrema between the points against the limits."""
        p, v = command.position, command.velocity
        if not v.any() and (p == p[0]).all():
            outside = ~((p[0] >= self._found_lower) & (p[0] <= self._found_upper))
            bounds = (self._found_lower, self._found_upper)
            return self._position_breach(int(outside.argmax()), p[0], bounds) if outside.any() else None
        h: Array = np.diff(np.array(command.times_ns, dtype=np.float64))[:, None] * 1e-9
        cubics = Cubics.through(p, v, h)
        # Where it is at its first point it came to by the commands before, outside of the limits too.
        lower = np.minimum(self._lower, np.maximum(p[0], self._found_lower))
        upper = np.maximum(self._upper, np.minimum(p[0], self._found_upper))
        starts, ends = cubics.accelerations()
        step = np.abs(starts[1:] - ends[:-1])
        # Control points of Bezier curves enclose them, so where these are inside nothing has to be computed exactly.
        hull, rates = cubics.hulls()
        usage = np.concatenate(
            [np.concatenate([starts, ends, step / self._tolerance]) / self._acceleration, rates / self._velocity]
        )
        usage = np.concatenate([usage, cubics.jerk / self._jerk])
        if np.abs(usage).max() <= 1.0 + self._tolerance and ((hull >= lower) & (hull <= upper)).all():
            return None
        for extreme in cubics.positions():
            if not ((extreme >= lower) & (extreme <= upper)).all():
                k, i = (int(index) for index in np.argwhere(~((extreme >= lower) & (extreme <= upper)))[0])
                return self._position_breach(i, extreme[k], (lower, upper))
        for law, value, limit in (
            ("velocity", cubics.speeds(), self._velocity),
            ("acceleration", np.maximum(np.abs(starts), np.abs(ends)), self._acceleration),
            ("jerk", np.abs(cubics.jerk), self._jerk),
        ):
            if not (value <= (1.0 + self._tolerance) * limit).all():
                k, i = (int(index) for index in np.argwhere(~(value <= (1.0 + self._tolerance) * limit))[0])
                return self._breach(law, f"{self._names[i]} {law} {value[k, i]:.5g}, limit {limit[i]:.5g}")
        if not (step <= self._tolerance * self._acceleration).all():
            k, i = (int(index) for index in np.argwhere(~(step <= self._tolerance * self._acceleration))[0])
            words = f"{self._names[i]} acceleration jumps by {step[k, i]:.4g} at point {k + 1}"
            return self._breach("smooth", f"{words}, allowed {self._tolerance * self._acceleration[i]:.2g}")
        return None

    def _position_breach(self, i: int, value: Array, bounds: tuple[Array, Array]) -> Breach:
        allowed = f"allowed {bounds[0][i]:.5g} to {bounds[1][i]:.5g}"
        return self._breach("position", f"{self._names[i]} position {value[i]:.5g}, {allowed}")

    @staticmethod
    def _breach(law: str, reason: str) -> Breach:
        return Breach(law=law, reason=f"command breaks the law of {law}: {reason}")


@dataclass(frozen=True, kw_only=True, eq=False)
class Cubics:
    """k cubics of n joints, `p + v s + c s^2 + d s^3` for s from 0 to h [s]; each (k, n), `h` (k, 1)."""

    p: Array
    v: Array
    c: Array
    d: Array
    h: Array

    @staticmethod
    def through(position: Array, velocity: Array, h: Array) -> Cubics:
        """Returns the cubic Hermite splines through (k + 1, n) points that are (k, 1) `h` seconds apart."""
        slope = np.diff(position, axis=0) / h
        v0, v1 = velocity[:-1], velocity[1:]
        return Cubics(p=position[:-1], v=v0, c=(3.0 * slope - 2.0 * v0 - v1) / h, d=(v0 + v1 - 2.0 * slope) / h**2, h=h)

    @property
    def jerk(self) -> Array:
        """(k, n) rad/s^3 or m/s^3."""
        return 6.0 * self.d

    def accelerations(self) -> tuple[Array, Array]:
        """Returns (k, n) at the start and at the end of each; between them it is a line."""
        return 2.0 * self.c, 2.0 * self.c + 6.0 * self.d * self.h

    def hulls(self) -> tuple[Array, Array]:
        """Returns Bezier control points that enclose the positions (4k, n) and the velocities (3k, n)."""
        third = self.h / 3.0
        change = self.h * self.c
        second = self.p + third * self.v
        last = self.p + self.h * (self.v + change + self.h * self.h * self.d)
        positions = np.concatenate([self.p, second, second + third * (self.v + change), last])
        return positions, np.concatenate([self.v, self.v + change, self._rate(self.h)])

    def speeds(self) -> Array:
        """Returns the largest |velocity| of each (k, n): at an end, or where the acceleration is zero."""
        with np.errstate(divide="ignore", invalid="ignore"):
            turn = np.where(self.d != 0.0, -self.c / (3.0 * self.d), 0.0)
        turn = np.minimum(np.maximum(turn, 0.0), self.h)
        rates = [self.v, self._rate(turn), self._rate(self.h)]
        return np.asarray(np.abs(rates).max(axis=0))

    def positions(self) -> tuple[Array, Array]:
        """Returns the smallest and the largest position of each (k, n): at an end, or where the velocity is zero."""
        a, b, c = 3.0 * self.d, 2.0 * self.c, self.v
        root = np.sqrt(np.maximum(b * b - 4.0 * a * c, 0.0))
        q = -0.5 * (b + np.copysign(root, b))  # the form of the quadratic's roots that loses no digits
        with np.errstate(divide="ignore", invalid="ignore"):
            roots = [np.where(a != 0.0, q / a, 0.0), np.where(q != 0.0, c / q, 0.0)]
        times = [np.zeros_like(a), *(np.minimum(np.maximum(s, 0.0), self.h) for s in roots), self.h]
        values = [self.p + s * (self.v + s * (self.c + s * self.d)) for s in times]
        return np.minimum.reduce(values), np.maximum.reduce(values)

    def _rate(self, s: Array) -> Array:
        return np.asarray(self.v + s * (2.0 * self.c + 3.0 * s * self.d))


def sample(command: SentTrajectory, at_ns: int) -> tuple[Array, Array]:
    """Returns (n,) position and (n,) velocity that a command asks for at a time; the ends hold."""
    offset_ns = at_ns - command.stamp_ns
    after = bisect_right(command.times_ns, offset_ns)
    if after == len(command.times_ns):
        return command.position[-1], np.zeros_like(command.position[-1])
    if after == 0:
        return command.position[0], command.velocity[0]
    begin_ns = command.times_ns[after - 1]
    if begin_ns == offset_ns:
        return command.position[after - 1], command.velocity[after - 1]
    h = np.array([[(command.times_ns[after] - begin_ns) * 1e-9]])
    cubic = Cubics.through(command.position[after - 1 : after + 1], command.velocity[after - 1 : after + 1], h)
    s = (offset_ns - begin_ns) * 1e-9
    position: Array = cubic.p + s * (cubic.v + s * (cubic.c + s * cubic.d))
    velocity: Array = cubic.v + s * (2.0 * cubic.c + 3.0 * s * cubic.d)
    return position[0], velocity[0]
