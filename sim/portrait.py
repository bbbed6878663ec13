"""A robot as it looks, alone, at home: with the meshes that simulators draw it with."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from tendon.robots.profile import RobotProfile
from tendon.robots.urdf import read_urdf
from tendon.sim.engine import Light, View
from tendon.sim.mujoco.engine import MujocoEngine
from tendon.sim.robot_body import robot_body

FROM = np.array([1.0, -0.75, 0.55])
"""Towards the camera: from before the robot, on its right, above."""
HEIGHT_RAD = math.radians(35.0)
BODY_SHARE = 0.12
"""How far a robot may be around the origins of its links, of the largest distance between them."""
LAMP = Light(direction=(0.6, -1.0, 1.4), rgb=(1.0, 1.0, 1.0), ambient=0.55)


def portrait(profile: RobotProfile, width: int = 640, height: int = 640) -> npt.NDArray[np.uint8]:
    """Returns a picture (height, width, 3) RGB, drawn by MuJoCo.

    Raises:
        MissingDependencyError: MuJoCo, or what it draws with, is not installed.
        ConfigError: the robot cannot be loaded.
    """
    engine = MujocoEngine(robot_body(profile, fine=True), fine=True)
    try:
        engine.load([], [])
        engine.reset_joints(profile.vector("home"))
        places = np.array([engine.link_pose(link)[0] for link in read_urdf(profile.urdf).links])
        low, high = places.min(axis=0), places.max(axis=0)
        body = BODY_SHARE * float((high - low).max())
        middle, radius = (low + high) / 2, body + 0.5 * float(np.linalg.norm(high - low))
        eye = middle + FROM / np.linalg.norm(FROM) * radius / math.sin(HEIGHT_RAD / 2)
        view = View(
            eye=tuple(eye.tolist()),
            at=tuple(middle.tolist()),
            up=(0.0, 0.0, 1.0),
            height_rad=HEIGHT_RAD,
            near=0.05,
            far=20.0,
        )
        return engine.render(view, LAMP, width, height)
    finally:
        engine.close()
