"""The cameras of a simulated robot: where calibration or profile have them, with the profile's lenses and flaws."""

from __future__ import annotations

import functools
import math
from dataclasses import replace

import cv2
import numpy as np
import numpy.typing as npt

from tendon.core.types import Array
from tendon.robots.camera_optics import camera_matrix, middle
from tendon.robots.camera_view import focal_length
from tendon.robots.profile import Camera, RobotProfile
from tendon.robots.quantities import Corner
from tendon.robots.simulated_parts import Mount
from tendon.sim.engine import Engine, Light, View

Pixels = npt.NDArray[np.uint8]


def mount_of(profile: RobotProfile, camera: Camera) -> Mount:
    """Returns where a camera is: where its profile mounts it, or beyond the workspace, looking at the robot."""
    if camera.mount is not None:
        return camera.mount
    lower, upper = np.array(profile.workspace.lower), np.array(profile.workspace.upper)
    middle, size = (lower + upper) / 2, upper - lower
    eye = (upper[0] + 0.5 * size[0], middle[1], upper[2] + 0.1 * size[2])
    at = (middle[0], middle[1], lower[2] + 0.2 * size[2])
    return Mount(link=profile.base_frame, position=eye, looks_at=at)


def calibrated_mounts(profile: RobotProfile) -> dict[str, Mount]:
    """Returns where the calibration of a simulated robot says that its cameras are, by name; otherwise `mount_of`.

    Lenses stay those of the profile: what a calibration knows of a real one, no simulator draws.
    """
    mounts = {camera.name: mount_of(profile, camera) for camera in profile.cameras}
    for name, known in profile.calibrated_cameras.items():
        if name in mounts:
            eye, axes = np.array(known.view.translation), known.view.axes
            mounts[name] = replace(
                mounts[name],
                link=known.view.link,
                position=_corner(eye),
                looks_at=_corner(eye + axes[:, 2]),
                up=_corner(-axes[:, 1]),
            )
    return mounts


def _corner(point: Array) -> Corner:
    x, y, z = point.tolist()
    return x, y, z


class CameraRig:
    """Draws what the profile's cameras see.

    Args:
        engine: in whose world the cameras are.
        profile: says which cameras there are.
    """

    def __init__(self, engine: Engine, profile: RobotProfile) -> None:
        self._engine, self._profile = engine, profile
        self._mounts = calibrated_mounts(profile)
        self._rng = np.random.default_rng(0)

    def restart(self) -> None:
        """Draws the noise of pictures anew: an episode does not depend on how many were drawn before it."""
        self._rng = np.random.default_rng(0)

    def intrinsics(self, name: str) -> Array:
        """Returns the camera matrix (3, 3) [px]: square pixels, the middle of the picture as the engine draws it."""
        camera = self._profile.camera(name)
        return _matrix(self._mounts[name], camera.width, camera.height, self._engine.middle_off)

    def distortion(self, name: str) -> tuple[float, ...]:
        """Returns k1, k2, p1, p2, k3 of a camera's lens."""
        return self._mounts[name].distortion or (0.0,) * 5

    def render(
        self,
        name: str,
        light: Light,
        shift: tuple[float, float, float] = (0.0, 0.0, 0.0),
        tilt: tuple[float, float] = (0.0, 0.0),
        width: int | None = None,
        height: int | None = None,
    ) -> Pixels:
        """Returns what a camera sees now, (height, width, 3) uint8 RGB.

        Args:
            name: of the profile's cameras.
            light: on everything.
            shift: by how much a camera that stands still is off its place [m].
            tilt: by how much the point it looks at is off, along x and y [m].
            width: other than the profile's, for videos [px].
            height: likewise.
        """
        camera = self._profile.camera(name)
        size = (width or camera.width, height or camera.height)
        return self._spoil(self._mounts[name], self._engine.render(self._view(name, shift, tilt), light, *size))

    def background(
        self,
        name: str,
        shift: tuple[float, float, float] = (0.0, 0.0, 0.0),
        tilt: tuple[float, float] = (0.0, 0.0),
    ) -> npt.NDArray[np.bool_]:
        """Returns which pixels (height, width) of what `render` draws show neither the robot nor a thing."""
        camera, mount = self._profile.camera(name), self._mounts[name]
        found = self._engine.background(self._view(name, shift, tilt), camera.width, camera.height)
        if mount.distortion:
            columns, rows = _distorted(mount, camera.width, camera.height, self._engine.middle_off)
            found = cv2.remap(found.astype(np.uint8), columns, rows, cv2.INTER_NEAREST).astype(bool)
        return found

    def _view(self, name: str, shift: tuple[float, float, float], tilt: tuple[float, float]) -> View:
        mount = self._mounts[name]
        origin, rotation = self._engine.link_pose(mount.link)
        place, at = np.array(mount.position), np.array(mount.looks_at)
        if mount.link == self._profile.base_frame:
            place, at = place + np.array(shift), at + np.array([*tilt, 0.0])
        eye, target, up = origin + rotation @ place, origin + rotation @ at, rotation @ np.array(mount.up)
        return View(
            eye=tuple(eye.tolist()),
            at=tuple(target.tolist()),
            up=tuple(up.tolist()),
            height_rad=math.radians(mount.vertical_deg),
        )

    def _spoil(self, mount: Mount, pixels: Pixels) -> Pixels:
        """Returns a picture as lens and sensor of a camera would give it."""
        if mount.distortion:
            height, width, _ = pixels.shape
            columns, rows = _distorted(mount, width, height, self._engine.middle_off)
            pixels = np.asarray(cv2.remap(pixels, columns, rows, cv2.INTER_LINEAR), dtype=np.uint8)
        if mount.noise:
            noise = self._rng.normal(0.0, mount.noise, pixels.shape)
            pixels = np.clip(pixels + noise, 0, 255).astype(np.uint8)
        return pixels


def _matrix(mount: Mount, width: int, height: int, off: tuple[float, float]) -> Array:
    focal, (column, row) = focal_length(mount, height), middle(width, height)
    return camera_matrix((focal, focal), (column + off[0], row + off[1]))


@functools.lru_cache(maxsize=16)
def _distorted(
    mount: Mount, width: int, height: int, off: tuple[float, float]
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Returns for each pixel behind the lens the column and row (height, width) of where it comes from without one."""
    matrix = _matrix(mount, width, height, off)
    columns, rows = np.meshgrid(np.arange(width, dtype=np.float64), np.arange(height, dtype=np.float64))
    points = np.stack([columns.ravel(), rows.ravel()], axis=1)[:, None]
    straight = cv2.undistortPoints(points, matrix, np.array(mount.distortion), P=matrix).reshape(height, width, 2)
    return straight[..., 0].astype(np.float32), straight[..., 1].astype(np.float32)
