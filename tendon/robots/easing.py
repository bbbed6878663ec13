"""The end of a stop: a robot that something holds off its setpoint is not pressed on.

Its servos press with all the error that is left when the stop has ended: what the arm met while it braked is squeezed
until somebody arms it again. The setpoint that comes to the robot ends that.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tendon.core.types import Array, Observation, SentTrajectory
from tendon.robots.profile import RobotProfile
from tendon.robots.rest import Rest
from tendon.robots.safety_settings import nanoseconds

BELIEVED = 2.0
"""Tracking tolerances: what a joint is held back by grows from tick to tick, and is seen long before that."""
PHASES = np.array([1.0, -1.0, -1.0, 1.0])
"""Sign of the jerk: accelerate and ease, brake and ease; each lasts as long as the others."""


class Easing:
    """Says once a stop where to hold the robot instead. Not thread-safe.

    Args:
        profile: tolerances, how much of them gravity may take (`held_share`), and how long it is waited for rest.
    """

    def __init__(self, profile: RobotProfile) -> None:
        self._rest = Rest(profile)
        self._tolerance = profile.tracking_tolerance
        self._held = profile.safety.held_share * self._tolerance
        self._wait_ns = nanoseconds(profile.safety.ease_wait_s)
        self._range = profile.vector("lower"), profile.vector("upper")
        self._since_ns: int | None = None
        self.over = True
        """Whether there is nothing to look at: no stop, or it has been looked at."""

    def begin(self) -> None:
        """Takes note that the robot may move: the next stop is to be looked at."""
        self._since_ns, self.over = None, False

    def look(self, setpoint: Array, seen: Observation | None, now_ns: int) -> Array | None:
        """Returns (n,) where to hold a robot that is off its setpoint: each joint that has to follow where it is.

        What gravity does counts as held, else the arm would sink with each stop; and what is further off than
        `BELIEVED` is an encoder, or a robot that was moved.

        Args:
            setpoint: (n,) where the stop has ended.
            seen: newest joint state; `None` when there is none that can be used, which ends it.
            now_ns: the time now.

        Returns:
            `None` when it has to stay, or is not at rest yet: see `over`.
        """
        self._since_ns = now_ns if self._since_ns is None else self._since_ns
        moving = seen is not None and self._rest.moving(seen.joint_velocity).any()
        if moving and now_ns - self._since_ns < self._wait_ns:
            return None
        self.over = True
        if seen is None or moving:
            return None
        off = np.abs(seen.joint_position - setpoint)
        if not (off > self._held).any() or (off > BELIEVED * self._tolerance).any():
            return None
        return np.where(np.isfinite(self._tolerance), np.clip(seen.joint_position, *self._range), setpoint)


def way_of(profile: RobotProfile, start: Array, goal: Array, now_ns: int) -> SentTrajectory:
    """Returns the way of all joints from rest at (n,) `start` to rest at (n,) `goal`, from now on [ns]."""
    limits = profile.vector("velocity"), profile.vector("acceleration"), profile.vector("jerk")
    periods, position, velocity, _ = way_back(start, goal, limits, 1.0 / profile.control_hz)
    return SentTrajectory(
        stamp_ns=now_ns,
        joint_names=profile.joint_names,
        times_ns=[round(k * 1e9 / profile.control_hz) for k in periods.tolist()],
        position=position,
        velocity=velocity,
    )


def way_back(
    start: Array, goal: Array, limits: tuple[Array, Array, Array], period_s: float
) -> tuple[npt.NDArray[np.int64], Array, Array, Array]:
    """Returns the way between two points of rest, at the end of each of its four phases: cubics between them are it.

    All joints leave and arrive together. Four phases of constant jerk `j`, each of `T`, cover `2 j T^3` with a largest
    acceleration of `j T` and a largest speed of `j T^2`.

    Args:
        start: (n,) rad or m.
        goal: (n,) rad or m.
        limits: (n,) largest velocity, acceleration and jerk.
        period_s: each phase lasts a whole number of such.

    Returns:
        (4,) periods since the start, (4, n) positions, velocities and accelerations.
    """
    way = goal - start
    velocity, acceleration, jerk = limits
    needs_s = np.maximum(np.abs(way) / (2.0 * velocity), np.sqrt(np.abs(way) / (2.0 * acceleration)))
    needs_s = np.maximum(needs_s, np.cbrt(np.abs(way) / (2.0 * jerk)))
    ticks = max(1, int(np.ceil(needs_s.max() / period_s - 1e-9)))
    lasts_s = ticks * period_s
    rate = way / (2.0 * lasts_s**3)
    position, speed, push = [start], [np.zeros_like(start)], [np.zeros_like(start)]
    for sign in PHASES:
        q, v, a, j = position[-1], speed[-1], push[-1], sign * rate
        position.append(q + lasts_s * (v + lasts_s * (0.5 * a + lasts_s * j / 6.0)))
        speed.append(v + lasts_s * (a + 0.5 * lasts_s * j))
        push.append(a + lasts_s * j)
    position[-1], speed[-1], push[-1] = goal, np.zeros_like(goal), np.zeros_like(goal)  # not off by rounding
    periods = ticks * np.arange(1, len(PHASES) + 1)
    return periods, np.array(position[1:]), np.array(speed[1:]), np.array(push[1:])
