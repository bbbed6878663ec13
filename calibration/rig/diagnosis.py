"""Why views do not fit together, in words: a board of another size, a camera that was moved, a few bad views."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tendon.calibration.cameras.locate import locate
from tendon.calibration.fitting import fit
from tendon.calibration.rig.solve import RigCalibration
from tendon.core.errors import CalibrationError

BAD_SIGMA_PX = 0.6
"""Of a corner: a sharp picture gives 0.05 to 0.3."""
BAD_SHARED_RAD = 0.004
"""Of where the robot is and where it says: 4 mm at 1 m."""
BAD_SHARE = 0.15
"""Of corners that do not count."""
LEAST_SCALE = 0.003
SURE = 5.0
"""Standard deviations."""
LEAST_SIDE = 3
"""Views before and after something moved."""


def diagnose(found: RigCalibration) -> list[str]:
    """Returns sentences, each with the fix; none when nothing is wrong."""
    fit_ = found.fit
    left_out = 1.0 - float(fit_.kept.mean())
    if fit_.sigma_px < BAD_SIGMA_PX and fit_.shared_rad < BAD_SHARED_RAD and left_out < BAD_SHARE:
        return []
    said = [*_sizes(found), *_moved(found)]
    if said:
        return said
    rms = np.array(fit_.view_rms_px())
    names = [view.name or str(k) for k, view in enumerate(found.state.views)]
    counted = np.bincount(found.state.groups, weights=fit_.kept) / np.bincount(found.state.groups)
    worst = [names[k] for k in np.argsort(counted)[:3] if counted[k] < 0.7] or [names[int(np.nanargmax(rms))]]
    return [
        f"views do not fit one rig: {fit_.sigma_px:.2f} px a corner (good is below {BAD_SIGMA_PX}), "
        f"{100 * left_out:.0f} % of "
        f"corners left out, the robot {1000 * fit_.shared_rad:.1f} mrad off view by view; worst are "
        f"{', '.join(worst)}: look at "
        "them, check links of cameras and boards and the intrinsics, tighten what is loose, take the views again"
    ]


def _sizes(found: RigCalibration) -> list[str]:
    said = []
    for board in found.state.rig.boards:
        if board.known is not None:
            continue
        asked = replace(found.state, scale_of=board.name, shares_joints=False)
        scaled = fit(asked)
        scale, spread = scaled.state.scale, float(np.sqrt(scaled.covariance[-1, -1]))
        better = scaled.sigma_px < 0.8 * found.fit.sigma_px or found.fit.shared_rad > BAD_SHARED_RAD
        if abs(scale - 1) > max(SURE * spread, LEAST_SCALE) and better:
            side = 1000 * board.board.square_m
            said.append(
                f"squares of board {board.name} seem to be {side * scale:.2f} mm, not {side:g}: measure them (the "
                "printer may "
                "have fitted the page) and give their true size"
            )
    return said


def _moved(found: RigCalibration) -> list[str]:
    said, state = [], found.state
    for camera in state.rig.cameras:
        places, names = [], []
        for view in state.views:
            board = state.rig.board(view.board)
            if view.camera != camera.name or board.link == camera.link:
                continue
            try:
                seen = locate(board.board, view.found, state.models[camera.name])
            except CalibrationError:
                continue
            between = state.chain.between(view.joints - state.zeros, camera.link, board.link)
            place = between @ state.boards[board.name] @ seen.inverse
            places.append(state.cameras[camera.name].change_to(place))
            names.append(view.name or str(len(names)))
        changes = np.array(places)
        if len(changes) < 2 * LEAST_SIDE + 1:
            continue
        best, where = 0.0, 0
        for k in range(LEAST_SIDE, len(changes) - LEAST_SIDE + 1):
            before, after = np.median(changes[:k], axis=0), np.median(changes[k:], axis=0)
            rest = np.concatenate([np.abs(changes[:k] - before), np.abs(changes[k:] - after)])
            noise = 1.4826 * np.median(rest, axis=0) + 1e-5
            sure = float(np.max(np.abs(after - before) / noise)) * np.sqrt(k * (len(changes) - k) / len(changes))
            if sure > best:
                best, where = sure, k
        step = np.median(changes[where:], axis=0) - np.median(changes[:where], axis=0)
        away_mm, away_deg = 1000 * float(np.linalg.norm(step[:3])), float(np.degrees(np.linalg.norm(step[3:])))
        if best > 2 * SURE and (away_mm > 1.0 or away_deg > 0.15):
            said.append(
                f"camera {camera.name}, or what it looks at, was moved between views {names[where - 1]} and "
                f"{names[where]}, by "
                f"{away_mm:.1f} mm and {away_deg:.2f} deg: fasten it, and take all views again"
            )
    return said
