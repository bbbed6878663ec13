"""Which poses of the robot tell most: seen well, inside limits and clearances, each adding what the others lack."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from tendon.calibration.boards.detect import Detection
from tendon.calibration.cameras.intrinsics import greedy
from tendon.calibration.motion.coverage import lacking
from tendon.calibration.rig.chain import Chain
from tendon.calibration.rig.parts import Rig, RigBoard, RigCamera, View
from tendon.calibration.rig.solve import solve
from tendon.calibration.rig.state import RigState
from tendon.core.errors import CalibrationError
from tendon.core.types import Array
from tendon.robots.profile import RobotProfile

RARE = 25
"""Candidates of each pair of a camera and a board that are looked for in any case."""
CANDIDATES = 120
"""That are compared; more find little more."""
TRIES = 30_000
SPREADS = (0.5, 0.3, 0.15)
"""Of joints round home [rad]: of the first, a third of the tries, and so on."""
LIMIT_MARGIN = 0.05
"""Share of a joint's range that is left free at both ends."""
EDGE_SHARE = 0.02
"""Of a picture, that corners keep from its edges."""
WIDE_SHARE = 0.06
"""The same while one knows only roughly where things are; and all corners do."""
LEAST_FACING = 0.45
"""Cosine between the way the camera looks and the board's normal: 63 deg."""
LEAST_SHARE = 0.75
"""Of the board's corners, in the picture."""
LEAST_SIDE_PX = 16.0
"""Of a square: markers are not read beyond it."""
LEAST_AGREEING = 0.75
"""Of all corners, with where things are. Of few views with zeros that are off, one rig in some hundred is solved
wrongly, by throwing out what does not fit: one in two corners then, and one in twenty else."""
Clear = Callable[[Array], bool]


def plan_views(
    nominal: RigState,
    clear: Clear,
    count: int,
    seed: int = 0,
    wide: bool = False,
    tell: Callable[[int, int], None] | None = None,
) -> list[Array]:
    """Returns (n,) joint vectors from which a calibration of the rig is surest, in an order with short ways.

    Candidates are drawn round home; the one that adds most information is taken each time (D-optimal, greedy), about
    cameras, boards and zeros.

    Args:
        nominal: where cameras and boards are, roughly; its views are not looked at.
        clear: whether the robot may be at a joint vector.
        count: how many.
        seed: of the candidates.
        wide: whether boards keep far from a picture's edges, as they must while one knows only roughly where they are.
        tell: gets tries and candidates so far.

    Raises:
        CalibrationError: too few poses show a board; with what to change.
    """
    profile = nominal.rig.profile
    found = _candidates(nominal, clear, max(CANDIDATES, 2 * count), np.random.default_rng(seed), wide, tell)
    poses = len({view.name for view in found})
    if poses < count:
        raise CalibrationError(
            f"{poses} of {TRIES} poses round home show a board and keep clear of everything, needed are {count}: "
            "put the "
            "board nearer to where the camera looks from home, or give where it is"
        )
    state = replace(nominal, views=tuple(found), shares_joints=False)
    _, jacobian = state.linearise()
    names = [view.name for view in found]
    owners = np.array(names)[state.groups]
    order = list(dict.fromkeys(names))
    information = []
    for name in order:
        design = jacobian[owners == name].reshape(-1, state.size)
        information.append(design.T @ design)
    chosen = greedy(information, count)
    vectors = {view.name: np.array(view.joints) for view in found}
    return _shortest([vectors[order[k]] for k in chosen], profile)


def plan_more(rig: Rig, views: Sequence[View], clear: Clear, count: int, seed: int = 0) -> list[Array]:
    """Returns further poses for a rig, planned from what a few views of it tell of where things are.

    A camera or board that is in none of them is left out: nobody knows where it is. There are none when all other
    cameras have enough views of everything, see `lacking`.

    Raises:
        CalibrationError: there is no view of a board, the views do not tell where it is or contradict each other, or
            too few poses show one.
    """
    if not views:
        raise nothing_seen(rig)
    cameras, boards = {view.camera for view in views}, {view.board for view in views}
    lacks = lacking(rig, views, Chain(rig.profile))
    if not any(lacks[name] for name in cameras):
        return []
    seen = replace(
        rig,
        cameras=tuple(replace(each, refine=False) for each in rig.cameras if each.name in cameras),
        boards=tuple(each for each in rig.boards if each.name in boards),
    )
    fit = solve(seen, views).fit
    if np.mean(fit.kept) < LEAST_AGREEING:
        raise CalibrationError(
            f"{np.sum(fit.kept)} of {len(fit.kept)} corners agree where camera and board are, so it is not known where "
            "to look: take a few more views by hand, with the board turned by more"
        )
    found = fit.state
    return plan_views(replace(found, rig=replace(found.rig, joints=rig.joints)), clear, count, seed)


def nothing_seen(rig: Rig) -> CalibrationError:
    """Returns what to say when no camera has seen a board that moves before it when the robot does."""
    names = ", ".join(f"{each.name} ({each.board.columns} x {each.board.rows})" for each in rig.boards)
    return CalibrationError(
        "no camera has seen a board yet that moves before it when the robot does, so nobody knows where to look: lay "
        f"board {names} where a camera sees all of it, or lead the robot by hand to where one does; a few views that "
        "`tendon calibrate capture SESSION --count 6` takes there tell it too"
    )


def _candidates(
    nominal: RigState,
    clear: Clear,
    count: int,
    rng: np.random.Generator,
    wide: bool,
    tell: Callable[[int, int], None] | None,
) -> list[View]:
    profile = nominal.rig.profile
    home, lower, upper = profile.vector("home"), profile.vector("lower"), profile.vector("upper")
    moving = np.array(nominal.moving())
    margin = LIMIT_MARGIN * (upper - lower)
    found: list[View] = []
    names = set[str]()
    pairs = Counter({(camera.name, board.name): 0 for camera, board in _turning(nominal)})
    for number in range(TRIES):
        spread = SPREADS[number % len(SPREADS)]
        joints = home.copy()
        joints[moving] += rng.normal(0.0, spread, len(moving))
        joints[moving] = np.clip(joints, lower + margin, upper - margin)[moving]
        views = views_at(nominal, joints, str(number), wide)
        wanted = len(names) < count or any(pairs[view.camera, view.board] < RARE for view in views)
        if views and wanted and clear(joints):
            found += views
            names.add(str(number))
            pairs.update((view.camera, view.board) for view in views)
        if tell is not None and number % 500 == 0:
            tell(number, len(names))
        if len(names) >= count and min(pairs.values()) >= RARE:
            break
    return found


def views_at(nominal: RigState, joints: Array, name: str, wide: bool = False) -> list[View]:
    """Returns the views that there would be from (n,) joints, as the robot says them, with exact corners."""
    pairs = [_view(nominal, joints, camera.name, board.name, name, wide) for camera, board in _turning(nominal)]
    return [view for view in pairs if view is not None]


def _turning(nominal: RigState) -> list[tuple[RigCamera, RigBoard]]:
    """Returns the pairs of which a motion of the robot moves one before the other."""
    return [
        (camera, board) for camera in nominal.rig.cameras for board in nominal.rig.boards if camera.link != board.link
    ]


def _view(nominal: RigState, joints: Array, camera_name: str, board_name: str, name: str, wide: bool) -> View | None:
    camera, board = nominal.rig.camera(camera_name), nominal.rig.board(board_name)
    (eye, _), (bearer, _) = nominal.chain.poses(joints - nominal.zeros, (camera.link, board.link))
    place = (eye @ nominal.cameras[camera_name]).inverse @ bearer @ nominal.boards[board_name]
    centre = place.apply(board.board.points.mean(axis=0))
    if centre[2] < 0.05 or place.rotation[:, 2] @ centre < LEAST_FACING * float(np.linalg.norm(centre)):
        return None
    model = nominal.models[camera_name]
    points = place.apply(board.board.points)
    if (points[:, 2] < 0.03).any() or model.focal[0] * board.board.square_m / centre[2] < LEAST_SIDE_PX:
        return None
    pixels, _, _ = model.project(points)
    size = np.array([model.width, model.height])
    edge = (WIDE_SHARE if wide else EDGE_SHARE) * size
    inside = ((pixels > edge) & (pixels < size - edge)).all(axis=1)
    if inside.mean() < (1.0 if wide else LEAST_SHARE):
        return None
    corners = Detection(ids=np.flatnonzero(inside), pixels=pixels[inside], width=model.width, height=model.height)
    return View(camera=camera_name, board=board_name, joints=joints, found=corners, name=name)


def _shortest(poses: Sequence[Array], profile: RobotProfile) -> list[Array]:
    """Returns the poses in the order in which each next one is the nearest, from home."""
    left, here, ordered = list(poses), profile.vector("home"), []
    while left:
        k = int(np.argmin([float(np.abs(pose - here).max()) for pose in left]))
        here = left.pop(k)
        ordered.append(here)
    return ordered
