"""Pictures of a simulator against its intrinsics, by a projection that is OpenCV's alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec

import cv2
import numpy as np
import pytest

from tendon.calibration.boards.board import Board
from tendon.calibration.cameras.model import plain_model
from tendon.calibration.transforms import Pose, exp
from tendon.core.types import Array
from tendon.demo.calibration.scenery import LIGHT, TrueBoard, TrueCamera
from tendon.demo.calibration.world import RigWorld
from tendon.robots.profile import RobotProfile, load_profile
from tendon.robots.simulated_parts import Mount
from tendon.sim.cameras import CameraRig

EYE, AT = np.array([0.5, 0.02, 0.45]), np.array([0.52, 0.0, 0.0])
UP = np.array([1.0, 0.2, 0.0])
BOARD = Board(name="table")
PLACE = Pose(rotation=exp(np.array([np.pi, 0.0, 0.0])), translation=np.array([0.41, 0.08, 0.01]))


def profile_with(distortion: tuple[float, ...]) -> RobotProfile:
    """A Panda with one camera above the table."""
    panda = load_profile("panda")
    mount = Mount(
        link=panda.base_frame,
        position=tuple(EYE.tolist()),
        looks_at=tuple(AT.tolist()),
        up=tuple(UP.tolist()),
        vertical_deg=40.0,
        distortion=distortion,
    )
    return replace(panda, cameras=(replace(panda.camera("scene"), width=640, height=480, mount=mount),))


@pytest.fixture(params=["pybullet", "mujoco"])
def world(request: pytest.FixtureRequest) -> Iterator[RigWorld]:
    if find_spec(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    profile = profile_with(())
    camera = TrueCamera(link=profile.base_frame, place=PLACE, model=plain_model(8, 8, 8.0))
    board = TrueBoard(board=BOARD, link=profile.base_frame, place=PLACE)
    made = RigWorld(profile, {"scene": camera}, (board,), np.zeros(len(profile.joint_names)), request.param)
    made.put(profile.vector("home") + np.array([1.5, *[0.0] * 7]))  # out of the picture
    made.take("scene")
    yield made
    made.close()


@pytest.mark.parametrize("distortion", [(), (-0.2, 0.05, 0.001, -0.002, 0.0)], ids=["plain", "bent"])
def test_a_board_is_seen_where_the_intrinsics_have_it(world: RigWorld, distortion: tuple[float, ...]) -> None:
    """Half a pixel between counting from a pixel's edge and from its centre would show."""
    rig = CameraRig(world._engine, profile_with(distortion))
    pixels = rig.render("scene", LIGHT)
    grey = np.asarray(cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY))
    corners, ids, _, _ = cv2.aruco.CharucoDetector(BOARD.opencv()).detectBoard(grey)
    assert ids is not None and len(ids) > 15
    forward = (AT - EYE) / np.linalg.norm(AT - EYE)
    right = np.cross(forward, UP) / np.linalg.norm(np.cross(forward, UP))
    to_camera = np.stack([right, np.cross(forward, right), forward])
    points: Array = PLACE.apply(BOARD.points[ids.ravel()])
    seen, _ = cv2.projectPoints(
        points - EYE,
        np.asarray(cv2.Rodrigues(to_camera)[0]),
        np.zeros(3),
        rig.intrinsics("scene"),
        np.array(rig.distortion("scene")),
    )
    away = corners.reshape(-1, 2) - seen.reshape(-1, 2)
    assert np.abs(away.mean(axis=0)).max() < 0.12, away.mean(axis=0)
