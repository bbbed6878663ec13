"""The scene and wrist cameras of a world: pictures and the true intrinsics that belong to them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tendon.core.errors import ConfigError
from tendon.core.types import Array
from tendon.robots.profile import RobotProfile
from tendon.sim.engine import Engine, Light, View, camera_axes
from tendon.sim.panda import HAND, TOOL_DOWN, TOOL_OFFSET_Z
from tendon.sim.tabletop.scene import CAMERAS, Look

SCENE_EYE = (1.02, 0.0, 0.72)
SCENE_LOOKS_AT = (0.45, 0.0, 0.02)
WRIST_EYE = (0.055, 0.0, 0.02)
WRIST_LOOKS_AT = (0.045, 0.0, 0.12)
FIELD_OF_VIEW = dict(zip(CAMERAS, map(math.radians, (39.0, 80.0)), strict=True))


@dataclass(frozen=True, kw_only=True)
class Viewpoint:
    """Where a camera nominally is, without domain randomisation: for labels that say where a point is seen.

    Attributes:
        rotation: (3, 3) rows are the camera's right, up and backward axes in the base frame.
        eye: (3,) [m], from the base origin, or from the tool for a camera that moves with it (tool down).
        on_tool: whether it moves with the tool.
        focal: focal length over half the image height.
    """

    rotation: tuple[tuple[float, ...], ...]
    eye: tuple[float, ...]
    on_tool: bool
    focal: float


def viewpoints() -> dict[str, Viewpoint]:
    """Returns the nominal viewpoint of each camera."""
    to_tool = np.array([0.0, 0.0, TOOL_OFFSET_Z])
    wrist_eye, wrist_at = (TOOL_DOWN @ (np.array(p) - to_tool) for p in (WRIST_EYE, WRIST_LOOKS_AT))
    placed = {
        "scene": (np.array(SCENE_EYE), np.array(SCENE_LOOKS_AT), np.array([0.0, 0.0, 1.0]), False),
        "wrist": (wrist_eye, wrist_at, TOOL_DOWN[:, 0], True),
    }
    found = {}
    for name, (eye, at, up, on_tool) in placed.items():
        rotation = camera_axes(eye, at, up)
        found[name] = Viewpoint(
            rotation=tuple(map(tuple, rotation.tolist())),
            eye=tuple(eye.tolist()),
            on_tool=on_tool,
            focal=1.0 / math.tan(FIELD_OF_VIEW[name] / 2),
        )
    return found


def check_cameras(profile: RobotProfile) -> None:
    """Raises ConfigError if a profile names a camera other than "scene" and "wrist"."""
    for camera in profile.cameras:
        if camera.name not in FIELD_OF_VIEW:
            known = ", ".join(FIELD_OF_VIEW)
            raise ConfigError(f"the simulator has no camera {camera.name}; it has {known}")


class CameraRig:
    """Draws what the profile's cameras see.

    Args:
        engine: in whose world the cameras are; one of them is on the robot's hand.
        profile: says which cameras there are, see `check_cameras`.
    """

    def __init__(self, engine: Engine, profile: RobotProfile) -> None:
        self._engine, self._profile = engine, profile

    def intrinsics(self, name: str) -> Array:
        """Returns the camera matrix (3, 3) [px]: square pixels, centre of the image, no distortion."""
        camera = self._profile.camera(name)
        focal = camera.height / 2 / math.tan(FIELD_OF_VIEW[name] / 2)
        return np.array([[focal, 0, camera.width / 2], [0, focal, camera.height / 2], [0, 0, 1.0]])

    def _view(self, name: str, look: Look) -> View:
        if name == "scene":
            eye = np.add(SCENE_EYE, look.camera_offset)
            at = np.add(SCENE_LOOKS_AT, (look.camera_tilt[0], look.camera_tilt[1], 0.0))
            up = np.array([0.0, 0.0, 1.0])
        else:
            origin, rotation = self._engine.link_pose(HAND)
            eye, at = origin + rotation @ np.array(WRIST_EYE), origin + rotation @ np.array(WRIST_LOOKS_AT)
            up = rotation[:, 0]
        return View(
            eye=tuple(eye.tolist()), at=tuple(at.tolist()), up=tuple(up.tolist()), height_rad=FIELD_OF_VIEW[name]
        )

    def render(
        self, name: str, look: Look, width: int | None = None, height: int | None = None
    ) -> npt.NDArray[np.uint8]:
        """Returns what a camera sees now, (height, width, 3) uint8 RGB.

        Args:
            name: of the profile's cameras.
            look: light, and by how much the scene camera is off its place.
            width: other than the profile's, for videos [px].
            height: likewise.
        """
        camera = self._profile.camera(name)
        light = Light(direction=look.light_direction, rgb=look.light_rgb, ambient=look.ambient)
        size = (width or camera.width, height or camera.height)
        return self._engine.render(self._view(name, look), light, *size)
