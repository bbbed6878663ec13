"""A Panda with a camera in its hand and a board on the table, whose truth is known; corners are computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tendon.calibration.boards.board import QUIET_SHARE, Board
from tendon.calibration.boards.detect import Detection
from tendon.calibration.cameras.model import CameraModel
from tendon.calibration.rig.chain import Chain
from tendon.calibration.rig.parts import Rig, RigBoard, RigCamera, View
from tendon.calibration.rig.state import RigState
from tendon.calibration.transforms import Pose, exp
from tendon.core.types import Array
from tendon.robots.profile import load_profile

PANDA = load_profile("panda")
HOME = PANDA.vector("home")
HAND, CAMERA = "panda_hand", "wrist"
JOINTS = tuple(f"panda_joint{k}" for k in range(2, 7))
BOARD = Board()
MODEL = CameraModel(
    width=640,
    height=480,
    focal=np.array([520.0, 525.0]),
    centre=np.array([322.0, 238.0]),
    distortion=np.array([-0.1, 0.05, 0.001, -0.001, 0.0]),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class KnownRig:
    """A rig, its views, and its truth."""

    rig: Rig
    views: list[View]
    camera: Pose
    board: Pose
    zeros: Array


def known_rig(
    seed: int = 0,
    count: int = 14,
    noise: float = 0.2,
    wrong: float = 0.05,
    zero_deg: float = 2.0,
    spread: float = 0.3,
    model: CameraModel = MODEL,
    moving: tuple[int, ...] = tuple(range(7)),
    scale: float = 1.0,
    moved_after: int | None = None,
) -> KnownRig:
    """Returns one.

    Args:
        seed: of everything random.
        count: of views.
        noise: of a corner [px].
        wrong: share of corners that are off by many px.
        zero_deg: how far zeros are off at most.
        spread: of joints round home [rad].
        model: the lens.
        moving: which joints are.
        scale: how much larger the printed board is than one believes.
        moved_after: how many views are taken before the camera is knocked by 8 mm.
    """
    rng = np.random.default_rng(seed)
    chain = Chain(PANDA)
    turn = exp(rng.normal(0, 0.1, 3)) @ exp(np.array([0.0, 0.0, rng.uniform(-3, 3)]))
    camera = Pose(rotation=turn, translation=np.array([0.06, 0.0, 0.03]) + rng.normal(0, 0.01, 3))
    (hand, _), *_ = chain.poses(HOME, (HAND,))
    flat = exp(np.array([np.pi, 0.0, 0.0])) @ exp(rng.normal(0, 0.1, 3))
    ahead = (hand @ camera).apply(np.array([0.0, 0.0, 0.35]))
    board = Pose(rotation=flat, translation=ahead - flat @ BOARD.points.mean(axis=0))
    zeros = np.zeros(len(HOME))
    for joint in JOINTS:
        zeros[PANDA.joint_names.index(joint)] = np.radians(rng.uniform(-zero_deg, zero_deg))
    views: list[View] = []
    for _ in range(20_000):
        if len(views) == count:
            break
        joints = HOME.copy()
        joints[list(moving)] += rng.normal(0, spread, len(moving))
        (hand, _), *_ = chain.poses(joints, (HAND,))
        knocked = moved_after is not None and len(views) >= moved_after
        mount = camera.moved(np.array([0.005, 0.005, 0.004, 0.0, 0.0, 0.01])) if knocked else camera
        seen = (hand @ mount).inverse @ board
        points = seen.apply(scale * BOARD.points)
        if (points[:, 2] < 0.1).any() or seen.rotation[2, 2] < 0.5:
            continue
        pixels, _, _ = model.project(points)
        inside = ((pixels > 0) & (pixels < (639, 479))).all(axis=1)
        if inside.sum() < 12:
            continue
        pixels = pixels[inside] + rng.normal(0, noise, (int(inside.sum()), 2)) if noise else pixels[inside]
        bad = rng.random(len(pixels)) < wrong
        pixels[bad] += rng.uniform(-30, 30, (int(bad.sum()), 2))
        found = Detection(ids=np.flatnonzero(inside), pixels=pixels, width=640, height=480)
        views.append(View(camera=CAMERA, board="board", joints=joints + zeros, found=found, name=str(len(views))))
    rig = Rig(
        profile=PANDA,
        cameras=(RigCamera(name=CAMERA, link=HAND, model=model),),
        boards=(RigBoard(board=BOARD, link=PANDA.base_frame),),
        joints=JOINTS,
    )
    return KnownRig(rig=rig, views=views, camera=camera, board=board, zeros=zeros)


def true_state(known: KnownRig, views: Sequence[View] = (), shares_joints: bool = True) -> RigState:
    """The state of a rig that is known as it is."""
    return RigState(
        rig=known.rig,
        views=tuple(views),
        chain=Chain(PANDA),
        cameras={CAMERA: known.camera},
        boards={"board": known.board},
        zeros=known.zeros,
        models={CAMERA: MODEL},
        shares_joints=shares_joints,
    )


def without_zeros(known: KnownRig) -> Rig:
    """Returns its rig with no zero asked for."""
    return replace(known.rig, joints=())


def drawn(board: Board, pixels_per_m: float) -> npt.NDArray[np.uint8]:
    """Returns (height, width) of a board with white around, 0 or 255, `QUIET_SHARE` squares wide."""
    quiet = QUIET_SHARE * board.square_m
    width, height = (round((side + 2 * quiet) * pixels_per_m) for side in board.size_m)
    picture = np.full((height, width), 255, np.uint8)
    for x, y, wide, high in board.black():
        left, top, right, bottom = (round((value + quiet) * pixels_per_m) for value in (x, y, x + wide, y + high))
        picture[top:bottom, left:right] = 0
    return picture
