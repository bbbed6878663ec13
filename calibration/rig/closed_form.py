"""A first guess of where a camera and a board are, without any guess before it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tendon.calibration.transforms import Pose, log, nearest_rotation
from tendon.core.errors import CalibrationError
from tendon.core.types import Array

LEAST_TURN_DEG = 10.0
"""Between the largest and the least turned view, about a second axis."""
LEAST_VIEWS = 3


def check_turns(between: Sequence[Pose], what: str) -> None:
    """Checks that the poses of one link seen from another turn about two axes at least.

    Args:
        between: the poses.
        what: "camera wrist and board table".

    Raises:
        CalibrationError: they do not; with the axis that is there, and the fix.
    """
    if len(between) < LEAST_VIEWS:
        raise CalibrationError(
            f"{what}: {len(between)} views from different poses, needed are {LEAST_VIEWS}, better 15: take more, the "
            "hand turned by 30 deg and more, about two axes"
        )
    spread, axes = _turns(between)
    if spread[0] < LEAST_TURN_DEG:
        raise CalibrationError(
            f"{what}: views are turned by {spread[0]:.0f} deg only, so where the camera is cannot be told from "
            "where the "
            "board is: moving without turning tells nothing of it; turn the hand by 30 deg and more, about two axes"
        )
    if spread[1] < LEAST_TURN_DEG:
        axis = ", ".join(f"{value:.1f}" for value in axes[0])
        raise CalibrationError(
            f"{what}: views are turned about one axis only ({axis}, in the link's frame), by {spread[1]:.0f} deg "
            "about any "
            "other: the place of the camera along that axis cannot be told; turn by 30 deg and more about a second axis"
        )


def turns_enough(between: Sequence[Pose]) -> bool:
    """Returns whether poses are as many, and turn as much, as `check_turns` asks for."""
    return len(between) >= LEAST_VIEWS and bool(spread_deg(between)[1] >= LEAST_TURN_DEG)


def spread_deg(between: Sequence[Pose]) -> Array:
    """Returns (3,) by how much poses are turned [deg]: about the axis of most turning, and about two across it."""
    return _turns(between)[0]


def _turns(between: Sequence[Pose]) -> tuple[Array, Array]:
    middle = nearest_rotation(np.mean([pose.rotation for pose in between], axis=0))
    turns = np.array([log(middle.T @ pose.rotation) for pose in between])
    turns = turns - turns.mean(axis=0)
    _, _, axes = np.linalg.svd(turns)
    return np.degrees(np.ptp(turns @ axes.T, axis=0)), axes


def guess(between: Sequence[Pose], seen: Sequence[Pose]) -> tuple[Pose, Pose]:
    """Returns where the camera is on its link and the board on its own, for which all views agree best.

    Kronecker products and a singular value decomposition for the rotations (Shah 2013), linear least squares for the
    translations; views that fit worst are weighed less, three times over.

    Args:
        between: pose of the board's link, seen from the camera's link, in each view.
        seen: pose of the board, seen from the camera.
    """
    weights = np.ones(len(seen))
    for _ in range(4):
        product = sum(
            weight * np.kron(view.rotation, link.rotation)
            for weight, link, view in zip(weights, between, seen, strict=True)
        )
        left, _, right = np.linalg.svd(np.asarray(product))
        of_camera, of_board = left[:, 0].reshape(3, 3).T, right[0].reshape(3, 3).T
        if np.linalg.det(of_camera) < 0:
            of_camera, of_board = -of_camera, -of_board
        camera, board = nearest_rotation(of_camera), nearest_rotation(of_board)
        # link.rotation tz + link.translation = camera view.translation + tx
        rows = np.concatenate(
            [weight * np.hstack([np.eye(3), -link.rotation]) for weight, link in zip(weights, between, strict=True)]
        )
        sides = np.concatenate(
            [
                weight * (link.translation - camera @ view.translation)
                for weight, link, view in zip(weights, between, seen, strict=True)
            ]
        )
        places = np.linalg.lstsq(rows, sides, rcond=None)[0]
        away = np.linalg.norm((rows @ places - sides).reshape(-1, 3), axis=1) / np.maximum(weights, 1e-9)
        weights = 1.0 / (1.0 + (away / max(float(np.median(away)), 1e-6)) ** 2)
    return (
        Pose(rotation=camera, translation=places[:3]),
        Pose(rotation=board, translation=places[3:]),
    )
