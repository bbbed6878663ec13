"""Counts broken limits in a commanded motion, and contacts with the table in a measured one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pybullet

from tendon.core.types import Array
from tendon.sim.pybullet.engine import BulletEngine
from tendon.sim.robot_body import robot_body
from tendon.sim.tabletop.scene import sample_scene
from tendon.sim.tabletop.world import World
from tests.faults.witness import PROFILE, Motion

TOLERANCE = 1e-3
"""Part of each limit that is forgiven: a period of the simulator is a whole number of nanoseconds."""
OUTSIDE = 1e-6
"""How far beyond a position limit is rounding, rad or m."""
NEAR_M = 0.05
BASE_LINKS = (-1, 0)
"""They stand on the table."""


@dataclass(frozen=True, kw_only=True)
class Worst:
    """The largest value of each law as a part of its limit, and how many samples broke one.

    Attributes:
        broken: samples outside a limit.
        position: how far outside its limits a joint was, rad or m.
        velocity, acceleration, jerk: largest parts of their limits.
    """

    broken: int
    position: float
    velocity: float
    acceleration: float
    jerk: float


def worst_of(motion: Motion) -> Worst:
    """Returns how near a motion came to its limits.

    Between two samples the mean acceleration is the change of velocity over time. The jerk is that of the cubic
    through both, which is a mean of the true one with the weight 6 t (h - t) / h^3: never more than its maximum.
    """
    q, v = motion.position, motion.velocity
    h = np.diff(motion.time_ns)[:, None] * 1e-9
    acceleration = np.diff(v, axis=0) / h
    jerk = 6.0 * (v[:-1] + v[1:]) / h**2 - 12.0 * np.diff(q, axis=0) / h**3
    lower, upper = PROFILE.vector("lower"), PROFILE.vector("upper")
    if len(q):  # where it starts outside, it may only move back
        lower, upper = np.minimum(lower, q[0]), np.maximum(upper, q[0])
    outside = np.maximum(lower - q, q - upper).max(axis=1)
    shares = {
        "velocity": np.abs(v / PROFILE.vector("velocity")).max(axis=1),
        "acceleration": np.abs(acceleration / PROFILE.vector("acceleration")).max(axis=1),
        "jerk": np.abs(jerk / PROFILE.vector("jerk")).max(axis=1),
    }
    broken = int((outside > OUTSIDE).sum()) + sum(int((part > 1 + TOLERANCE).sum()) for part in shares.values())
    return Worst(
        broken=broken,
        position=max(0.0, float(outside.max(initial=0.0))),
        **{name: float(part.max(initial=0.0)) for name, part in shares.items()},
    )


class Table:
    """The distance of the arm to the table, by PyBullet's own geometry."""

    def __init__(self) -> None:
        self._engine = BulletEngine(robot_body(PROFILE))
        self._world = World(sample_scene(100_003), PROFILE, engine=self._engine)

    def least_m(self, positions: list[Array]) -> float:
        """Returns the smallest distance of any link but the base; `NEAR_M` when it never came nearer."""
        least = NEAR_M
        client, robot, table = self._engine.client, self._engine.robot.body, self._engine.surroundings[0]
        for position in positions:
            self._world.reset_joints(position)
            pybullet.performCollisionDetection(physicsClientId=client)
            points = pybullet.getClosestPoints(robot, table, NEAR_M, physicsClientId=client)
            least = min([least, *(point[8] for point in points if point[3] not in BASE_LINKS)])
        return least
