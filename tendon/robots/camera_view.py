"""From where, and through what lens, a camera sees: as a calibration found it, or as a policy was trained with it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

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
        x, y, z, w = np.array(self.rotation) / math.hypot(*self.rotation)
        cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        return np.asarray(np.eye(3) + 2 * w * cross + 2 * cross @ cross)

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


def focal_length(mount: Mount, height: float) -> float:
    """Returns the focal length [px] of a picture of a height [px]."""
    return height / 2 / math.tan(math.radians(mount.vertical_deg) / 2)


def camera_axes(eye: Array, at: Array, up: Array) -> Array:
    """Returns (3, 3): rows are right, up and backward of a camera at `eye` that looks at `at`, in the world."""
    back = (eye - at) / np.linalg.norm(eye - at)
    right = _cross(up, back)
    right /= np.linalg.norm(right)
    return np.array([right, _cross(back, right), back])


def _cross(a: Array, b: Array) -> Array:
    """Returns the cross product of two (3,) vectors: `np.cross` takes ten times as long, for every picture."""
    (ax, ay, az), (bx, by, bz) = a.tolist(), b.tolist()
    return np.array([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx])
