"""Two arms, a camera in each hand and one that stands still and sees a board on each hand: one problem, computed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tendon.calibration.boards.board import Board
from tendon.calibration.cameras.model import plain_model
from tendon.calibration.motion.plan import views_at
from tendon.calibration.rig.chain import Chain
from tendon.calibration.rig.parts import Rig, RigBoard, RigCamera, View
from tendon.calibration.rig.state import RigState
from tendon.calibration.transforms import Pose, exp
from tendon.core.types import Array
from tendon.robots.profile import load_profile

ROBOT, SIDES = "panda_pair", ("left", "right")
AHEAD_M = 0.35
SPREAD_RAD = 0.3


def draw_pair(rng: np.random.Generator) -> RigState:
    """Returns the rig as it is: zeros of both arms off by 1 to 3 deg, but of the first and the last joint of each."""
    profile = load_profile(ROBOT)
    chain, base, home = Chain(profile), profile.base_frame, profile.vector("home")
    hands = {side: f"{side}_panda_hand" for side in SIDES}
    cameras, boards, places, lies = [], [], dict[str, Pose](), dict[str, Pose]()
    model = plain_model(640, 480, 520.0)
    eye = Pose(rotation=_looking((-1.0, 0.0, -0.6)), translation=np.array([1.6, 0.0, 1.1]))
    cameras.append(RigCamera(name="scene", link=base, model=model))
    places["scene"] = eye
    for number, side in enumerate(SIDES):
        (hand, _), *_ = chain.poses(home, (hands[side],))
        cameras.append(RigCamera(name=side, link=hands[side], model=model))
        places[side] = Pose(
            rotation=exp(rng.normal(0, 0.1, 3)), translation=np.array([0.06, 0.0, 0.03]) + rng.normal(0, 0.01, 3)
        )
        table = Board(name=f"{side}_table")
        boards.append(RigBoard(board=table, link=base))
        lies[table.name] = hand @ places[side] @ _before(table, np.array([0.0, 0.0, AHEAD_M]), rng)
        plate = Board(name=f"{side}_plate", square_m=0.05, marker_m=0.037, dictionary=("4X4_50", "6X6_50")[number])
        boards.append(RigBoard(board=plate, link=hands[side]))
        lies[plate.name] = hand.inverse @ eye @ _before(plate, (eye.inverse @ hand).translation, rng)
    joints = tuple(f"{side}_panda_joint{k}" for side in SIDES for k in range(2, 7))
    zeros = np.zeros(len(home))
    for joint in joints:
        zeros[profile.joint_names.index(joint)] = np.radians(rng.uniform(1, 3) * rng.choice([-1, 1]))
    return RigState(
        rig=Rig(profile=profile, cameras=tuple(cameras), boards=tuple(boards), joints=joints),
        views=(),
        chain=chain,
        cameras=places,
        boards=lies,
        zeros=zeros,
        models={camera.name: model for camera in cameras},
    )


def pair_views(true: RigState, rng: np.random.Generator, poses: int = 20, noise_px: float = 0.2) -> list[View]:
    """Returns what all cameras see from poses of both arms round home, with noise, and 5 % of corners wrong."""
    profile, found, count = true.rig.profile, list[View](), 0
    moving = true.moving()
    while count < poses:
        joints = profile.vector("home").copy()
        joints[moving] += rng.normal(0.0, SPREAD_RAD, len(moving))
        joints = np.clip(joints, profile.vector("lower"), profile.vector("upper"))
        seen = views_at(true, joints + true.zeros, str(count))
        if len({view.camera for view in seen}) < len(SIDES):
            continue
        count += 1
        for view in seen:
            pixels = view.found.pixels + rng.normal(0, noise_px, view.found.pixels.shape)
            wrong = rng.random(len(pixels)) < 0.05
            pixels[wrong] += rng.uniform(-30, 30, (int(wrong.sum()), 2))
            found.append(replace(view, found=replace(view.found, pixels=pixels)))
    return found


def _looking(way: tuple[float, float, float]) -> Array:
    """Returns the rotation of a camera that looks along a way, upright."""
    forward = np.array(way) / np.linalg.norm(way)
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    return np.stack([right, np.cross(forward, right), forward], axis=1)


def _before(board: Board, middle: Array, rng: np.random.Generator) -> Pose:
    """Returns where a board is before a camera whose middle is there, turned a little."""
    turn = exp(rng.normal(0, 0.15, 3))
    return Pose(rotation=turn, translation=middle - turn @ board.points.mean(axis=0))
