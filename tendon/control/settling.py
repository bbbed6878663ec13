"""The start of a motion: from what the robot side holds when it is armed to where the first chunk finds it.

The robot side holds a setpoint of its own. Gravity and contacts keep the robot off it, and a gripper is meant to be
off it. A setpoint that jumped, to the measured position or to another, would be a motion that no filter has seen.
"""

from __future__ import annotations

import numpy as np

from tendon.control.feedback import Feedback
from tendon.control.sent_stops import SentStops
from tendon.core.base_motion import Motion
from tendon.core.types import Array
from tendon.robots.profile import RobotProfile
from tendon.robots.safety_settings import nanoseconds

SENT_TIMES, SENT_SHARE = 5, 0.5
"""The point where the robot settles is sent this often at most, in this part of `arm_settle_s`: a message may be lost,
and the robot side may hear of the arming later. And no more: a robot side that joins a trajectory from its measured
state would hurry there anew each time, in less and less time."""
STAYED = 0.05
"""Part of its range within which a gripper that is found again holds what it held."""


class Settling:
    """Where each start begins, how long the robot gets to be there, and the way from there to where it was found.

    Not thread-safe.

    Args:
        profile: limits, tolerances and times.
        held: (n,) the setpoint that the robot side holds; `None` when nobody knows.
    """

    def __init__(self, profile: RobotProfile, held: Array | None = None) -> None:
        self.held = held
        self.rested: Array | None = None
        """(n,) where the robot was measured when its last stop had ended; `None` when that is not known."""
        self.others: tuple[Array, ...] = ()
        """(n,) each: what it may hold instead, where some of the last commands did not reach it."""
        self._began_ns = self.until_ns = self._next_ns = 0
        self.sent = 0
        """How often the robot side was sent where it settles, since `begin`."""
        self._least_ns = nanoseconds(profile.safety.arm_settle_s)
        self._sent_ns = round(SENT_SHARE * self._least_ns)
        self._limits = [profile.vector(name) for name in ("velocity", "acceleration", "jerk")]
        self._range = profile.vector("lower"), profile.vector("upper")
        self._tolerance = profile.tracking_tolerance
        self._followed = np.isfinite(self._tolerance)
        self._near = profile.safety.held_share * self._tolerance
        self._unknown = np.minimum(self._tolerance, self._range[1] - self._range[0])
        self._way: tuple[Array, Array] | None = None

    def learn(self, sent: SentStops, feedback: Feedback, position: Array) -> None:
        """Takes what the robot side holds from what it was sent; where it rests tells which of that it heard last.

        Args:
            sent: the ends of its last commands.
            feedback: where it rests.
            position: (n,) where the reference is, which it may hold if it heard none of them.
        """
        if not sent.ends:
            return
        if not sent.unheard:
            self.held, self.others = sent.ends[-1], sent.ends
        elif ends := sent.ends_of_motion:
            self.held, self.others = feedback.nearest(ends), ends
        else:  # it may have been told nothing since it was armed
            self.others = self.places(position)

    def places(self, position: Array) -> tuple[Array, ...]:
        """Returns (n,) each: where a robot may be that was told nothing yet but to settle at (n,) `position`."""
        known = (*self.others, position) if self.held is None else (*self.others, position, self.held)
        return tuple({place.tobytes(): place for place in known}.values())

    def begin(self, measured: Array, now_ns: int) -> Array:
        """Returns (n,) where the reference starts, and sets `until_ns`.

        Each joint starts at the setpoint that is held. Each starts where it is measured when nobody knows the setpoint,
        or when one is further off than its tracking tolerance: nothing can be holding it there, so somebody has moved
        the robot, and the robot side may hold anything. But a gripper that is found where the stop left it has not been
        moved: it starts at its setpoint, and keeps what it holds. Another one that is measured beyond its stop, as far
        as that yields, starts at its limit.

        The robot side gets time to come there, from one of `others` too. Of a way back after contact that did not reach
        it, the measured position tells nothing.

        Args:
            measured: (n,) where the robot is, at rest.
            now_ns: when it is armed.
        """
        away = self._unknown if self.held is None else np.abs(measured - self.held)
        if self.held is None or (away > self._tolerance).any():
            start = np.where(self._followed, measured, self._kept(measured))
            away = np.maximum(away, self._unknown)
        else:
            start, away = self.held, np.where(self._followed, away, 0.0)
        for other in self.others:
            away = np.maximum(away, np.abs(start - other))
        self._began_ns, self.sent, self.until_ns = (
            now_ns,
            0,
            now_ns + max(self._least_ns, self._sent_ns + self._shortest_ns(away)),
        )
        pushed = self._followed & (np.abs(measured - start) >= self._near)
        self._way = (start, np.where(pushed, measured, start)) if pushed.any() else None
        return start

    def _kept(self, measured: Array) -> Array:
        """Returns (n,) where each joint would start that may rightly be held off its setpoint."""
        found = np.clip(measured, *self._range)
        if self.held is None or self.rested is None:
            return found
        stayed = np.abs(measured - self.rested) <= STAYED * (self._range[1] - self._range[0])
        return np.where(stayed, self.held, found)

    def wait(self, now_ns: int, until_ns: int) -> None:
        """Waits for a robot side that plays, from now on, what it has been sent."""
        self._began_ns, self.until_ns, self._way, self.sent = now_ns, until_ns, None, SENT_TIMES

    def overslept(self, now_ns: int) -> bool:
        """Returns whether it begins anew, at `now_ns`: too late was anything sent for the time that it has."""
        if self.sent or now_ns <= self._began_ns + self._sent_ns:
            return False
        self._began_ns, self.until_ns = now_ns, now_ns + self.until_ns - self._began_ns
        return True

    def send(self, now_ns: int) -> bool:
        """Returns whether the robot side is sent at a tick where it settles; takes note of it."""
        due = self._next_ns <= now_ns <= self._began_ns + self._sent_ns
        if self.sent >= SENT_TIMES or (self.sent and not due):
            return False
        self.sent, self._next_ns = self.sent + 1, now_ns + self._sent_ns // SENT_TIMES
        return True

    def under_way(self, now_ns: int) -> bool:
        """Returns whether the robot side may still be on its way to where the reference stands."""
        return self._began_ns <= now_ns < self.until_ns

    def motion(self, due_ns: int) -> Motion | None:
        """Returns the target that leads joints that were pushed off their setpoint to where they are; `None` after.

        Args:
            due_ns: of the target, not before `until_ns`.
        """
        if self._way is None:
            return None
        start, end = self._way
        lasts_ns = max(self._least_ns, self._shortest_ns(np.abs(end - start)))
        share = (due_ns - self.until_ns) / lasts_ns
        if share >= 1.0:
            return end, np.zeros_like(end)
        return start + share * (end - start), (end - start) / (lasts_ns * 1e-9)

    def leave(self) -> None:
        """Forgets that way: a chunk leads the robot on from where it is."""
        self._way = None

    def _shortest_ns(self, away: Array) -> int:
        """Returns the time of a cubic from rest to rest over (n,) `away` that keeps each joint's limits.

        Its speed peaks at 3/2 of the mean, its acceleration is 6 d / T^2 at both ends, its jerk 12 d / T^3.
        """
        velocity, acceleration, jerk = self._limits
        seconds = [1.5 * away / velocity, np.sqrt(6.0 * away / acceleration), np.cbrt(12.0 * away / jerk)]
        return round(float(np.max(seconds)) * 1e9)
