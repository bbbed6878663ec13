"""A camera for people: the whole scene from the side. Not for policies, and not during a run: 0.1-0.2 s a picture."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from tendon.robots.profile import RobotProfile
from tendon.sim.simulators import AUTO, choose
from tendon.sim.tabletop.scene import Scene
from tendon.sim.world_state import WorldState


class Spectator(Protocol):
    """Draws states of a world."""

    def draw(self, state: WorldState) -> npt.NDArray[np.uint8]:
        """Returns a picture of a state, (height, width, 3) uint8 RGB."""

    def close(self) -> None:
        """Frees its world."""


def open_spectator(scene: Scene, profile: RobotProfile, width: int, height: int, simulator: str = AUTO) -> Spectator:
    """Returns a spectator.

    Args:
        scene: what stands on the table.
        profile: the robot.
        width: of the pictures [px].
        height: likewise.
        simulator: see `tendon.sim.simulators`.
    """
    if choose(simulator) == "mujoco":
        from tendon.sim.tabletop.spectator.mujoco_view import MujocoView

        return MujocoView(scene, profile, width, height)
    from tendon.sim.tabletop.spectator.bullet_view import BulletView

    return BulletView(scene, profile, width, height)
