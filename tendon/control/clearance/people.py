"""Keeps away from people: the whole stop must stay farther from each than they can come in that time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from tendon.control.clearance.model import Clearance
from tendon.control.clearance.motion import MotionPath, check_separation
from tendon.core.errors import ConfigError, InvalidDataError
from tendon.core.phrases import beginning
from tendon.core.types import Array, freeze
from tendon.robots.profile import Human
from tendon.robots.safety_settings import SafetySettings, nanoseconds

MAX_PEOPLE = 16
"""In one message: each costs every control tick up to 0.3 ms."""
SHOWN = 60
"""Characters of a frame that is another's."""


class HumanZone:
    """A guard of the safety filter after speed and separation monitoring (ISO/TS 15066, equation 1).

    A step is taken only when all along it and its stop every body of the robot is at least `separation` and
    `uncertainty` away from every person, who comes nearer at `speed` from the moment at which he was seen. It makes no
    claim about how well people are seen.

    Args:
        clearance: gives the distances of the robot's bodies.
        human: size of a person, speed, separation, and how uncertain a position is.
        frame: in which positions are given: the robot's base frame.
        lead_ns: how far ahead of now a step begins.
        settings: how old a position may be, and how far ahead of now it may be stamped.
        late_ns: how much older than its stamp a position is.

    Raises:
        ConfigError: the robot has no collision model, so nothing could be kept away.
    """

    def __init__(
        self,
        clearance: Clearance,
        human: Human,
        frame: str,
        lead_ns: int,
        settings: SafetySettings,
        late_ns: int = 0,
    ) -> None:
        if not clearance.body_names:
            raise ConfigError(
                "profile has a human topic but no collision model: make it with `tendon robot collisions`"
            )
        self._clearance, self._human, self._frame, self._lead_ns = clearance, human, frame, lead_ns
        self._age_ns, self._ahead_ns = nanoseconds(settings.people_age_s), nanoseconds(settings.state_ahead_s)
        self._late_ns = late_ns
        distance = human.separation + human.uncertainty
        self._margin = freeze("separation", [distance] * len(clearance.body_names), (None,))
        self._people: tuple[Array, ...] = ()
        self._seen_ns: int | None = None
        self._problem = ""
        self._now_ns = 0

    def see(self, people: Sequence[Array], seen_ns: int, frame: str, now_ns: int) -> None:
        """Takes where people are; that nobody is there is an answer too.

        Args:
            people: (3,) position of each [m].
            seen_ns: stamp of what they were seen in: their age counts from its exposure.
            frame: in which the positions are given.
            now_ns: the time now.

        Raises:
            InvalidDataError: more people than `MAX_PEOPLE`, another frame, a stamp that repeats, comes after a later
                one or lies in the future, or a position that is not three finite numbers. What was known before stays,
                and grows old.
        """
        try:
            if len(people) > MAX_PEOPLE:
                raise InvalidDataError(
                    f"{len(people)} people, at most {MAX_PEOPLE} are kept away from: send the nearest"
                )
            positions = tuple(freeze("position of a person", position, (3,)) for position in people)
            self._check(seen_ns, frame, now_ns)
        except InvalidDataError as error:
            self._problem = f"{self._human.topic}: {error}"
            raise InvalidDataError(self._problem) from None
        self._people, self._seen_ns, self._problem = positions, seen_ns - self._late_ns, ""

    def _check(self, seen_ns: int, frame: str, now_ns: int) -> None:
        if frame != self._frame:
            said = beginning(frame, SHOWN)
            raise InvalidDataError(f"frame_id is {said!r}, must be {self._frame!r}, the robot's base_frame")
        if seen_ns > now_ns + self._ahead_ns:
            raise InvalidDataError(f"its stamp is {(seen_ns - now_ns) * 1e-6:.0f} ms in the future: check the clocks")
        if self._seen_ns is not None and seen_ns - self._late_ns <= self._seen_ns:
            raise InvalidDataError("its stamp is not newer than the last: stamp each message with its exposure")

    def pass_time(self, now_ns: int) -> None:
        """Says what time it is."""
        self._now_ns = now_ns

    def __call__(self, path: MotionPath, away: Array | None = None) -> str:
        """Returns why a motion must not be made, empty when it may.

        Args:
            path: of the reference, to rest.
            away: (n,) how far the robot was measured from it.
        """
        if self._seen_ns is None:
            return f"{self._problem or f'nothing on {self._human.topic} yet'}: people may be anywhere"
        age_ns = max(0, self._now_ns - self._seen_ns)
        if age_ns > self._age_ns:
            why = f" ({self._problem})" if self._problem else ""
            return f"nothing of use on {self._human.topic} for {self._age_ns / 1e6:.0f} ms{why}: people may be anywhere"
        # They have come nearer since they were seen, and do until the step begins.
        margin = self._margin + self._human.speed * (age_ns + self._lead_ns) * 1e-9
        for person in self._people:
            distances = partial(self._clearance.distances_to, centre=person, radius=self._human.radius)
            # At the start alone: along the whole motion it would take twice as long, for each of many people.
            told, lost = path.position[0], np.zeros(len(margin))
            if away is not None:
                lost = np.maximum(distances(told) - distances(told + away), 0.0)
            answer = check_separation(
                path,
                distances,
                self._clearance.body_reach,
                margin + lost,
                growth=self._human.speed,
            )
            if not answer.kept:
                return f"{self._clearance.body_names[answer.constraint]} too close to a person"
        return ""
