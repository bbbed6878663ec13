"""Keeps away from people: the whole stop must stay farther from each than they can come in that time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from tendon.control.clearance.model import Clearance
from tendon.control.clearance.motion import MotionPath, check_separation
from tendon.core.errors import ConfigError
from tendon.core.types import Array, freeze
from tendon.robots.profile import Human

STALE_NS = 500_000_000
"""Oldest position of people to move on. Who cannot be seen may be anywhere."""


class HumanZone:
    """A guard of the safety filter after speed and separation monitoring (ISO/TS 15066, equation 1).

    A step is taken only when all along it and its stop every body of the robot is at least `separation` away
    from every person, who meanwhile comes nearer at `speed`. It makes no claim about how well people are seen.

    Args:
        clearance: gives the distances of the robot's bodies.
        human: size of a person, speed and separation.

    Raises:
        ConfigError: the robot has no collision model, so nothing could be kept away.
    """

    def __init__(self, clearance: Clearance, human: Human) -> None:
        if not clearance.body_names:
            raise ConfigError(
                "profile has a human topic but no collision model: make it with `tendon robot collisions`"
            )
        self._clearance, self._human = clearance, human
        self._margin = freeze("separation", [human.separation] * len(clearance.body_names), (None,))
        self._people: tuple[Array, ...] = ()
        self._seen_ns: int | None = None
        self._now_ns = 0

    def see(self, people: Sequence[Array], now_ns: int) -> None:
        """Takes where people are: (3,) [m] each in the base frame; none is an answer too.

        Raises:
            InvalidDataError: a position is not three finite numbers; the zone then is as before.
        """
        self._people = tuple(freeze("position of a person", position, (3,)) for position in people)
        self._seen_ns = now_ns

    def pass_time(self, now_ns: int) -> None:
        """Says what time it is."""
        self._now_ns = now_ns

    def __call__(self, path: MotionPath) -> str:
        """Returns why a motion must not be made, empty when it may."""
        if self._seen_ns is None:
            return f"nothing on {self._human.topic} yet: people may be anywhere"
        age_ns = self._now_ns - self._seen_ns
        if age_ns > STALE_NS:
            return f"nothing on {self._human.topic} for {STALE_NS / 1e6:.0f} ms: people may be anywhere"
        # They have come nearer since they were seen.
        margin = self._margin + self._human.speed * age_ns * 1e-9
        for person in self._people:
            answer = check_separation(
                path,
                partial(self._clearance.distances_to, centre=person, radius=self._human.radius),
                self._clearance.body_reach,
                margin,
                growth=self._human.speed,
            )
            if not answer.kept:
                return f"{self._clearance.body_names[answer.constraint]} too close to a person"
        return ""
