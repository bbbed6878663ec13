"""The laws every command on the wire obeys, checked by mathematics of their own: nothing of the filter is used here.

A controller plays the cubic Hermite spline through a command's points, so velocity is a parabola, acceleration a line
and jerk constant between two points, and the largest values of each can be computed exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tendon.core.phrases import beginning, said_briefly
from tendon.core.types import Array, SentTrajectory
from tendon.robots.profile import ControllerSpec, RobotProfile
from tendon.robots.safety_settings import nanoseconds
from tendon.safety.cubics import Cubics, sample

AGREED_PERIODS = 2
"""A new command may part from the one before only later than this after its stamp: the robot plays the old one until
the new one has arrived, and must not notice when that was."""
COMMITTED_PERIODS = 4
"""So long after its stamp a command is the motion itself, and later its stop: what a command that was lost does before
that is known."""
LONGEST_PERIODS = 15
"""What a command may last beyond one and a half times the robot's braking time and its way back, or beyond the time to
settle, in control periods."""
BELIEVED_TOLERANCES = 2.0
"""Tracking tolerances from which a robot is led back to where it is measured after contact; more is not believed."""


@dataclass(frozen=True, kw_only=True)
class Breach:
    """One law that a command breaks.

    Attributes:
        law: its name: form, end, position, velocity, acceleration, jerk, smooth, start, agree, stamp, late, order,
            settle, duration.
        reason: joint, value and bound, for a person; the beginning of a text that is too long to be read.
    """

    law: str
    reason: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", beginning(self.reason))


@dataclass(frozen=True, kw_only=True, eq=False)
class Delivery:
    """How a command came, and where the robot was then.

    Attributes:
        arrived_ns: the earliest time at which it may have arrived, on the clock of its stamp; `None` does not say.
        lost: whether commands that were sent after the one before it have not been heard.
        measured: (n,) the newest measured positions, in the controller's order; `None` before the first.
        measured_ns: their stamp.
    """

    arrived_ns: int | None = None
    lost: bool = False
    measured: Array | None = None
    measured_ns: int = 0


class CommandLaws:
    """Checks each command of one joint_trajectory controller against the profile, the one before it, and the robot.

    Not thread-safe. A command of one point asks the robot to settle there from rest. A position outside the limits
    is forgiven as far as the motion came from there, and `outside` allows for a robot that was found there.

    Args:
        profile: the limits, what is forgiven of them, and the control rate.
        controller: whose commands.
        outside: (n,) in the profile's order, how far beyond its limits a joint may be found at the start, rad or m.
    """

    def __init__(self, profile: RobotProfile, controller: ControllerSpec, outside: Array) -> None:
        settings = profile.safety
        self._names = controller.joints
        columns = [profile.joint_names.index(name) for name in controller.joints]
        lower, upper = profile.vector("lower")[columns], profile.vector("upper")[columns]
        self._tolerance = settings.law_tolerance
        slack = self._tolerance * 1e-3 * (upper - lower)
        self._lower, self._upper = lower - slack, upper + slack
        self._found_lower, self._found_upper = lower - outside[columns], upper + outside[columns]
        self._velocity = profile.vector("velocity")[columns]
        jump = self._tolerance * self._velocity
        self._jump = jump * (round(1e9 / profile.control_hz) * 1e-9), jump
        self._acceleration = profile.vector("acceleration")[columns]
        self._jerk = profile.vector("jerk")[columns]
        self._period_ns = round(1e9 / profile.control_hz)
        self._longest_ns, self._settled_ns = longest_stop_ns(profile), longest_settling_ns(profile)
        self._follows, self._start = profile.tracking_tolerance[columns], start_allowance(profile)[columns]
        self._silence_ns, self._oldest_ns, self._ahead_ns = map(
            nanoseconds, (settings.joint_state_silence_s, settings.command_age_s, settings.state_ahead_s)
        )
        self._ceased_ns = nanoseconds(settings.command_silence_s)
        self._last: SentTrajectory | None = None
        self._unmet = False

    @property
    def last(self) -> SentTrajectory | None:
        """The newest command that the robot may play, its columns in the controller's order."""
        return self._last

    def check(self, command: SentTrajectory, delivery: Delivery) -> Breach | None:
        """Returns the first law a command breaks, and remembers it as the one the robot plays.

        Args:
            command: in any order of its joints.
            delivery: how it came, and where the robot was then.
        """
        breach, ordered = self._form(command)
        if ordered is None:
            return breach
        if self._last is not None and _equal(ordered, self._last):
            return None  # sent twice, as one may be lost
        if outdated := self._arrives(ordered, delivery):
            return outdated  # with such a stamp it would make each command after it look wrong
        breach = breach or self._order(ordered)
        if breach is None:
            judge = self._settles if len(ordered.times_ns) == 1 else self._moves
            breach = judge(ordered, delivery)
        self._last = ordered
        return breach

    def _form(self, command: SentTrajectory) -> tuple[Breach | None, SentTrajectory | None]:
        names, position, velocity = tuple(command.joint_names), command.position, command.velocity
        if names != self._names and sorted(names) != sorted(self._names):
            return self._breach("form", f"it is for {said_briefly(names)}, not {said_briefly(self._names)}"), None
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
        longest_ns = self._longest_ns if len(times) > 1 else self._settled_ns
        if times[-1] > longest_ns:
            lasts, most = times[-1] * 1e-6, longest_ns * 1e-6
            return self._breach("duration", f"it comes to rest after {lasts:.0f} ms, allowed {most:.0f} ms"), ordered
        if times[0] > 0 and len(times) > 1:  # until then a robot side plays what it likes, from where it is
            return self._breach("form", f"its first point is due {times[0] * 1e-6:.0f} ms after its stamp"), ordered
        return None, ordered

    def _order(self, command: SentTrajectory) -> Breach | None:
        if self._last is None or command.stamp_ns > self._last.stamp_ns:
            return None
        back_ms = (self._last.stamp_ns - command.stamp_ns) * 1e-6
        return self._breach("order", f"its stamp is {back_ms:.1f} ms before or at that of the command before it")

    def _arrives(self, command: SentTrajectory, delivery: Delivery) -> Breach | None:
        """Checks that the stamp is about when it arrived."""
        if delivery.arrived_ns is None:
            return None
        age_ns = delivery.arrived_ns - command.stamp_ns
        if -self._ahead_ns <= age_ns <= self._oldest_ns:
            return None
        where = f"{abs(age_ns) * 1e-6:.0f} ms {'before' if age_ns > 0 else 'after'} its arrival"
        most_ms = (self._oldest_ns if age_ns > 0 else self._ahead_ns) * 1e-6
        return self._breach("stamp", f"its stamp is {where}, allowed {most_ms:.0f} ms")

    def _settles(self, command: SentTrajectory, delivery: Delivery) -> Breach | None:
        goal, last = command.position[0], self._last
        end_ns = command.stamp_ns + command.times_ns[0]
        if last is not None and _end_ns(last) == end_ns and (last.position[-1] == goal).all():
            return self._starts(goal, command, delivery) if self._unmet else None  # the rest of the same motion
        outside = np.flatnonzero(~((goal >= self._found_lower) & (goal <= self._found_upper)))
        if len(outside):
            return self._position_breach(int(outside[0]), goal, (self._found_lower, self._found_upper))
        if last is not None and (moves := sample(last, command.stamp_ns)[1]).any():
            i = int(np.abs(moves).argmax())
            return self._breach("settle", f"{self._names[i]} still moves at {moves[i]:.4g} by the command before it")
        if last is not None and (goal == last.position[-1]).all():
            return self._meets(command, delivery)  # it stays where the commands before have left it
        if (breach := self._starts(goal, command, delivery)) or self._unmet:
            return breach
        left = goal if last is None else last.position[-1]
        # What may hold something goes from its setpoint; before the first command nobody knows where that was left.
        start = left if delivery.measured is None else np.where(np.isfinite(self._follows), delivery.measured, left)
        # When it was late, less time is left.
        seconds = max(1, end_ns - max(command.stamp_ns, delivery.arrived_ns or 0)) * 1e-9
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

    def _starts(self, start: Array, command: SentTrajectory, delivery: Delivery) -> Breach | None:
        """Checks that motion starts where the robot is, as soon as that is known.

        A joint without tracking tolerance may hold something, away from its setpoint: it starts where the commands
        before have left it, or where it is measured. Nothing is known of it before the first command.
        """
        self._unmet = True
        if delivery.measured is None:
            return self._breach("start", "nothing is known of where the robot is")
        if abs(command.stamp_ns - delivery.measured_ns) > self._silence_ns:
            return None  # the machine stood still: the next command tells
        self._unmet = False
        away = np.abs(start - delivery.measured)
        if self._last is not None:
            left = np.abs(start - self._last.position[-1])
            away = np.where(np.isfinite(self._follows), away, np.minimum(away, left))
        else:
            away = np.where(np.isfinite(self._follows), away, 0.0)
        over = np.flatnonzero(~(away <= self._start))
        if not len(over):
            return None
        i = int(over[0])
        words = f"{self._names[i]} starts {away[i]:.4g} from where it is, allowed {self._start[i]:.2g}"
        return self._breach("start", words)

    def _moves(self, command: SentTrajectory, delivery: Delivery) -> Breach | None:
        last = self._last
        if last is None or (
            delivery.lost
            and command.stamp_ns > _end_ns(last) + self._ceased_ns
            and self._jumps(last, command.stamp_ns, command.position[0], command.velocity[0], False)
        ):
            return self._inside(command) or self._begins(command, delivery)
        return self._agrees(command, last, delivery) or self._inside(command)

    def _begins(self, command: SentTrajectory, delivery: Delivery) -> Breach | None:
        """Checks a first command, or one after a silence: the robot stands, so it begins there and at rest."""
        speed = np.abs(command.velocity[0])
        if not (speed <= self._jump[1]).all():
            i = int(speed.argmax())
            return self._breach("start", f"{self._names[i]} starts at speed {speed[i]:.4g}, it must be at rest")
        return self._starts(command.position[0], command, delivery)

    def _agrees(self, command: SentTrajectory, last: SentTrajectory, delivery: Delivery) -> Breach | None:
        """Checks the part that the robot may still play from the command before, until this one arrived.

        Two cubics with the same positions and velocities at both ends are one, so they are compared where a piece of
        either of them ends.
        """
        until_ns = AGREED_PERIODS * self._period_ns
        shift_ns = command.stamp_ns - last.stamp_ns
        ends_ns = {0, until_ns, *command.times_ns, *(time_ns - shift_ns for time_ns in last.times_ns)}
        for time_ns in sorted(end_ns for end_ns in ends_ns if 0 <= end_ns <= until_ns):
            at_ns = command.stamp_ns + time_ns
            jumps = self._jumps(last, at_ns, *sample(command, at_ns), delivery.lost)
            if jumps:
                return self._breach("agree", f"{jumps} at {time_ns * 1e-6:.0f} ms from the command before it")
        late_ns = (delivery.arrived_ns or 0) - command.stamp_ns
        if late_ns > until_ns:
            jumps = self._jumps(last, command.stamp_ns + late_ns, *sample(command, command.stamp_ns + late_ns), False)
            if jumps and not delivery.lost:
                return self._breach("late", f"{jumps} where the robot plays, as it came {late_ns * 1e-6:.0f} ms late")
        rested = command.stamp_ns > _end_ns(last)
        return self._meets(command, delivery) if delivery.lost or rested or self._unmet else None

    def _jumps(self, last: SentTrajectory, at_ns: int, position: Array, velocity: Array, lost: bool) -> str:
        """Returns how a motion at a time differs from a command, or from all that lost commands may have led to."""
        before, speed = sample(last, at_ns)
        bounds = self._jump
        unknown_s = max(0, at_ns - last.stamp_ns - COMMITTED_PERIODS * self._period_ns) * 1e-9 if lost else 0.0
        if unknown_s:
            # From the stop that it has heard to the hardest the other way.
            turn = np.minimum(2.0 * unknown_s * self._acceleration, 2.0 * self._velocity)
            bounds = bounds[0] + 0.5 * unknown_s * turn, bounds[1] + turn
        for what, value, was, bound in (
            ("position", position, before, bounds[0]),
            ("velocity", velocity, speed, bounds[1]),
        ):
            gap = np.abs(value - was)
            if not (gap <= bound).all():
                i = int(np.flatnonzero(~(gap <= bound))[0])
                return f"{self._names[i]} {what} jumps by {gap[i]:.4g} (allowed {bound[i]:.2g})"
        return ""

    def _meets(self, command: SentTrajectory, delivery: Delivery) -> Breach | None:
        """Checks that the robot is where a command goes on that cannot be told from the one before it."""
        before_s = (command.stamp_ns - delivery.measured_ns) * 1e-9
        if delivery.measured is None or abs(before_s) > self._silence_ns * 1e-9:
            return None  # what is measured later is compared by the tracking watch
        self._unmet = False
        away = np.abs(command.position[0] - before_s * command.velocity[0] - delivery.measured)
        over = np.flatnonzero(~(away <= self._follows))
        if not len(over):
            return None
        i = int(over[0])
        words = f"{self._names[i]} goes on {away[i]:.4g} from where it is, allowed {self._follows[i]:.2g}"
        return self._breach("start", words)

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


def _end_ns(command: SentTrajectory) -> int:
    """Returns when a command comes to rest."""
    return command.stamp_ns + command.times_ns[-1]


def _equal(one: SentTrajectory, other: SentTrajectory) -> bool:
    return (
        one.stamp_ns == other.stamp_ns
        and tuple(one.times_ns) == tuple(other.times_ns)
        and np.array_equal(one.position, other.position)
        and np.array_equal(one.velocity, other.velocity)
    )


def start_allowance(profile: RobotProfile) -> Array:
    """Returns (n,) how far from where a joint is measured a motion may start, rad or m.

    It starts from the point where the joint is held while gravity pulls it off by no more than `held_share`; and a
    joint at rest may creep between two looks at it.
    """
    settings = profile.safety
    held = settings.held_share * np.nan_to_num(profile.tracking_tolerance, posinf=0.0)
    return held + settings.rest_share * settings.joint_state_silence_s * profile.vector("velocity")


def longest_stop_ns(profile: RobotProfile) -> int:
    """Returns how long a command may last: to brake, and to come back to where something held the robot.

    That way is at most what a measurement is believed of, and the way of braking. Its jerk is constant in four phases
    of `T`, so it covers `2 j T^3`, accelerates by `j T` and comes to `j T^2`.
    """
    velocity, acceleration, jerk = _limits(profile)
    braking_s = velocity / acceleration + acceleration / jerk
    tolerance = np.where(np.isfinite(profile.tracking_tolerance), profile.tracking_tolerance, 0.0)
    way = BELIEVED_TOLERANCES * tolerance + velocity * braking_s
    back_s = 4.0 * np.max([way / (2.0 * velocity), np.sqrt(way / (2.0 * acceleration)), np.cbrt(way / (2.0 * jerk))])
    longest_s = 1.5 * float(braking_s.max()) + float(back_s)
    return round(1e9 * longest_s) + LONGEST_PERIODS * round(1e9 / profile.control_hz)


def longest_settling_ns(profile: RobotProfile) -> int:
    """Returns how long a command of one point may last: to come from one end of each joint's range to the other.

    On that cubic the speed peaks at 3/2 of the mean, the acceleration is `6 d / T^2` at both ends, the jerk
    `12 d / T^3`.
    """
    velocity, acceleration, jerk = _limits(profile)
    way = profile.vector("upper") - profile.vector("lower")
    way_s = np.max([1.5 * way / velocity, np.sqrt(6.0 * way / acceleration), np.cbrt(12.0 * way / jerk)])
    longest_s = profile.safety.arm_settle_s + float(way_s)
    return round(1e9 * longest_s) + LONGEST_PERIODS * round(1e9 / profile.control_hz)


def _limits(profile: RobotProfile) -> tuple[Array, Array, Array]:
    """Returns (n,) limits of velocity, acceleration and jerk."""
    return profile.vector("velocity"), profile.vector("acceleration"), profile.vector("jerk")
