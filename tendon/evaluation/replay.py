"""Runs what a log says the filter was given through the same filter again, and compares what was sent.

It is exact when the filter, the profile and what stands around the robot are the same. People are not in the log: a
step that was refused because of one differs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tendon.control.filter import SafetyFilter
from tendon.core.errors import MismatchError
from tendon.core.types import Array
from tendon.robots.profile import RobotProfile
from tendon.safety import cubics

SAME = 1e-9
"""Difference [rad, m, rad/s or m/s] that is rounding."""


@dataclass(frozen=True, kw_only=True)
class ReplayResult:
    """What came of a replay.

    Attributes:
        steps: filter steps that were computed again.
        compared: of their points, how many were found in recorded commands.
        difference: the largest of a position or velocity.
        where: joint and time of it; empty without one.
        broken: laws that the computed motion breaks, the first few.
    """

    steps: int
    compared: int
    difference: float
    where: str
    broken: tuple[str, ...]

    @property
    def same(self) -> bool:
        """Whether the log can be trusted to show what the filter did."""
        return self.compared > 0 and self.difference <= SAME and not self.broken


def replay(events: Iterable[dict[str, Any]], profile: RobotProfile, safety_filter: SafetyFilter) -> ReplayResult:
    """Replays a log's events of the kinds "input" and "command".

    Args:
        events: in the order of the log; the two kinds may be shifted against each other.
        profile: the robot's.
        safety_filter: as the control node made it.

    Raises:
        MismatchError: an event is for another robot.
    """
    events = list(events)
    sent = _sent_points(events, profile)
    period_ns = round(1e9 / profile.control_hz)
    laws = _MotionLaws(profile, period_ns)
    steps = compared = 0
    worst, where, started = 0.0, "", False
    for event in events:
        if event["kind"] != "input":
            continue
        reset = _vector(event["reset"], profile)
        if reset is not None:
            safety_filter.reset(reset)
            laws.start(safety_filter.position)
            started = True
        if not started:
            continue  # the log begins within a motion
        for due_ns, target, velocity, speed, *away in event["steps"]:
            safety_filter.speed = speed
            safety_filter.away = _vector(away[0], profile) if away else None  # a log of before it counted has none
            verdict = safety_filter.step(_vector(target, profile), _vector(velocity, profile))
            steps += 1
            laws.step(due_ns, verdict.position, verdict.velocity)
            known = sent.get(due_ns)
            if known is None:
                continue
            for values, recorded in ((verdict.position, known[0]), (verdict.velocity, known[1])):
                gap = np.abs(values - recorded)
                gap = np.where(np.isnan(recorded), 0.0, gap)
                if gap.max() > worst:
                    worst = float(gap.max())
                    where = f"{profile.joint_names[int(gap.argmax())]} at {due_ns * 1e-9:.3f} s"
            compared += 1
    return ReplayResult(steps=steps, compared=compared, difference=worst, where=where, broken=tuple(laws.broken))


def _vector(values: list[float] | None, profile: RobotProfile) -> Array | None:
    """Returns (n,) what an event says of each joint."""
    if values is None:
        return None
    vector = np.array(values, dtype=np.float64)
    if vector.shape != (len(profile.joints),):
        raise MismatchError(
            f"log has a filter input of shape {vector.shape}, profile {profile.name} has {len(profile.joints)} joints: "
            "replay it with the robot that it was written on"
        )
    return vector


def _sent_points(events: Iterable[dict[str, Any]], profile: RobotProfile) -> dict[int, tuple[Array, Array]]:
    """Returns (n,) position and velocity by due time; NaN where no controller was sent any."""
    points: dict[int, tuple[Array, Array]] = {}
    columns = {c.name: [profile.joint_names.index(name) for name in c.joints] for c in profile.controllers}
    for event in events:
        if event["kind"] != "command":
            continue
        if event["controller"] not in columns:
            raise MismatchError(
                f"log has commands of {event['controller']}; profile {profile.name} has {list(columns)}"
            )
        for due_ns, position, velocity in event["points"]:
            empty = np.full((2, len(profile.joints)), np.nan)
            point = points.setdefault(due_ns, (empty[0], empty[1]))
            point[0][columns[event["controller"]]] = position
            point[1][columns[event["controller"]]] = velocity
    return points


class _MotionLaws:
    """Checks the computed motion between its points."""

    def __init__(self, profile: RobotProfile, period_ns: int) -> None:
        self._names, self._h = profile.joint_names, period_ns * 1e-9
        self._limits = [(law, profile.vector(law)) for law in ("velocity", "acceleration", "jerk")]
        self._most = 1.0 + profile.safety.law_tolerance
        self.broken: list[str] = []
        self.start(profile.vector("home"))

    def start(self, position: Array) -> None:
        self._last = position, np.zeros(len(self._names))

    def step(self, due_ns: int, position: Array, velocity: Array) -> None:
        before, self._last = self._last, (position, velocity)
        found = [cubics.extremes(*points, self._h) for points in zip(*before, position, velocity, strict=True)]
        _, _, speed, begins, ends, jerk = np.array(found).T
        values = (speed, np.maximum(np.abs(begins), np.abs(ends)), jerk)
        for (law, limit), value in zip(self._limits, values, strict=True):
            over = np.flatnonzero(~(value <= self._most * limit))
            if len(over) and len(self.broken) < 10:
                i = int(over[0])
                bound = f"limit {limit[i]:.5g}"
                self.broken.append(f"{self._names[i]} {law} {value[i]:.5g}, {bound}, at {due_ns * 1e-9:.3f} s")
