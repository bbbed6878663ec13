"""What the views so far lack, in words: where in the picture the board was not, and how the hand was not turned."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tendon.calibration.boards.detect import Detection
from tendon.calibration.rig.chain import Chain
from tendon.calibration.rig.closed_form import spread_deg
from tendon.calibration.rig.parts import Rig, View
from tendon.calibration.transforms import Pose

ENOUGH_VIEWS, ENOUGH_DEG = 15, 30.0
ROWS, COLUMNS = ("upper", "middle", "lower"), ("left", "middle", "right")


def fields(views: Sequence[Detection]) -> np.ndarray:
    """Returns (3, 3) how many corners there were in each ninth of the picture."""
    counts = np.zeros((3, 3), int)
    for view in views:
        columns, rows = np.clip((3 * view.pixels / (view.width, view.height)).astype(int), 0, 2).T
        np.add.at(counts, (rows, columns), 1)
    return counts


def wanted(views: Sequence[View], between: Sequence[Pose]) -> str:
    """Returns what the next view of a camera should be like; empty when there is enough of everything.

    Args:
        views: of that camera.
        between: pose of the board's link seen from the camera's, in each.
    """
    if not views:
        return "show it a board: all of it in the picture, as large as half of it"
    turned = spread_deg(between) if len(between) > 1 else np.zeros(3)
    if turned[0] < ENOUGH_DEG:
        return f"turn the hand further: {turned[0]:.0f} deg so far, {ENOUGH_DEG:.0f} are needed"
    if turned[1] < ENOUGH_DEG:
        return (
            f"turn the hand about another axis: {turned[1]:.0f} deg so far about a second one, {ENOUGH_DEG:.0f} needed"
        )
    counts = fields([view.found for view in views])
    if counts.min() == 0:
        row, column = np.argwhere(counts == 0)[0].tolist()
        place = ROWS[row] if ROWS[row] == COLUMNS[column] else f"{ROWS[row]} {COLUMNS[column]}"
        return f"bring the board into the {place} of the picture"
    if len(views) < ENOUGH_VIEWS:
        return f"{ENOUGH_VIEWS - len(views)} views more, each turned differently"
    return ""


def lacking(rig: Rig, views: Sequence[View], chain: Chain) -> dict[str, str]:
    """Returns for each camera of a rig what its next view should be like; empty when it has enough of everything."""
    found = {}
    for camera in rig.cameras:
        mine = [view for view in views if view.camera == camera.name]
        between = [chain.between(view.joints, camera.link, rig.board(view.board).link) for view in mine]
        found[camera.name] = wanted(mine, between)
    return found
