"""The camera for people in MuJoCo: smooth edges and shadows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tendon.robots.profile import RobotProfile
from tendon.sim.mujoco.engine import MujocoEngine
from tendon.sim.robot_body import robot_body
from tendon.sim.tabletop.scene import Scene
from tendon.sim.tabletop.spectator.look import SUN, view_of
from tendon.sim.tabletop.world import World
from tendon.sim.world_state import WorldState


class MujocoView:
    """A `Spectator`, see `open_spectator`."""

    def __init__(self, scene: Scene, profile: RobotProfile, width: int, height: int) -> None:
        self._size, self._view = (width, height), view_of(scene.layout)
        engine = MujocoEngine(robot_body(profile, fine=True), fine=True)
        self._world = World(scene, profile, engine=engine)

    def draw(self, state: WorldState) -> npt.NDArray[np.uint8]:
        """Returns a picture of a state, (height, width, 3) uint8 RGB."""
        self._world.set_state(state)
        return self._world.engine.render(self._view, SUN, *self._size)

    def close(self) -> None:
        """Frees the world."""
        self._world.close()
