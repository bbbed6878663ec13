"""The first views, of a rig of which nothing is known yet: from where a board is seen, turned a bit further each time.

Where a camera is on its link nobody knows, so by how much a board moves in its picture is known as a bound only. Poses
keep it below what there is of room around the board.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tendon.calibration.cameras.locate import locate
from tendon.calibration.motion.plan import LIMIT_MARGIN, Clear, nothing_seen
from tendon.calibration.rig.chain import Chain
from tendon.calibration.rig.closed_form import LEAST_VIEWS, spread_deg
from tendon.calibration.rig.parts import Rig, View
from tendon.calibration.transforms import Pose, log
from tendon.core.errors import CalibrationError
from tendon.core.types import Array

ENOUGH_LOOKS, ENOUGH_DEG = 5, 15.0
"""Views of a board that moves before a camera, and by how much they turn about a second axis: then both are found."""
MOST_LOOKS = 14
TRIES = 600
SPREAD, SCALES = 0.25, 4
"""Of joints round where the board is seen [rad or m], and how often that is halved."""
LEVER_M = 0.2
"""Between a link and what it carries."""
ROOM_SHARE, BOLDER = 0.9, 0.25
"""Of the room around a board, that the bound of its motion may take; more with each view, as most motions use less."""
Pair = tuple[str, str]
"""Names of a camera and a board."""
Room = tuple[float, float]
"""By what angle a board may move before it leaves the picture [rad], and how far away it is [m]."""


def tell_enough(rig: Rig, views: Sequence[View]) -> bool:
    """Returns whether views tell where everything in them is, so that more can be planned.

    Every camera and board of which one moves before the other is told by itself, or by one that is.
    """
    seen = _pairs(views)
    between = _between(rig, seen, Chain(rig.profile))
    enough = {
        pair for pair, poses in between.items() if len(poses) >= ENOUGH_LOOKS and spread_deg(poses)[1] >= ENOUGH_DEG
    }
    told = set[str]()
    for _ in seen:
        for camera, board in seen:
            ends = {f"camera {camera}", f"board {board}"}
            if (camera, board) in enough or told & ends:
                told |= ends
    wanted = {name for camera, board in between for name in (f"camera {camera}", f"board {board}")}
    return bool(between) and wanted <= told and all(len(poses) >= LEAST_VIEWS for poses in between.values())


def next_look(rig: Rig, views: Sequence[View], clear: Clear, rng: np.random.Generator) -> Array:
    """Returns the (n,) joints of a view that tells more than those before, most likely with the board in the picture.

    Args:
        rig: cameras and boards.
        views: so far.
        clear: whether the robot may be at a joint vector.
        rng: of the poses that are compared.

    Raises:
        CalibrationError: no view shows a board that moves before its camera, or there is no room; with what to do.
    """
    chain = Chain(rig.profile)
    seen = _pairs(views)
    between = _between(rig, seen, chain)
    if not between:
        raise nothing_seen(rig)
    bases = _bases(rig, {pair: seen[pair] for pair in between})
    lower, upper = rig.profile.vector("lower"), rig.profile.vector("upper")
    margin = LIMIT_MARGIN * (upper - lower)
    moving = sorted(chain.movers(tuple(sorted({link for pair in between for link in _links(rig, pair)}))))
    best, told, share = None, 0.0, ROOM_SHARE + BOLDER * (len({tuple(view.joints.tolist()) for view in views}) - 1)
    for number in range(TRIES):
        base, room = bases[rng.integers(len(bases))]
        joints = base.copy()
        joints[moving] += rng.normal(0.0, SPREAD / 2 ** (number % SCALES), len(moving))
        joints[moving] = np.clip(joints, lower + margin, upper - margin)[moving]
        if any(
            _motion(chain, _links(rig, pair), base, joints, away) > share * angle
            for pair, (angle, away) in room.items()
        ):
            continue
        worth = sum(_worth([*between[pair], chain.between(joints, *_links(rig, pair))]) for pair in room)
        if worth > told and clear(joints):
            best, told = joints, worth
    if best is None:
        names = ", ".join(f"board {board} before camera {camera}" for camera, board in between)
        raise CalibrationError(
            f"the robot cannot turn {names} and keep it in the picture, clear of everything: lead it to where the "
            "board is in the middle of the picture and nothing is near"
        )
    return best


def _links(rig: Rig, pair: Pair) -> tuple[str, str]:
    camera, board = pair
    return rig.camera(camera).link, rig.board(board).link


def _pairs(views: Sequence[View]) -> dict[Pair, list[View]]:
    found: dict[Pair, list[View]] = {}
    for view in views:
        found.setdefault((view.camera, view.board), []).append(view)
    return found


def _between(rig: Rig, seen: dict[Pair, list[View]], chain: Chain) -> dict[Pair, list[Pose]]:
    """Returns where the board's link was, seen from the camera's, for pairs of which one moves before the other."""
    turning = {pair: views for pair, views in seen.items() if not chain.rigid(*_links(rig, pair))}
    return {pair: [chain.between(view.joints, *_links(rig, pair)) for view in views] for pair, views in turning.items()}


def _worth(between: Sequence[Pose]) -> float:
    first, second, _ = np.minimum(spread_deg(between), 1.5 * ENOUGH_DEG)
    return float(0.3 * first + second)


def _bases(rig: Rig, turning: dict[Pair, list[View]]) -> list[tuple[Array, dict[Pair, Room]]]:
    """Returns (n,) joints at which as many pairs as anywhere were seen, and the room of each pair there."""
    by_joints: dict[tuple[float, ...], dict[Pair, Room]] = {}
    for pair, views in turning.items():
        for view in views:
            by_joints.setdefault(tuple(view.joints.tolist()), {})[pair] = _room(rig, view)
    most = max(len(room) for room in by_joints.values())
    return [(np.array(joints), room) for joints, room in by_joints.items() if len(room) == most]


def _room(rig: Rig, view: View) -> Room:
    model, pixels = rig.camera(view.camera).model, view.found.pixels
    size = np.array([view.found.width, view.found.height])
    least = float(min(pixels.min(), (size - 1 - pixels).min()))
    away = locate(rig.board(view.board).board, view.found, model, view.name).translation
    return least / float(model.focal.max()), float(np.linalg.norm(away))


def _motion(chain: Chain, links: tuple[str, str], base: Array, joints: Array, away: float) -> float:
    """Returns a bound of the angle by which a board moves before a camera [rad]."""
    before, after = ([pose for pose, _ in chain.poses(each, links)] for each in (base, joints))
    turns = [
        float(np.linalg.norm(log(one.rotation.T @ other.rotation))) for one, other in zip(before, after, strict=True)
    ]
    shifts = [
        float(np.linalg.norm(other.translation - one.translation)) for one, other in zip(before, after, strict=True)
    ]
    return turns[0] + (sum(shifts) + LEVER_M * sum(turns)) / away
