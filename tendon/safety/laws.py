"""The laws every command on the wire obeys, checked by mathematics of their own: nothing of the filter is used here.

A controller plays the cubic Hermite spline through a command's points, so velocity is a parabola, acceleration a line
and jerk constant between two points, and the largest values of each can be computed exactly.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tendon.core.phrases import beginning, said_briefly
from tendon.core.types import Array, SentTrajectory
from tendon.robots.profile import ControllerSpec, RobotProfile
from tendon.robots.safety_settings import nanoseconds
from tendon.safety import cubics

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
RECENT = 8
"""Commands one of which the robot plays where some did not come to it: more than are sent until that is noticed."""
FOREVER_NS = int(np.iinfo(np.int64).max)
"""How long a command is known to be the motion while none was lost."""


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


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class _Ordered(SentTrajectory):
    """A command in the controller's order of joints, and the same as `tendon.safety.cubics` takes it."""

    motion: tuple[npt.NDArray[np.int64], Array, Array]


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
        self._found = np.array([lower - outside[columns], upper + outside[columns]])
        self._limits = {law: profile.vector(law)[columns] for law in ("velocity", "acceleration", "jerk")}
        velocity, acceleration, _ = self._limits.values()
        self._period_ns = round(1e9 / profile.control_hz)
        self._jump = self._tolerance * velocity
        self._jumps = np.array([self._jump * (self._period_ns * 1e-9), self._jump, velocity, acceleration])
        most = [(1.0 + self._tolerance) * limit for limit in self._limits.values()]
        self._most = np.array([upper + slack, upper + slack, *most, self._tolerance * acceleration])
        self._least = np.zeros_like(self._most)
        self._least[:2] = lower - slack
        self._longest_ns, self._settled_ns = longest_stop_ns(profile), longest_settling_ns(profile)
        self._follows, self._start = profile.tracking_tolerance[columns], start_allowance(profile)[columns]
        self._silence_ns, self._oldest_ns, self._ahead_ns = map(
            nanoseconds, (settings.joint_state_silence_s, settings.command_age_s, settings.state_ahead_s)
        )
        self._ceased_ns = nanoseconds(settings.command_silence_s)
        self._unheard = velocity * (COMMITTED_PERIODS * self._period_ns * 1e-9)
        self._ends: deque[Array] = deque(maxlen=RECENT)
        self._last: _Ordered | None = None
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
        self._ends.append(ordered.position[-1])
        return breach

    def _form(self, command: SentTrajectory) -> tuple[Breach | None, _Ordered | None]:
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
        motion = cubics.motion_of(command.times_ns, position, velocity)
        ordered = _Ordered(
            stamp_ns=command.stamp_ns,
            joint_names=self._names,
            times_ns=command.times_ns,
            position=motion[1],
            velocity=motion[2],
            motion=motion,
        )
        times = command.times_ns
        flaw, point, joint = cubics.first_flaw(*motion)
        if flaw == cubics.TIMES:
            return self._breach("form", f"times {[t * 1e-6 for t in times]} ms do not increase from 0"), None
        if flaw in range(len(cubics.QUANTITIES)):
            value = (position, velocity)[flaw][point, joint]
            return self._breach("form", f"{self._names[joint]} {cubics.QUANTITIES[flaw]} is {value} at {point}"), None
        if flaw == cubics.END:
            words = f"{self._names[joint]} ends with velocity {velocity[-1, joint]:.4g}, not at rest"
            return self._breach("end", words), ordered
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
        lower, upper = self._found
        outside = np.flatnonzero(~((goal >= lower) & (goal <= upper)))
        if len(outside):
            i = int(outside[0])
            return self._position_breach(i, goal[i], lower[i], upper[i])
        if last is not None and (moves := cubics.sample(last, command.stamp_ns)[1]).any():
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
        for law, factor in (("velocity", 1.5 / seconds), ("acceleration", 6.0 / seconds**2)):
            limit = self._limits[law]
            value = factor * np.abs(goal - start)
            over = np.flatnonzero(~(value <= (1.0 + self._tolerance) * limit))
            if len(over):
                i = int(over[0])
                words = f"{self._names[i]} would settle with {law} {value[i]:.4g}, limit {limit[i]:.4g}"
                return self._breach("settle", words)
        return None

    def _starts(self, start: Array, command: SentTrajectory, delivery: Delivery) -> Breach | None:
        """Checks that motion starts where the robot is, as soon as that is known.

        A joint without tracking tolerance may hold something, away from its setpoint: it starts where one of the
        commands before has left it, or one that was not heard, or where it is measured. Nothing is known of it before
        the first command.
        """
        self._unmet = True
        if delivery.measured is None:
            return self._breach("start", "nothing is known of where the robot is")
        if abs(command.stamp_ns - delivery.measured_ns) > self._silence_ns:
            return None  # the machine stood still: the next command tells
        self._unmet = False
        away = np.abs(start - delivery.measured)
        if self._last is not None:
            left = np.abs(start - np.array(self._ends)).min(axis=0)
            if delivery.lost:
                left -= self._unheard
            away = np.where(np.isfinite(self._follows), away, np.minimum(away, left))
        else:
            away = np.where(np.isfinite(self._follows), away, 0.0)
        over = np.flatnonzero(~(away <= self._start))
        if not len(over):
            return None
        i = int(over[0])
        words = f"{self._names[i]} starts {away[i]:.4g} from where it is, allowed {self._start[i]:.2g}"
        return self._breach("start", words)

    def _moves(self, command: _Ordered, delivery: Delivery) -> Breach | None:
        last = self._last
        if last is None or (
            delivery.lost
            and command.stamp_ns > _end_ns(last) + self._ceased_ns
            and self._parts(command, last, (0, 0), lost=False)[0]
        ):
            return self._inside(command) or self._begins(command, delivery)
        return self._agrees(command, last, delivery) or self._inside(command)

    def _begins(self, command: SentTrajectory, delivery: Delivery) -> Breach | None:
        """Checks a first command, or one after a silence: the robot stands, so it begins there and at rest."""
        speed = np.abs(command.velocity[0])
        if not (speed <= self._jump).all():
            i = int(speed.argmax())
            return self._breach("start", f"{self._names[i]} starts at speed {speed[i]:.4g}, it must be at rest")
        return self._starts(command.position[0], command, delivery)

    def _agrees(self, command: _Ordered, last: _Ordered, delivery: Delivery) -> Breach | None:
        """Checks the part that the robot may still play from the command before, until this one arrived."""
        until_ns = AGREED_PERIODS * self._period_ns
        jumps, at_ns = self._parts(command, last, (0, until_ns), lost=delivery.lost)
        if jumps:
            return self._breach("agree", f"{jumps} at {at_ns * 1e-6:.0f} ms from the command before it")
        late_ns = (delivery.arrived_ns or 0) - command.stamp_ns
        if late_ns > until_ns and not delivery.lost:
            jumps, _ = self._parts(command, last, (late_ns, late_ns), lost=False)
            if jumps:
                return self._breach("late", f"{jumps} where the robot plays, as it came {late_ns * 1e-6:.0f} ms late")
        rested = command.stamp_ns > _end_ns(last)
        return self._meets(command, delivery) if delivery.lost or rested or self._unmet else None

    def _parts(self, command: _Ordered, last: _Ordered, span_ns: tuple[int, int], lost: bool) -> tuple[str, int]:
        """Returns how a command parts from the one before it, in a span after its stamp, and when; "" when nowhere."""
        known_ns = COMMITTED_PERIODS * self._period_ns if lost else FOREVER_NS
        shift_ns = command.stamp_ns - last.stamp_ns
        at_ns, quantity, i, gap, allowed = cubics.first_parting(
            *command.motion, *last.motion, shift_ns, *span_ns, known_ns, self._jumps
        )
        if at_ns == cubics.NOWHERE:
            return "", 0
        words = f"{cubics.QUANTITIES[quantity]} jumps by {gap:.4g} (allowed {allowed:.2g})"
        return f"{self._names[i]} {words}", at_ns

    def _meets(self, command: SentTrajectory, delivery: Delivery) -> Breach | None:
        """Checks that the robot is where a command goes on that cannot be told from the one before it."""
        before_s = (command.stamp_ns - delivery.measured_ns) * 1e-9
        if delivery.measured is None or abs(before_s) > self._silence_ns * 1e-9:
            return None  # what is measured later is compared by the tracking watch
        self._unmet = False
        expected = command.position[0] - before_s * command.velocity[0]
        i, away = cubics.first_apart(expected, delivery.measured, self._follows)
        if i == cubics.NOWHERE:
            return None
        words = f"{self._names[i]} goes on {away:.4g} from where it is, allowed {self._follows[i]:.2g}"
        return self._breach("start", words)

    def _inside(self, command: _Ordered) -> Breach | None:
        """Checks the extrema between the points against the limits."""
        broken, point, i, value, lower, upper = cubics.first_outside(
            *command.motion, self._least, self._most, self._found
        )
        if broken == cubics.NOWHERE:
            return None
        law = cubics.LIMITED[broken]
        if law == "position":
            return self._position_breach(i, value, lower, upper)
        if law == "smooth":
            words = f"{self._names[i]} acceleration jumps by {value:.4g} at point {point}, allowed {upper:.2g}"
        else:
            words = f"{self._names[i]} {law} {value:.5g}, limit {self._limits[law][i]:.5g}"
        return self._breach(law, words)

    def _position_breach(self, i: int, value: float, lower: float, upper: float) -> Breach:
        words = f"{self._names[i]} position {value:.5g}, allowed {lower:.5g} to {upper:.5g}"
        return self._breach("position", words)

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
