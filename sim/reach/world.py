"""A robot, a floor and a ball that hangs in the air."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import RobotProfile
from tendon.sim.bodies import Body, Part
from tendon.sim.engine import Engine, Light
from tendon.sim.engine_world import EngineWorld
from tendon.sim.reach.scene import ReachScene

BALL_M = 0.025
"""Half of what the ball measures: a cube in most simulators' eyes, and nothing touches it."""
RED, GREY = (0.85, 0.12, 0.12), (0.62, 0.64, 0.67)
FLOOR_M = 0.02
"""How far the floor is below everything that the tool may reach."""


class ReachWorld(EngineWorld):
    """A simulated robot and the ball of a scene. Not thread-safe.

    Args:
        scene: says where the ball is.
        profile: the robot.
        engine: the simulator, which has that robot.
    """

    def __init__(self, scene: ReachScene, profile: RobotProfile, engine: Engine) -> None:
        super().__init__(profile, engine)
        self._kinematics = Kinematics(profile)
        self.reset(scene)

    def reset(self, scene: ReachScene) -> None:
        """Replaces the ball; the robot stands at home, at rest, time zero."""
        self.scene = scene
        ball = Part(kind="box", half=(BALL_M, BALL_M, BALL_M))
        self.load([_floor(self.profile)], [Body(parts=(ball,), rgb=RED, position=scene.ball, solid=False)])
        self.reset_joints(self.profile.vector("home"))

    def away(self) -> float:
        """Returns how far the tool is from the ball [m]."""
        place, _ = self._kinematics.tool_pose(self.joint_state()[0])
        return float(np.linalg.norm(place - self.scene.ball))

    def render(self, camera: str, width: int | None = None, height: int | None = None) -> npt.NDArray[np.uint8]:
        """Returns what a camera of the profile sees now, see `CameraRig.render`."""
        light = Light(direction=self.scene.light_direction, rgb=(1.0, 1.0, 1.0), ambient=0.55)
        return self.cameras.render(camera, light, width=width, height=height)


def _floor(profile: RobotProfile) -> Body:
    (x, y, z), (right, left, _) = profile.workspace.lower, profile.workspace.upper
    middle = ((x + right) / 2, (y + left) / 2, min(z, 0.0) - FLOOR_M - 0.01)
    half = (abs(right - x) / 2 + 0.4, abs(left - y) / 2 + 0.4, 0.01)
    return Body(parts=(Part(kind="box", half=half),), rgb=GREY, position=middle, solid=False)
