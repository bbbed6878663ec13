"""From where, and through what lens, a camera sees: as a calibration found it, or as a policy was trained with it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import cv2
import numpy as np
import pinocchio as pin

from tendon.core.checks import check_number
from tendon.core.errors import ConfigError
from tendon.core.fields import Text, check_fields
from tendon.core.types import Array
from tendon.robots.simulated_parts import Mount

DISTORTION = {"pinhole": (0, 5), "fisheye": (4,)}
"""How many numbers a lens has: k1, k2, p1, p2, k3, or none; k1 to k4."""
SHAPE_SHARE = 0.01
"""By how much width over height of two pictures may differ that are one, resized."""


@dataclass(frozen=True, kw_only=True)
class CameraView:
    """A camera on a link. Its optical frame: z forward, x right, y down; the centre of the first pixel is at 0, 0.

    Attributes:
        link: that carries it.
        translation: x, y, z of its optical frame [m] in that link's frame.
        rotation: quaternion x, y, z, w.
        focal: fx, fy of pictures of the size that is spoken of [px].
        centre: cx, cy [px].
        lens: "pinhole" (Brown 1966) or "fisheye" (Kannala and Brandt 2006).
        distortion: see `DISTORTION`.
    """

    link: Text
    translation: tuple[float, ...]
    rotation: tuple[float, ...]
    focal: tuple[float, ...]
    centre: tuple[float, ...]
    lens: Literal["pinhole", "fisheye"] = "pinhole"
    distortion: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self, "camera view")
        for name, count in (("translation", 3), ("rotation", 4), ("focal", 2), ("centre", 2)):
            values = getattr(self, name)
            if not isinstance(values, tuple | list) or len(values) != count:
                raise ConfigError(f"{name} is {values!r}, must be {count} numbers")
            for value in values:
                check_number(name, value)
        if len(self.distortion) not in DISTORTION[self.lens]:
            raise ConfigError(f"distortion of a {self.lens} lens has {len(self.distortion)} numbers: see the reference")
        for value in self.distortion:
            check_number("distortion", value)
        if min(self.focal) <= 0 or math.hypot(*self.rotation) < 1e-6:
            raise ConfigError(f"focal is {self.focal}, rotation {self.rotation}: both must be more than nothing")

    @property
    def axes(self) -> Array:
        """(3, 3) right, down and forward as columns, in the link's frame."""
        return np.asarray(pin.Quaternion(np.array(self.rotation) / math.hypot(*self.rotation)).matrix())

    def resized(self, width: int, height: int, to_width: int, to_height: int) -> CameraView | None:
        """Returns the view in pictures of another size [px]; `None` where that has another shape."""
        share = to_width / width
        if abs(share * height / to_height - 1) > SHAPE_SHARE:
            return None
        fx, fy = (share * each for each in self.focal)
        cx, cy = (share * (each + 0.5) - 0.5 for each in self.centre)
        return replace(self, focal=(fx, fy), centre=(cx, cy))

    def with_lens(self, other: CameraView) -> CameraView:
        """Returns a view from the same place through the lens of another one."""
        return replace(self, focal=other.focal, centre=other.centre, lens=other.lens, distortion=other.distortion)

    def rays(self, width: int, height: int) -> Array:
        """Returns (height * width, 3) where each pixel looks, z = 1, in the camera's frame, row by row."""
        columns, rows = np.meshgrid(np.arange(width, dtype=np.float64), np.arange(height, dtype=np.float64))
        pixels = np.stack([columns.ravel(), rows.ravel()], axis=1)[:, None]
        undistort = cv2.fisheye.undistortPoints if self.lens == "fisheye" else cv2.undistortPoints
        flat = undistort(pixels, self._matrix, np.array(self.distortion or (0.0,) * 5)).reshape(-1, 2)
        return np.concatenate([flat, np.ones((len(flat), 1))], axis=1)

    def project(self, points: Array) -> Array:
        """Returns (k, 2) where (k, 3) points of the camera's frame [m] are seen [px]; NaN for those behind it."""
        ahead = points[:, 2] > 1e-6
        safe = np.where(ahead[:, None], points, (0.0, 0.0, 1.0))
        if self.lens == "pinhole" and not any(self.distortion):  # most are, and this is asked at every inference
            pixels = safe[:, :2] / safe[:, 2:] * self.focal + self.centre
        else:
            zero, lens = np.zeros(3), np.array(self.distortion or (0.0,) * 5)
            seen = cv2.fisheye.projectPoints if self.lens == "fisheye" else cv2.projectPoints
            pixels = np.asarray(seen(np.ascontiguousarray(safe)[:, None], zero, zero, self._matrix, lens)[0])
        return np.where(ahead[:, None], pixels.reshape(-1, 2), np.nan)

    @property
    def _matrix(self) -> Array:
        (fx, fy), (cx, cy) = self.focal, self.centre
        return np.array([[fx, 0.0, cx], [0.0, fy, cy], [0.0, 0.0, 1.0]])


def view_of_mount(mount: Mount, width: int, height: int) -> CameraView:
    """Returns the view of a simulated camera with pictures of a size [px]."""
    eye, at, up = (np.array(each, dtype=np.float64) for each in (mount.position, mount.looks_at, mount.up))
    forward = (at - eye) / np.linalg.norm(at - eye)
    right = np.cross(forward, up)
    right /= np.linalg.norm(right)
    axes = np.stack([right, np.cross(forward, right), forward], axis=1)
    focal = height / 2 / math.tan(math.radians(mount.vertical_deg) / 2)
    return CameraView(
        link=mount.link,
        translation=tuple(eye.tolist()),
        rotation=tuple(np.asarray(pin.Quaternion(axes).coeffs()).tolist()),
        focal=(focal, focal),
        centre=((width - 1) / 2, (height - 1) / 2),
        distortion=mount.distortion,
    )
