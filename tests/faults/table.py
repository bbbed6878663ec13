"""How near the arm came to the table."""

from __future__ import annotations

import pybullet

from tendon.core.types import Array
from tendon.sim.pybullet.engine import BulletEngine
from tendon.sim.robot_body import robot_body
from tendon.sim.tabletop.scene import sample_scene
from tendon.sim.tabletop.world import World
from tests.ros2_nodes.running_graph import PROFILE

NEAR_M = 0.05
BASE_LINKS = (-1, 0)
"""They stand on the table."""


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
