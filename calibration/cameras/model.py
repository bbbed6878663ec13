"""What a lens makes of a point: pinhole with radial and tangential distortion, or fisheye (OpenCV's models)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import cv2
import numpy as np

from tendon.core.errors import ConfigError
from tendon.core.types import Array, freeze
from tendon.robots.camera_optics import camera_matrix, flattened, middle

Lens = Literal["pinhole", "fisheye"]
DISTORTIONS: dict[str, tuple[str, ...]] = {
    "pinhole": ("k1", "k2", "p1", "p2", "k3"),
    "fisheye": ("k1", "k2", "k3", "k4"),
}
ROS_NAMES = {"pinhole": "plumb_bob", "fisheye": "equidistant"}
"""Of the models in `camera_info`."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CameraModel:
    """Intrinsics of a camera. Its frame: z forward, x right, y down; the centre of the first pixel is column 0, row 0.

    Attributes:
        lens: "pinhole" (k1, k2, p1, p2, k3; Brown 1966) or "fisheye" (k1 to k4; Kannala and Brandt 2006).
        width: of the picture [px].
        height: likewise.
        focal: (2,) fx, fy [px].
        centre: (2,) cx, cy [px].
        distortion: (5,) or (4,).
    """

    lens: Lens = "pinhole"
    width: int
    height: int
    focal: Array
    centre: Array
    distortion: Array

    def __post_init__(self) -> None:
        if self.lens not in DISTORTIONS:
            raise ConfigError(f"lens is {self.lens}, must be pinhole or fisheye")
        if self.width < 1 or self.height < 1:
            raise ConfigError(f"camera model is for {self.width} x {self.height} px, must be at least 1 x 1")
        for name, length in (("focal", 2), ("centre", 2), ("distortion", len(DISTORTIONS[self.lens]))):
            object.__setattr__(self, name, freeze(name, getattr(self, name), (length,)))
        if (self.focal <= 0).any():
            raise ConfigError(f"focal length is {self.focal.tolist()} px, must be above 0")

    @property
    def names(self) -> tuple[str, ...]:
        """Of `values`."""
        return ("fx", "fy", "cx", "cy", *DISTORTIONS[self.lens])

    @property
    def values(self) -> Array:
        """(4 + d,) fx, fy, cx, cy and the distortion."""
        return np.concatenate([self.focal, self.centre, self.distortion])

    def with_values(self, values: Array) -> CameraModel:
        """Returns another one with (4 + d,) `values`."""
        return replace(self, focal=values[:2], centre=values[2:4], distortion=values[4:])

    @property
    def matrix(self) -> Array:
        """(3, 3) the camera matrix [px]."""
        return camera_matrix(self.focal, self.centre)

    def project(self, points: Array) -> tuple[Array, Array, Array]:
        """Returns where (k, 3) points of the camera's frame [m] are seen.

        Returns:
            (k, 2) pixels; (k, 2, 3) their derivative by the points [px/m]; (k, 2, 4 + d) that by `values`.
        """
        zero = np.zeros(3)
        if self.lens == "fisheye":
            pixels, jacobian = cv2.fisheye.projectPoints(
                np.ascontiguousarray(points)[:, None], zero, zero, self.matrix, self.distortion
            )
            by_point, by_values = jacobian[:, 11:14], jacobian[:, :8]
        else:
            pixels, jacobian = cv2.projectPoints(np.ascontiguousarray(points), zero, zero, self.matrix, self.distortion)
            by_point, by_values = jacobian[:, 3:6], jacobian[:, 6:]
        count = len(points)
        return (
            np.asarray(pixels, dtype=np.float64).reshape(count, 2),
            np.asarray(by_point, dtype=np.float64).reshape(count, 2, 3),
            np.asarray(by_values, dtype=np.float64).reshape(count, 2, -1),
        )

    def rays(self, pixels: Array) -> Array:
        """Returns (k, 2) x / z and y / z of what is seen at (k, 2) pixels."""
        return flattened(self.lens, self.matrix, self.distortion, pixels)


def plain_model(width: int, height: int, focal: float) -> CameraModel:
    """Returns a pinhole camera without distortion that looks through the middle of its picture."""
    return CameraModel(
        width=width,
        height=height,
        focal=np.array([focal, focal]),
        centre=np.array(middle(width, height)),
        distortion=np.zeros(5),
    )
