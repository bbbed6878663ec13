"""Pictures as a policy was trained to see them, of cameras that a calibration found elsewhere.

Each pixel of the camera of training looks at a point of a plane, such as that of a table's things; there it gets the
colour that the real camera sees at that point. What is off the plane is off by parallax: for cameras that were moved
by centimetres over a table that is little, for one that looks from another side it is not, so that is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import cv2
import numpy as np
import numpy.typing as npt

from tendon.core.errors import ConfigError, MismatchError
from tendon.core.types import Array, Observation
from tendon.policies.spec.manifest import CameraInput
from tendon.robots.calibration import CalibratedCamera
from tendon.robots.camera_optics import project, rays, view_of_mount
from tendon.robots.camera_view import CameraView
from tendon.robots.kinematics import Kinematics, kinematics_at
from tendon.robots.profile import RobotProfile

FAR_M = 5.0
"""How far a pixel looks that does not look at the plane."""
LEAST_SEEN = 0.5
"""Share of the picture, at home, that the real camera must see of what the one of training would."""
Pixels = npt.NDArray[np.uint8]
Map = npt.NDArray[np.float32]


def with_views(cameras: Sequence[CameraInput], profile: RobotProfile, plane_m: float) -> tuple[CameraInput, ...]:
    """Returns the cameras of a bundle that was trained on a robot, each with the place it was seen from.

    Args:
        cameras: of the bundle.
        profile: the robot of training: where its calibration has a camera, or else where it is mounted.
        plane_m: height over which pictures are redrawn, above the base frame [m].

    Raises:
        ConfigError: the robot has no such camera, or says nowhere where it is.
    """
    known, found = profile.calibrated_cameras, []
    for camera in cameras:
        mount = profile.camera(camera.name).mount
        view = None if mount is None else view_of_mount(mount, camera.width, camera.height)
        if (real := known.get(camera.name)) is not None:
            view = real.seen_in(camera.width, camera.height) or (None if view is None else real.view.with_lens(view))
        if view is None:
            raise ConfigError(
                f"profile {profile.name} does not say where camera {camera.name} is, in pictures of "
                f"{camera.width}x{camera.height} px: calibrate it with such pictures, or give it a mount"
            )
        found.append(replace(camera, trained_view=view, plane_m=plane_m))
    return tuple(found)


class VirtualCameras:
    """Redraws the pictures of cameras whose place of training a bundle tells, if the robot's calibration knows them.

    Not thread-safe.

    Args:
        cameras: of the bundle.
        profile: the robot.

    Raises:
        MismatchError: a camera sees too little of what it saw in training, or is on a link that the robot has not.
        ConfigError: the calibration cannot be read.
    """

    def __init__(self, cameras: Sequence[CameraInput], profile: RobotProfile) -> None:
        known = profile.calibrated_cameras if any(each.trained_view for each in cameras) else {}
        self._redrawn = {
            each.name: _Redrawn(each, each.trained_view, known[each.name], profile)
            for each in cameras
            if each.trained_view and each.name in known
        }
        home = profile.vector("home")
        for name, each in self._redrawn.items():
            if (share := each.seen_share(home)) < LEAST_SEEN:
                raise MismatchError(
                    f"camera {name} sees {100 * share:.0f} % of what it saw in training, by the calibration of "
                    f"{profile.name} and the bundle's trained_view; needed are {100 * LEAST_SEEN:.0f} %: mount it as "
                    "it was, calibrate it again, or take trained_view out of the bundle"
                )

    def said(self) -> list[str]:
        """Returns a sentence about each camera that is redrawn."""
        return [f"camera {name}: {each.said()}" for name, each in self._redrawn.items()]

    def pixels(self, observation: Observation, camera: str) -> Pixels:
        """Returns (height, width, 3) what the policy is to see of a camera."""
        pixels = observation.images[camera].pixels
        redrawn = self._redrawn.get(camera)
        return pixels if redrawn is None else redrawn.draw(pixels, observation.joint_position)


class _Redrawn:
    """One camera that is redrawn."""

    def __init__(
        self, camera: CameraInput, trained: CameraView, found: CalibratedCamera, profile: RobotProfile
    ) -> None:
        self._size = camera.width, camera.height
        self._trained, real = trained, found.seen_in(*self._size)
        self._lens_counts = real is not None
        self._real = real or found.view.with_lens(trained)
        self._plane_m = camera.plane_m
        self._rays = rays(self._trained, *self._size)
        self._links = [self._link(view, camera.name, profile) for view in (self._trained, self._real)]
        self._still = self._map(profile.vector("home")) if self._links == [None, None] else None

    def draw(self, pixels: Pixels, joints: Array) -> Pixels:
        """Returns a picture as the camera of training would see it, the robot being at (n,) joints."""
        columns, rows = self._map(joints) if self._still is None else self._still
        drawn = cv2.remap(pixels, columns, rows, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        return np.asarray(drawn, dtype=np.uint8)

    def seen_share(self, joints: Array) -> float:
        """Returns which share of the picture the real camera sees."""
        columns, rows = self._map(joints)
        width, height = self._size
        return float(((columns > -1) & (columns < width) & (rows > -1) & (rows < height)).mean())

    def said(self) -> str:
        """Returns what is done to its pictures, in words."""
        lens = "its lens counts" if self._lens_counts else "its lens does not count, for it was found in another shape"
        where = f"over the plane at {self._plane_m:g} m"
        return f"pictures are redrawn as seen from where the policy was trained to see, {where}; {lens}"

    def _map(self, joints: Array) -> tuple[Map, Map]:
        """Returns (height, width) columns and rows of the real picture, for each pixel of training."""
        (eye, turn), (real_eye, real_turn) = (
            self._pose(view, link, joints) for view, link in zip((self._trained, self._real), self._links, strict=True)
        )
        ways = self._rays @ turn.T
        falls = ways[:, 2] * np.sign(self._plane_m - eye[2])
        reach = np.full(len(ways), FAR_M)
        np.divide(abs(self._plane_m - eye[2]), falls, out=reach, where=falls > 1e-6)
        points = eye + ways * np.minimum(reach, FAR_M)[:, None]
        pixels = project(self._real, (points - real_eye) @ real_turn).reshape(*self._size[::-1], 2)
        columns, rows = np.nan_to_num(pixels, nan=-1e4).clip(-1e4, 1e4).astype(np.float32).transpose(2, 0, 1)
        return np.ascontiguousarray(columns), np.ascontiguousarray(rows)

    @staticmethod
    def _link(view: CameraView, name: str, profile: RobotProfile) -> Kinematics | None:
        if view.link == profile.base_frame:
            return None
        where, fix = f"camera {name} is on link {view.link}", ": calibrate again, or bind the bundle to this robot"
        return kinematics_at(profile, view.link, where, next(iter(profile.groups)), fix)

    @staticmethod
    def _pose(view: CameraView, link: Kinematics | None, joints: Array) -> tuple[Array, Array]:
        """Returns (3,) where a camera is and (3, 3) its axes in the base frame."""
        eye = np.array(view.translation)
        if link is None:
            return eye, view.axes
        origin, rotation = link.tool_pose(joints)
        return origin + rotation @ eye, rotation @ view.axes
