"""The camera for people in MuJoCo: smooth edges and shadows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tendon.robots.profile import RobotProfile
from tendon.sim.engine_world import WorldState
from tendon.sim.mujoco.engine import MujocoEngine
from tendon.sim.robot_body import robot_body
from tendon.sim.tabletop.scene import Scene
from tendon.sim.tabletop.spectator.look import SUN, VIEW
from tendon.sim.tabletop.world import World


class MujocoView:
    """A `Spectator`, see `open_spectator`."""

    def __init__(self, scene: Scene, profile: RobotProfile, width: int, height: int) -> None:
        self._size = (width, height)
        engine = MujocoEngine(robot_body(profile, fine=True), fine=True)
        self._world = World(scene, profile, engine=engine)

    def draw(self, state: WorldState) -> npt.NDArray[np.uint8]:
        """Returns a picture of a state, (height, width, 3) uint8 RGB."""
        self._world.set_state(state)
        return self._world.engine.render(VIEW, SUN, *self._size)

    def close(self) -> None:
        """Frees the world."""
        self._world.close()
