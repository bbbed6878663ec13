"""Where the pixels of a camera's view look, and where points are seen; the view of a simulated camera."""

from __future__ import annotations

import math

import cv2
import numpy as np
import pinocchio as pin

from tendon.core.types import Array
from tendon.robots.camera_view import CameraView
from tendon.robots.simulated_parts import Mount


def rays(view: CameraView, width: int, height: int) -> Array:
    """Returns (height * width, 3) where each pixel looks, z = 1, in the camera's frame, row by row."""
    columns, rows = np.meshgrid(np.arange(width, dtype=np.float64), np.arange(height, dtype=np.float64))
    pixels = np.stack([columns.ravel(), rows.ravel()], axis=1)[:, None]
    undistort = cv2.fisheye.undistortPoints if view.lens == "fisheye" else cv2.undistortPoints
    flat = undistort(pixels, _matrix(view), _distortion(view)).reshape(-1, 2)
    return np.concatenate([flat, np.ones((len(flat), 1))], axis=1)


def project(view: CameraView, points: Array) -> Array:
    """Returns (k, 2) where (k, 3) points of the camera's frame [m] are seen [px]; NaN for those behind it."""
    ahead = points[:, 2] > 1e-6
    safe = np.where(ahead[:, None], points, (0.0, 0.0, 1.0))
    if view.lens == "pinhole" and not any(view.distortion):  # most are, and this is asked at every inference
        pixels = safe[:, :2] / safe[:, 2:] * view.focal + view.centre
    else:
        zero = np.zeros(3)
        seen = cv2.fisheye.projectPoints if view.lens == "fisheye" else cv2.projectPoints
        pixels = np.asarray(seen(np.ascontiguousarray(safe)[:, None], zero, zero, _matrix(view), _distortion(view))[0])
    return np.where(ahead[:, None], pixels.reshape(-1, 2), np.nan)


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


def _matrix(view: CameraView) -> Array:
    (fx, fy), (cx, cy) = view.focal, view.centre
    return np.array([[fx, 0.0, cx], [0.0, fy, cy], [0.0, 0.0, 1.0]])


def _distortion(view: CameraView) -> Array:
    return np.array(view.distortion or (0.0,) * 5)
