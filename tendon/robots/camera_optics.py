"""Where the pixels of a camera's view look, and where points are seen; the view of a simulated camera."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
import pinocchio as pin

from tendon.core.types import Array
from tendon.robots.camera_view import CameraView, camera_axes, focal_length
from tendon.robots.simulated_parts import Mount


def rays(view: CameraView, width: int, height: int) -> Array:
    """Returns (height * width, 3) where each pixel looks, z = 1, in the camera's frame, row by row."""
    columns, rows = np.meshgrid(np.arange(width, dtype=np.float64), np.arange(height, dtype=np.float64))
    pixels = np.stack([columns.ravel(), rows.ravel()], axis=1)
    flat = flattened(view.lens, camera_matrix(view.focal, view.centre), _distortion(view), pixels)
    return np.concatenate([flat, np.ones((len(flat), 1))], axis=1)


def flattened(lens: str, matrix: Array, distortion: Array, pixels: Array) -> Array:
    """Returns (k, 2) x / z and y / z of what a lens shows at (k, 2) pixels.

    Args:
        lens: "pinhole" or "fisheye".
        matrix: (3, 3), see `camera_matrix`.
        distortion: (5,) or (4,).
        pixels: columns and rows.
    """
    undistort = cv2.fisheye.undistortPoints if lens == "fisheye" else cv2.undistortPoints
    flat = undistort(np.ascontiguousarray(pixels)[:, None], matrix, distortion)
    return np.asarray(flat, dtype=np.float64).reshape(-1, 2)


def middle(width: int, height: int) -> tuple[float, float]:
    """Returns column and row of the middle of a picture, where a lens that is not off looks [px].

    The centre of the first pixel is at 0, 0, as OpenCV and ROS count, so that its outer edge is at -0.5.
    """
    return (width - 1) / 2, (height - 1) / 2


def camera_matrix(focal: Sequence[float] | Array, centre: Sequence[float] | Array) -> Array:
    """Returns the (3, 3) matrix of fx, fy and cx, cy [px]."""
    (fx, fy), (cx, cy) = focal, centre
    return np.array([[fx, 0.0, cx], [0.0, fy, cy], [0.0, 0.0, 1.0]])


def project(view: CameraView, points: Array) -> Array:
    """Returns (k, 2) where (k, 3) points of the camera's frame [m] are seen [px]; NaN for those behind it."""
    ahead = points[:, 2] > 1e-6
    safe = np.where(ahead[:, None], points, (0.0, 0.0, 1.0))
    if view.lens == "pinhole" and not any(view.distortion):  # most are, and this is asked at every inference
        pixels = safe[:, :2] / safe[:, 2:] * view.focal + view.centre
    else:
        zero, matrix = np.zeros(3), camera_matrix(view.focal, view.centre)
        seen = cv2.fisheye.projectPoints if view.lens == "fisheye" else cv2.projectPoints
        pixels = np.asarray(seen(np.ascontiguousarray(safe)[:, None], zero, zero, matrix, _distortion(view))[0])
    return np.where(ahead[:, None], pixels.reshape(-1, 2), np.nan)


def view_of_mount(mount: Mount, width: int, height: int) -> CameraView:
    """Returns the view of a simulated camera with pictures of a size [px]."""
    right, above, back = camera_axes(*(np.array(each) for each in (mount.position, mount.looks_at, mount.up)))
    focal = focal_length(mount, height)
    return CameraView(
        link=mount.link,
        translation=mount.position,
        rotation=tuple(np.asarray(pin.Quaternion(np.stack([right, -above, -back], axis=1)).coeffs()).tolist()),
        focal=(focal, focal),
        centre=middle(width, height),
        distortion=mount.distortion,
    )


def _distortion(view: CameraView) -> Array:
    return np.array(view.distortion or (0.0,) * 5)
