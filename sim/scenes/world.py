"""A robot with grippers at a table, on which stands what a suite's file describes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from tendon.core.types import Array
from tendon.robots.profile import RobotProfile
from tendon.sim.bodies import Body, Part, Surface
from tendon.sim.engine import Engine
from tendon.sim.engine_world import EngineWorld
from tendon.sim.scenes.scene import DescribedScene

TABLE_HALF = (0.55, 0.8, 0.02)
TABLE_X = 0.55


class DescribedWorld(EngineWorld):
    """A simulated robot and a scene. Not thread-safe.

    Args:
        scene: what stands on the table.
        profile: the robot.
        engine: the simulator, which has that robot.
    """

    def __init__(self, scene: DescribedScene, profile: RobotProfile, engine: Engine) -> None:
        super().__init__(profile, engine)
        self.reset(scene)

    def reset(self, scene: DescribedScene) -> None:
        """Replaces everything; the robot stands at home, at rest, time zero."""
        self.scene = scene
        self.hands: frozenset[int] = frozenset()
        table = Body(
            parts=(Part(kind="box", half=TABLE_HALF),),
            rgb=scene.table_rgb,
            position=(TABLE_X, 0.0, -TABLE_HALF[2]),
            surface=Surface(friction=0.7),
        )
        self.load([table], [item.body for item in scene.items])
        self.reset_joints(self.profile.vector("home"))
        remedy = f"seed {scene.seed}: give it another x, y or stage in the suite's file, or the robot another home"
        self.check_start([item.name for item in scene.items], remedy)

    def render(self, camera: str, width: int | None = None, height: int | None = None) -> npt.NDArray[np.uint8]:
        """Returns what a camera of the profile sees now, see `CameraRig.render`."""
        return self.cameras.render(camera, self.scene.light, width=width, height=height)

    def place(self, item: int) -> Array:
        """Returns the centre of mass of an item (3,) [m]."""
        return np.array(self.engine.pose(item)[:3])

    def tilt(self, item: int) -> float:
        """Returns how far an item's z axis is from upright [rad]."""
        x, y, z, w = self.engine.pose(item)[3:]
        upright = pin.Quaternion(w, x, y, z).toRotationMatrix()[2, 2]
        return float(np.arccos(np.clip(upright, -1.0, 1.0)))

    def holders(self, item: int) -> frozenset[int]:
        """Returns which grippers hold an item."""
        return frozenset(k for k in range(len(self.profile.grippers)) if self.engine.gripped(item, k))

    def held_so_far(self, item: int) -> frozenset[int]:
        """Returns which grippers have held an item, of the times this was asked since the reset."""
        self.hands |= self.holders(item)
        return self.hands
