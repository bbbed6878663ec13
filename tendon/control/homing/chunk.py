"""The way home as a chunk like any other: it goes through the executor and the filter."""

from __future__ import annotations

import itertools

import numpy as np

from tendon.core.types import ActionChunk, Array
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import RobotProfile

SPEED_SHARE = 0.2
"""Part of the limits of velocity, acceleration and the tool's speed that it uses."""
STEP_NS = 50_000_000
REST_NS = 1_000_000_000
"""How long the chunk goes on at home, so that it does not end before the robot is there."""


class HomingChunks:
    """Lays ways home out in time.

    Args:
        profile: its limits.
    """

    def __init__(self, profile: RobotProfile) -> None:
        self._velocity, self._acceleration = profile.vector("velocity"), profile.vector("acceleration")
        self._tool_speed = profile.tool_speed
        self._kinematics = None if profile.tool_speed is None else Kinematics(profile)

    def chunk(self, way: Array, speed: float, start_ns: int, now_ns: int) -> ActionChunk:
        """Returns a chunk along the straight edges of a (k, n) way, at rest on each of its points.

        On an edge all joints leave and arrive together, with a cosine for their speed.

        Args:
            way: points from where the reference rests to home.
            speed: part of the velocity limits in force.
            start_ns: when it begins.
            now_ns: its stamp.
        """
        rows = [way[:1]]
        for a, b in itertools.pairwise(way):
            count = max(1, int(np.ceil(self._duration_s(a, b, speed) * 1e9 / STEP_NS)))
            share = 0.5 - 0.5 * np.cos(np.pi * np.arange(1, count + 1) / count)
            rows.append(a + share[:, None] * (b - a))
        rows.append(np.repeat(way[-1:], REST_NS // STEP_NS, axis=0))
        return ActionChunk(
            actions=np.concatenate(rows), start_ns=start_ns, step_ns=STEP_NS, observation_stamp_ns=now_ns
        )

    def _duration_s(self, a: Array, b: Array, speed: float) -> float:
        """Returns how long an edge takes: the longest of what joints and tool need.

        A cosine over a way d in T has the peak speed pi d / 2 T and the peak acceleration pi^2 d / 2 T^2.
        """
        away = np.abs(b - a)
        share = SPEED_SHARE * speed
        needs = [
            0.5 * np.pi * float((away / (share * self._velocity)).max()),
            np.pi * float(np.sqrt((away / (2.0 * SPEED_SHARE * self._acceleration)).max())),
        ]
        if self._kinematics is not None and self._tool_speed is not None:
            along = [self._kinematics.tool_velocity(a + k * (b - a), b - a) for k in np.linspace(0.0, 1.0, 9)]
            fastest = max(float(np.linalg.norm(each)) for each in along)
            needs.append(0.5 * np.pi * fastest / (share * self._tool_speed))
        return max(needs)


def rest_of_way(way: Array, position: Array) -> Array:
    """Returns a (k, n) way from its point nearest to (n,) `position` on, with `position` in front of it."""
    edges = np.diff(way, axis=0)
    squares = np.maximum(np.einsum("ij,ij->i", edges, edges), 1e-18)
    shares = np.clip(np.einsum("ij,ij->i", position - way[:-1], edges) / squares, 0.0, 1.0)
    feet = way[:-1] + shares[:, None] * edges
    away = np.linalg.norm(feet - position, axis=1)
    k = len(away) - 1 - int(away[::-1].argmin())  # the last of equals: no edge twice
    points = [position, feet[k], *way[k + 1 :]]
    return np.array([position, *(b for a, b in itertools.pairwise(points) if (a != b).any())])
