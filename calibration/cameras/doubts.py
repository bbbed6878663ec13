"""What is doubtful about intrinsics, in words: a focal length hardly known, a lens that changed between pictures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tendon.calibration.boards.board import Board
from tendon.calibration.boards.detect import Detection
from tendon.calibration.cameras.intrinsics import MIN_VIEWS, Intrinsics, calibrate_intrinsics
from tendon.core.errors import CalibrationError

GOOD_SHARE = 0.01
"""Of the focal length, in 95 %: more moves a board that is 0.4 m away by 4 mm."""
LEAST_CHANGE = 0.005
"""Of a focal length or a centre, a share of the focal length: less is no other lens."""
SURE = 6.0
"""Standard deviations."""


def doubts(board: Board, views: Sequence[Detection], names: Sequence[str], found: Intrinsics) -> list[str]:
    """Returns sentences, each with the fix; none when nothing is wrong.

    Args:
        board: that is seen.
        views: in the order in which they were taken.
        names: of their pictures.
        found: by all of them.
    """
    said = []
    share = 1.96 * float((found.deviation[:2] / found.model.focal).max())
    if share > GOOD_SHARE:
        said.append(
            f"the focal length is known within {100 * share:.1f} % (95 %), good is {100 * GOOD_SHARE:g}: take more "
            "pictures, near and far, the board tilted by 30 deg and more about both of its axes"
        )
    half = len(views) // 2
    if half < MIN_VIEWS:
        return said
    try:
        one, two = (
            calibrate_intrinsics(board, part, found.model.lens, found.model) for part in (views[:half], views[half:])
        )
    except CalibrationError:
        return said  # each half by itself turns too little to tell
    change = np.abs(two.model.values - one.model.values)[:4]
    spread = np.hypot(one.deviation, two.deviation)[:4]
    if (change > np.maximum(SURE * spread, LEAST_CHANGE * found.model.focal.mean())).any():
        fx, fy, cx, cy = (
            f"{a:.1f}, then {b:.1f}" for a, b in zip(one.model.values[:4], two.model.values[:4], strict=True)
        )
        said.append(
            f"{names[0]} to {names[half - 1]} are of another lens than {names[half]} to {names[-1]}: fx {fx}, fy {fy}, "
            f"cx {cx}, cy {cy} px: switch autofocus, zoom and stabilisation off, and take all pictures with one camera"
        )
    return said
