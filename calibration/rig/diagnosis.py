"""Why views do not fit together, in words: a board of another size, a camera that was moved, a few bad views."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tendon.calibration.cameras.locate import locate
from tendon.calibration.fitting import Fit, fit
from tendon.calibration.rig.solve import RigCalibration
from tendon.calibration.rig.state import RigState
from tendon.calibration.transforms import mm_and_deg
from tendon.core.errors import CalibrationError
from tendon.core.types import Array
from tendon.robots.calibration import MAX_ZERO

BAD_SIGMA_PX = 0.6
"""Of a corner: a sharp picture gives 0.05 to 0.3."""
BAD_SHARED_RAD = 0.004
"""Of where the robot is and where it says: 4 mm at 1 m."""
BAD_SHARE = 0.15
"""Of corners that do not count."""
LEAST_SCALE = 0.003
SURE = 5.0
"""Standard deviations."""
LEAST_CORNERS = 8
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


def zeros_too_far(found: RigCalibration) -> list[str]:
    """Returns sentences about zeros with which no robot is loaded: a calibration with one is of no use to anybody."""
    zeros = {joint: found.zero(joint)[0] for joint in found.state.rig.joints}
    return [
        f"joint {joint} is said to be {zero:+.3f} larger than it is, rad or m, at most {MAX_ZERO} is taken for a zero: "
        "look whether its link is assembled as the URDF has it and whether the driver counts from there, then take the "
        "views again"
        for joint, zero in zeros.items()
        if abs(zero) > MAX_ZERO
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
        places, names = list[Array](), list[str]()
        for k, view in enumerate(state.views):
            counts = found.fit.kept[state.groups == k]
            board = state.rig.board(view.board)
            if view.camera != camera.name or board.link == camera.link or counts.sum() < LEAST_CORNERS:
                continue
            try:
                seen = locate(board.board, view.found.only(counts), state.models[camera.name])
            except CalibrationError:
                continue
            between = state.chain.between(view.joints - state.zeros, camera.link, board.link)
            place = between @ state.boards[board.name] @ seen.inverse
            places.append(state.cameras[camera.name].change_to(place))
            names.append(view.name or str(len(names)))
        changes = np.array(places)
        if len(changes) < 2 * LEAST_SIDE + 1:
            continue
        scale = np.median(np.abs(np.diff(changes, axis=0)), axis=0) + 1e-6
        costs = [
            sum(float((np.abs(part - np.median(part, axis=0)) / scale).sum()) for part in (changes[:k], changes[k:]))
            for k in range(LEAST_SIDE, len(changes) - LEAST_SIDE + 1)
        ]
        about = LEAST_SIDE + int(np.argmin(costs))
        around = range(max(LEAST_SIDE, about - 2), min(len(changes) - LEAST_SIDE, about + 2) + 1)
        halves = {k: _in_halves(state, camera.name, k) for k in around}
        where = min(halves, key=lambda k: halves[k][0])
        if halves[where][0] > 0.7 * _cost(found.fit):
            continue  # two places fit hardly better than one
        step = halves[where][1]
        away_mm, away_deg = mm_and_deg(step)
        if away_mm > 1.0 or away_deg > 0.15:
            said.append(
                f"camera {camera.name}, or what it looks at, was moved between views {names[where - 1]} and "
                f"{names[where]}, by "
                f"{away_mm:.1f} mm and {away_deg:.2f} deg: fasten it, and take all views again"
            )
    return said


def _in_halves(state: RigState, name: str, where: int) -> tuple[float, Array]:
    """Returns how badly a camera fits that moved after so many of its views, and by what (6,) change it did."""
    other, count, views = f"{name} after", 0, []
    for view in state.views:
        count += view.camera == name
        views.append(replace(view, camera=other) if view.camera == name and count > where else view)
    camera = replace(state.rig.camera(name), refine=False)
    cameras = tuple(replace(each, refine=False) for each in state.rig.cameras)
    rig = replace(state.rig, cameras=(*cameras, replace(camera, name=other)), joints=())
    split = replace(
        state,
        rig=rig,
        views=tuple(views),
        cameras={**state.cameras, other: state.cameras[name]},
        models={**state.models, other: state.models[name]},
        shares_joints=False,
    )
    found = fit(split)
    return _cost(found), found.state.cameras[name].change_to(found.state.cameras[other])


def _cost(found: Fit[RigState]) -> float:
    """Returns the sum of what corners are off by, wrong ones counted little."""
    return float(np.log1p((found.residuals**2).sum(axis=1) / 0.25).sum())
