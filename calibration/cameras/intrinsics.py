"""Intrinsics of a camera from pictures of a board, without the robot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from tendon.calibration.boards.board import Board
from tendon.calibration.boards.detect import Detection
from tendon.calibration.cameras.locate import locate
from tendon.calibration.cameras.model import CameraModel, Lens
from tendon.calibration.cameras.refine import refine_intrinsics
from tendon.calibration.transforms import skews
from tendon.core.errors import CalibrationError
from tendon.core.types import Array
from tendon.robots.camera_optics import camera_matrix, middle

MIN_VIEWS = 4
MIN_START_TILT_DEG = 8.0
"""Between normals of the board: with all views alike focal length and distance are one number."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Intrinsics:
    """What pictures of a board tell about a lens.

    Attributes:
        model: the camera.
        covariance: (4 + d, 4 + d) of `model.values`.
        view_rms_px: of the reprojection error, of each view.
        rms_px: of all corners that count, a column and a row each.
        corners: how many count.
        rejected: how many do not.
        coverage: share of the picture's 6 x 6 fields that have a corner.
    """

    model: CameraModel
    covariance: Array
    view_rms_px: tuple[float, ...]
    rms_px: float
    corners: int
    rejected: int
    coverage: float

    @property
    def deviation(self) -> Array:
        """(4 + d,) standard deviations of `model.values`."""
        return np.sqrt(np.diag(self.covariance))


def calibrate_intrinsics(
    board: Board, views: Sequence[Detection], lens: Lens = "pinhole", start: CameraModel | None = None
) -> Intrinsics:
    """Returns intrinsics from views of a board.

    A closed form, or `start`, gives the start (Zhang 2000, by OpenCV); then camera and boards are refined together and
    corners that are off by more than the noise of the others are left out.

    Raises:
        CalibrationError: too few views, pictures of several sizes, or views too much alike; with the fix.
    """
    if len(views) < MIN_VIEWS:
        raise CalibrationError(f"{len(views)} views show the board, needed are {MIN_VIEWS}, better 20: take more")
    sizes = {(view.width, view.height) for view in views}
    if len(sizes) > 1:
        raise CalibrationError(f"pictures have sizes {sorted(sizes)}: calibrate each camera and size by itself")
    first = start if start is not None else _start(board, views, lens)
    poses = [locate(board, view, first, f"view {k}") for k, view in enumerate(views)]
    normals = np.array([pose.rotation[:, 2] for pose in poses])
    tilt = np.degrees(np.arccos(np.clip(normals @ normals.T, -1, 1))).max()
    if tilt < MIN_START_TILT_DEG:
        raise CalibrationError(
            f"the board is tilted by at most {tilt:.0f} deg between views: focal length and distance look the same; "
            "tilt it by 30 deg and more, about both of its axes"
        )
    refined = refine_intrinsics(board, views, first, poses)
    fields = np.zeros((6, 6), bool)
    for view, kept in zip(views, refined.kept, strict=True):
        where = np.clip((6 * view.pixels[kept] / (view.width, view.height)).astype(int), 0, 5)
        fields[where[:, 1], where[:, 0]] = True
    return Intrinsics(
        model=refined.model,
        covariance=refined.covariance,
        view_rms_px=refined.view_rms_px,
        rms_px=refined.rms_px,
        corners=int(sum(kept.sum() for kept in refined.kept)),
        rejected=int(sum((~kept).sum() for kept in refined.kept)) + sum(view.rejected for view in views),
        coverage=float(fields.mean()),
    )


def _start(board: Board, views: Sequence[Detection], lens: Lens) -> CameraModel:
    """Returns a first guess: Zhang's closed form, refined by OpenCV with the little distortion that is safe."""
    width, height = views[0].width, views[0].height
    points = [board.points[view.ids].astype(np.float32) for view in views]
    pixels = [view.pixels.astype(np.float32) for view in views]
    matrix = camera_matrix((width, width), middle(width, height))
    fixed = cv2.CALIB_FIX_PRINCIPAL_POINT | cv2.CALIB_FIX_ASPECT_RATIO | cv2.CALIB_ZERO_TANGENT_DIST
    fixed |= cv2.CALIB_FIX_K2 | cv2.CALIB_FIX_K3 | cv2.CALIB_USE_INTRINSIC_GUESS
    try:
        _, fitted, found, _, _ = cv2.calibrateCamera(points, pixels, (width, height), matrix, None, flags=fixed)
    except cv2.error as error:
        raise CalibrationError("views do not fit one camera: are all pictures of it, and is the board flat?") from error
    bent = np.zeros(4 if lens == "fisheye" else 5)
    if lens == "pinhole":
        bent[0] = float(np.clip(np.ravel(found)[0], -0.5, 0.5))
    focal = float(np.clip(fitted[0, 0], 0.2 * width, 20 * width))
    return CameraModel(
        lens=lens,
        width=width,
        height=height,
        focal=np.array([focal, focal]),
        centre=np.array(middle(width, height)),
        distortion=bent,
    )


def select_views(board: Board, views: Sequence[Detection], model: CameraModel, count: int) -> tuple[int, ...]:
    """Returns the views that tell most about the intrinsics: each next one adds most information (D-optimal, greedy).

    Args:
        board: that is seen.
        views: to choose from.
        model: a guess of the camera.
        count: how many.
    """
    information = []
    for k, view in enumerate(views):
        pose = locate(board, view, model, f"view {k}")
        _, by_point, by_values = model.project(pose.apply(board.points[view.ids]))
        turned = pose.apply(board.points[view.ids]) - pose.translation
        size = len(view.ids)
        by_pose = np.concatenate([by_point, -by_point @ skews(turned)], axis=2).reshape(2 * size, 6)
        own = by_values.reshape(2 * size, -1)
        left = own - by_pose @ np.linalg.lstsq(by_pose, own, rcond=None)[0]  # what the board's pose cannot explain
        information.append(left.T @ left)
    return greedy(information, count)


def greedy(information: Sequence[Array], count: int) -> tuple[int, ...]:
    """Returns which of (m, m) matrices together have the largest determinant, chosen one after the other."""
    scale = 1.0 / np.sqrt(np.maximum(np.diag(np.sum(information, axis=0)), 1e-30))
    scaled = [scale[:, None] * each * scale for each in information]
    total, chosen = 1e-6 * np.eye(len(scale)), list[int]()
    while len(chosen) < min(count, len(scaled)):
        gains = [-np.inf if k in chosen else float(np.linalg.slogdet(total + each)[1]) for k, each in enumerate(scaled)]
        chosen.append(int(np.argmax(gains)))
        total = total + scaled[chosen[-1]]
    return tuple(chosen)
