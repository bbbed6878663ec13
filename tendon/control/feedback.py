"""What was measured of the robot, and what is wrong with it: the joint state of a control tick, judged."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tendon.control.reference import Reference
from tendon.control.standstill import Standstill
from tendon.core.causes import Cause, Reason
from tendon.core.types import Array, Observation
from tendon.robots.easing import BELIEVED
from tendon.robots.effort import EffortLimit
from tendon.robots.profile import RobotProfile
from tendon.robots.rest import Rest
from tendon.robots.safety_settings import nanoseconds

CONTACTS = (Cause.TRACKING, Cause.EFFORT)
"""What something in the robot's way shows as."""
OVERDUE_SHARE = 0.625
"""Part of `joint_state_age_s` after which a joint state is overdue: 25 ms, when two at 100 Hz have not come. The robot
is not on its stop yet: that begins four control periods after the last command that it heard."""


class Feedback:
    """The newest joint state. Not thread-safe.

    Args:
        profile: joints, how well they follow, and how old a joint state may be.
        standstill: what the control loop was not awake for counts as no age.
    """

    def __init__(self, profile: RobotProfile, standstill: Standstill) -> None:
        self._names, self._standstill = profile.joint_names, standstill
        self._tolerance, settings = profile.tracking_tolerance, profile.safety
        creeps = settings.rest_share * settings.joint_state_silence_s * profile.vector("velocity")
        self._near = np.where(np.isfinite(self._tolerance), settings.held_share * self._tolerance, creeps)
        self._age_ns = nanoseconds(profile.safety.joint_state_age_s)
        self._rest = Rest(profile)
        most = profile.effort_limit("contact_effort")
        self._contact = EffortLimit(profile.joint_names, most, profile.safety.contact_lasts_s)
        self.observation: Observation | None = None
        """The newest joint state; `None` before the first."""
        self.largest_error = np.zeros(len(self._names))
        """(n,) of |measured - commanded| since this was set to zero, rad or m; replaced, never changed."""
        self.away: Array | None = None
        """(n,) measured - commanded of the newest joint state that `off` looked at, rad or m."""
        self.now_ns: int | None = None
        """When it was looked at; `None` before the first tick."""

    def take(self, observation: Observation | None, now_ns: int) -> None:
        """Takes the newest joint state there is at a tick."""
        self.observation, self.now_ns = observation, now_ns
        if observation is not None and observation.joint_effort is not None:
            self._contact.measured(observation.joint_effort, observation.stamp_ns)

    def stale(self) -> list[Reason]:
        """Returns why the joint state cannot be used; empty when it can."""
        if self.observation is None or self.now_ns is None:
            return [Reason(Cause.STALE_JOINTS, "no joint state")]
        if len(self.observation.joint_position) != len(self._names):
            text = f"joint state of {len(self.observation.joint_position)} joints, expected {len(self._names)}"
            return [Reason(Cause.BAD_JOINTS, text)]
        if abs(self.age_ns) > self._age_ns:
            text = f"stale joint state: {self.age_ns * 1e-6:.0f} ms old, allowed {self._age_ns * 1e-6:.0f}"
            return [Reason(Cause.STALE_JOINTS, text)]
        return []

    @property
    def age_ns(self) -> int:
        """How old the joint state is, less the time in which the control loop was not awake; 0 before the first."""
        if self.observation is None or self.now_ns is None:
            return 0
        return self._standstill.age_ns(self.observation.stamp_ns, self.now_ns)

    @property
    def overdue(self) -> bool:
        """Whether so many joint states have not come that commands may not have come to the robot either."""
        return self.age_ns > OVERDUE_SHARE * self._age_ns

    def moving(self) -> list[Reason]:
        """Returns a reason for each joint that is measured to move."""
        if self.observation is None:
            return []
        moving = np.flatnonzero(self._rest.moving(self.observation.joint_velocity))
        return [Reason(Cause.TRACKING, f"{self._names[i]} moves") for i in moving]

    def pressed(self) -> list[Reason]:
        """Returns why something presses on the robot, as far as its joints can tell."""
        return [Reason(Cause.EFFORT, f"contact: {self._contact.problem}")] if self._contact.problem else []

    def standing(self) -> list[Reason]:
        """Returns what would stop a robot that is armed now."""
        return self.stale() or self.moving() + self.pressed()

    def off(self, reference: Reference) -> list[Reason]:
        """Returns what must stop a robot that may move.

        It is stale, in contact, or too far from the reference at its stamp.
        """
        stale = self.stale() or self.pressed()
        if stale or self.observation is None:
            return stale
        self.away = self._away(self.observation, reference)
        error = np.abs(self.away)
        self.largest_error = np.maximum(self.largest_error, error)
        if not (error > self._tolerance).any():
            return []
        texts = (
            f"tracking: {self._names[i]} is {error[i]:.3f} from its reference, allowed {self._tolerance[i]:.3f}"
            for i in np.flatnonzero(error > self._tolerance)
        )
        return [Reason(Cause.TRACKING, text) for text in texts]

    def held_back(self, reference: Reference, off: Sequence[Reason]) -> Array | None:
        """Returns (n,) where to hold a robot that is in contact: each joint that has to follow where it is.

        Args:
            reference: that it should follow.
            off: what stops it.

        Returns:
            `None` without contact, or when it is so far off that the measurement is not believed.
        """
        if self.observation is None or not any(reason.cause in CONTACTS for reason in off):
            return None
        if (np.abs(self._away(self.observation, reference)) > BELIEVED * self._tolerance).any():
            return None
        measured, followed = self.observation.joint_position, np.isfinite(self._tolerance)
        return np.where(followed, measured, reference.newest.stop.position[-1])

    @staticmethod
    def _away(observation: Observation, reference: Reference) -> Array:
        """Returns (n,) measured - commanded at the stamp of a joint state, between two ticks too."""
        stamp_ns = observation.stamp_ns
        point = reference.point(tick := min(reference.nearest(stamp_ns), reference.committed))
        ahead_s = (stamp_ns - reference.time_ns(tick)) * 1e-9
        return np.asarray(observation.joint_position - point.position - ahead_s * point.velocity)

    def nearest(self, places: Sequence[Array]) -> Array:
        """Returns (n,) where the robot is held, of `places` the last of which was commanded last.

        Where it is off all of them by more than gravity explains, something presses on it: then it is where it is.
        A joint without tolerance has been at one of them if it stands there; what it holds may keep it from all.
        """
        if self.observation is None:
            return places[-1]
        newest_first, measured = np.array(places[::-1]), self.observation.joint_position
        off = np.abs(measured - newest_first) / self._near
        followed = np.isfinite(self._tolerance)
        furthest = off[:, followed].max(axis=1, initial=0.0)
        pressed = furthest.min() > 1.0
        row = 0 if pressed else furthest.argmin()
        rows = np.where(followed | (off.min(axis=0) > 1.0), row, off.argmin(axis=0))
        place = newest_first[rows, np.arange(len(measured))]
        return np.where(followed & pressed, measured, place)

    def off_stop(self, ends: Sequence[Array]) -> Reason | None:
        """Returns why a robot that played a stop does not stand at the end of it, which is one of (n,) `ends`."""
        problem: Reason | None = None
        for end in ends:
            problem = self._off(end)
            if problem is None:
                break
        return problem

    def _off(self, position: Array) -> Reason | None:
        """Returns why it does not stand at (n,) `position`."""
        if self.stale() or self.observation is None:
            return None
        away = np.abs(self.observation.joint_position - position)
        wrong = np.flatnonzero((away > self._tolerance) | self._rest.moving(self.observation.joint_velocity))
        if not len(wrong):
            return None
        i = int(wrong[0])
        text = (
            f"{self._names[i]} is {away[i]:.3f} from where its stop ends, at "
            f"{self.observation.joint_velocity[i]:.3f} a second, after it was held"
        )
        return Reason(Cause.TRACKING, text)
