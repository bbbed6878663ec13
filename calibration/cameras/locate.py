"""Where a board is, seen by one camera in one picture."""

from __future__ import annotations

import cv2
import numpy as np

from tendon.calibration.boards.board import Board
from tendon.calibration.boards.detect import Detection
from tendon.calibration.cameras.model import CameraModel
from tendon.calibration.transforms import Pose, exp
from tendon.core.errors import CalibrationError


def locate(board: Board, found: Detection, model: CameraModel, where: str = "view") -> Pose:
    """Returns where a board is in the camera's frame: the better one of a plane's two poses, refined.

    Infinitesimal plane-based pose estimation (Collins and Bartoli 2014), then Levenberg-Marquardt.

    Raises:
        CalibrationError: there is no such pose, or the picture has another size than the model is for.
    """
    if (found.width, found.height) != (model.width, model.height):
        raise CalibrationError(
            f"{where}: the picture has {found.width} x {found.height} px, intrinsics are for {model.width} x "
            f"{model.height}: calibrate the intrinsics at the size that is used"
        )
    points, flat = board.points[found.ids], model.rays(found.pixels)
    unit = np.eye(3)
    try:
        count, turns, shifts, _ = cv2.solvePnPGeneric(points, flat[:, None], unit, None, flags=cv2.SOLVEPNP_IPPE)
    except cv2.error:
        count = 0
    best, least = None, np.inf
    for turn, shift in zip(turns, shifts, strict=True) if count else ():
        better = cv2.solvePnPRefineLM(points, flat[:, None], unit, None, turn, shift)
        vector, place = (np.asarray(each, dtype=np.float64).ravel() for each in better)
        seen = points @ exp(vector).T + place
        if (seen[:, 2] <= 0).any():
            continue
        error = float(np.sum((seen[:, :2] / seen[:, 2:] - flat) ** 2))
        if error < least:
            best, least = Pose(rotation=exp(vector), translation=place), error
    if best is None:
        raise CalibrationError(f"{where}: its corners fit no place of board {board.name}: is the board the right one?")
    return best
