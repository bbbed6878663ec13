"""The camera for people in PyBullet: the robot's real shapes, and shadows."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from tendon.robots.profile import RobotProfile
from tendon.sim.pybullet.client import pybullet
from tendon.sim.pybullet.engine import BulletEngine
from tendon.sim.robot_body import robot_body
from tendon.sim.tabletop.items import CONTAINERS
from tendon.sim.tabletop.scene import Scene
from tendon.sim.tabletop.spectator.containers import draw_container
from tendon.sim.tabletop.spectator.look import SKY_BOTTOM, SKY_TOP, SUN, view_of
from tendon.sim.tabletop.world import World
from tendon.sim.world_state import WorldState


class BulletView:
    """A `Spectator`, see `open_spectator`."""

    def __init__(self, scene: Scene, profile: RobotProfile, width: int, height: int) -> None:
        self._size = (width, height)
        engine = BulletEngine(robot_body(profile, fine=True))
        self._world = World(scene, profile, engine=engine)
        client = self._client = engine.client
        # The world draws what physics uses: boxes with gaps between them.
        for i, item in enumerate(scene.items):
            if item.kind in CONTAINERS:
                pybullet.removeBody(engine.things[i], physicsClientId=client)
                engine.things[i] = draw_container(client, item)
        view = view_of(scene.layout)
        self._view = pybullet.computeViewMatrix(view.eye, view.at, view.up)
        self._projection = pybullet.computeProjectionMatrixFOV(
            math.degrees(view.height_rad), width / height, view.near, view.far
        )
        rows = np.linspace(0.0, 1.0, height)[:, None, None]
        sky = (1 - rows) * np.array(SKY_TOP) + rows * np.array(SKY_BOTTOM)
        self._sky = np.broadcast_to(sky, (height, width, 3)).astype(np.uint8)

    def draw(self, state: WorldState) -> npt.NDArray[np.uint8]:
        """Returns a picture of a state, (height, width, 3) uint8 RGB."""
        width, height = self._size
        self._world.set_state(state)
        _, _, rgba, depth, _ = pybullet.getCameraImage(
            width,
            height,
            self._view,
            self._projection,
            lightDirection=SUN.direction,
            lightColor=SUN.rgb,
            lightDistance=3.0,
            lightAmbientCoeff=SUN.ambient,
            lightDiffuseCoeff=0.44,
            lightSpecularCoeff=0.06,
            shadow=1,
            renderer=pybullet.ER_TINY_RENDERER,
            flags=pybullet.ER_NO_SEGMENTATION_MASK,
            physicsClientId=self._client,
        )
        pixels = np.asarray(rgba, dtype=np.uint8).reshape(height, width, 4)[..., :3]
        empty = np.asarray(depth).reshape(height, width, 1) >= 1.0
        return np.where(empty, self._sky, pixels)

    def close(self) -> None:
        """Frees the world."""
        self._world.close()
