"""Leads the tool to the ball along the straight line in joint space that the scene was drawn with."""

from __future__ import annotations

import numpy as np

from tendon.core.types import Array, Observation
from tendon.robots.profile import RobotProfile
from tendon.sim.reach.scene import ReachScene
from tendon.sim.world_state import WorldState

SHARE = 0.5
"""Of the joints' largest speed."""


class ReachExpert:
    """Plans for any robot.

    Args:
        profile: the robot.
    """

    def __init__(self, profile: RobotProfile) -> None:
        self._speed = SHARE * profile.vector("velocity")

    def plan(self, scene: ReachScene, state: WorldState, joints: Observation, rows: int, step_s: float) -> Array:
        """See `tendon.sim.suite.Expert`."""
        here = joints.joint_position
        way = np.array(scene.posture) - here
        needed_s = max(float(np.abs(way / self._speed).max()), 1e-9)
        shares = np.minimum(step_s * np.arange(1, rows + 1) / needed_s, 1.0)
        return np.asarray(here + shares[:, None] * way)
