"""Pictures of a camera that was moved, redrawn as the policy was trained to see them."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendon.calibration.results.file import write_record
from tendon.calibration.results.record import CameraRecord, JointRecord, Place, without_cameras
from tendon.calibration.transforms import Pose
from tendon.core.errors import ConfigError, MismatchError
from tendon.core.types import Array, Image, Observation
from tendon.policies.inference.virtual_cameras import VirtualCameras, with_views
from tendon.policies.spec.manifest import CameraInput
from tendon.robots.camera_optics import rays, view_of_mount
from tendon.robots.camera_view import CameraView
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import RobotProfile, load_profile
from tendon.sim.cameras import calibrated_mounts

PANDA = load_profile("panda")
HOME = PANDA.vector("home")
SCENE, WRIST = PANDA.camera("scene"), PANDA.camera("wrist")
INPUTS = tuple(CameraInput(name=each.name, width=each.width, height=each.height) for each in (SCENE, WRIST))
PLANE_M = 0.02
NOWHERE = ((0.0,) * 6,) * 6


def mounted(name: str) -> CameraView:
    camera = PANDA.camera(name)
    assert camera.mount is not None
    return view_of_mount(camera.mount, camera.width, camera.height)


def moved(name: str, change: Array) -> CameraView:
    """The view of a mount after a (6,) change on its link."""
    view = mounted(name)
    pose = Pose(rotation=view.axes, translation=np.array(view.translation)).moved(change)
    return replace(view, translation=tuple(pose.translation.tolist()), rotation=pose.quaternion)


def robot_with(
    folder: Path, views: dict[str, CameraView], size: tuple[int, int] | None = None, zero: float = 0.0
) -> RobotProfile:
    """A Panda whose calibration has cameras there, in pictures of the profile's size or another."""
    joints = {"panda_joint4": JointRecord(zero=zero, deviation=1e-4)} if zero else {}
    cameras = {
        name: CameraRecord(
            lens=view.lens,
            width=(size or (PANDA.camera(name).width, 0))[0],
            height=(size or (0, PANDA.camera(name).height))[1],
            focal=view.focal,
            centre=view.centre,
            distortion=view.distortion or (0.0,) * 5,
            place=Place(link=view.link, translation=view.translation, rotation=view.rotation, covariance=NOWHERE),
            rms_px=0.1,
            views=9,
            with_zeros=((0.0,) * len(joints),) * 6 if joints else (),
        )
        for name, view in views.items()
    }
    folder.mkdir(parents=True, exist_ok=True)
    write_record(replace(without_cameras("panda", joints), cameras=cameras), folder / "calibration.yaml")
    return replace(PANDA, calibration=folder / "calibration.yaml")


def painted(view: CameraView, joints: Array, width: int, height: int) -> np.ndarray:
    """What a camera sees of a plane whose colours are smooth functions of the place."""
    eye, axes = np.array(view.translation), view.axes
    if view.link != PANDA.base_frame:
        origin, rotation = Kinematics(PANDA, view.link).tool_pose(joints)
        eye, axes = origin + rotation @ eye, rotation @ axes
    ways = rays(view, width, height) @ axes.T
    points = eye + ways * ((PLANE_M - eye[2]) / ways[:, 2])[:, None]
    x, y = points[:, 0], points[:, 1]
    colours = [127 + 100 * np.sin(each) for each in (12 * x, 12 * y, 9 * (x + y))]
    return np.stack(colours, axis=1).reshape(height, width, 3).round().astype(np.uint8)


def seen(views: dict[str, CameraView], joints: Array = HOME) -> Observation:
    images = {
        name: Image(stamp_ns=0, pixels=painted(view, joints, PANDA.camera(name).width, PANDA.camera(name).height))
        for name, view in views.items()
    }
    return Observation(stamp_ns=0, joint_position=joints, joint_velocity=0 * joints, images=images)


def trained() -> tuple[CameraInput, ...]:
    return with_views(INPUTS, PANDA, PLANE_M)


@given(st.lists(st.floats(-1, 1), min_size=6, max_size=6), st.integers(0, 999))
def test_what_lies_on_the_plane_looks_as_it_did_in_training(change: list[float], seed: int) -> None:
    off = np.array(change) * [0.03, 0.03, 0.03, 0.06, 0.06, 0.06]
    joints = HOME.copy()
    joints[:7] += np.random.default_rng(seed).normal(0, 0.03, 7)
    with tempfile.TemporaryDirectory() as folder:
        views = {name: moved(name, off) for name in ("scene", "wrist")}
        cameras = VirtualCameras(trained(), robot_with(Path(folder), views))
        real, wanted = seen(views, joints), seen({name: mounted(name) for name in views}, joints)
        for name in views:
            redrawn, known = cameras.pixels(real, name), wanted.images[name].pixels
            inner = np.s_[30:-30, 30:-30]  # what both see
            error = np.abs(redrawn.astype(int) - known)[inner]
            assert error.max() <= 3, name


def test_a_camera_that_is_where_it_was_gives_the_same_picture(tmp_path: Path) -> None:
    views = {name: mounted(name) for name in ("scene", "wrist")}
    cameras, real = VirtualCameras(trained(), robot_with(tmp_path, views)), seen(views)
    for name in views:
        difference = np.abs(cameras.pixels(real, name).astype(int) - real.images[name].pixels)
        assert difference.max() <= 1


def test_zeros_of_the_calibration_count_in_where_the_hand_carries_it(tmp_path: Path) -> None:
    view, zero = moved("wrist", np.array([0.02, 0, 0, 0, 0, 0.0])), 0.05
    cameras = VirtualCameras(trained(), robot_with(tmp_path, {"wrist": view}, zero=zero))
    said = HOME.copy()
    said[3] += zero
    real = replace(seen({"wrist": view}), joint_position=said)
    wanted = seen({"wrist": mounted("wrist")}).images["wrist"].pixels
    error = np.abs(cameras.pixels(real, "wrist").astype(int) - wanted)[25:-25, 25:-25]
    assert error.max() <= 3


def test_nothing_is_redrawn_unless_bundle_and_calibration_both_know_the_camera(tmp_path: Path) -> None:
    view = moved("scene", np.array([0.03, 0, 0, 0, 0, 0.0]))
    robot, real = robot_with(tmp_path, {"scene": view}), seen({"scene": view, "wrist": mounted("wrist")})
    for cameras in (
        VirtualCameras(INPUTS, robot),
        VirtualCameras(trained(), PANDA),
    ):
        assert cameras.said() == [] and cameras.pixels(real, "scene") is real.images["scene"].pixels
    both = VirtualCameras(trained(), robot)
    assert [line.split(":")[0] for line in both.said()] == ["camera scene"]
    assert both.pixels(real, "wrist") is real.images["wrist"].pixels


def test_a_lens_counts_where_it_was_found_in_pictures_of_the_same_shape(tmp_path: Path) -> None:
    view = mounted("scene")
    other = replace(view, focal=(1.2 * view.focal[0], 1.2 * view.focal[1]), distortion=(-0.1, 0.02, 0, 0, 0.0))
    cameras = VirtualCameras(trained(), robot_with(tmp_path / "a", {"scene": other}))
    wanted = seen({"scene": view}).images["scene"].pixels
    error = np.abs(cameras.pixels(seen({"scene": other}), "scene").astype(int) - wanted)[30:-30, 30:-30]
    assert error.max() <= 3 and "its lens counts" in cameras.said()[0]
    wide = VirtualCameras(trained(), robot_with(tmp_path / "b", {"scene": other}, size=(640, 480)))
    np.testing.assert_allclose(wide.pixels(seen({"scene": view}), "scene"), wanted, atol=1)
    assert "its lens does not count" in wide.said()[0]


def test_a_camera_that_looks_elsewhere_is_refused_before_anything_moves(tmp_path: Path) -> None:
    robot = robot_with(tmp_path / "a", {"scene": moved("scene", np.array([0, 0, 0, 0.7, 0, 0.0]))})
    with pytest.raises(MismatchError, match=r"camera scene sees \d+ % .*mount it as it was"):
        VirtualCameras(trained(), robot)
    robot = robot_with(tmp_path / "b", {"wrist": replace(mounted("wrist"), link="panda_hnad")})
    with pytest.raises(MismatchError, match=r"no such link.*panda_hand"):
        VirtualCameras(trained(), robot)


def test_views_of_training_are_those_of_the_calibration_or_the_mount(tmp_path: Path) -> None:
    view = moved("scene", np.array([0.03, 0.01, 0, 0.05, 0, 0.0]))
    told = with_views(INPUTS, robot_with(tmp_path, {"scene": view}), PLANE_M)
    assert told[0].trained_view is not None and told[1].trained_view == mounted("wrist")
    np.testing.assert_allclose(told[0].trained_view.translation, view.translation, atol=1e-8)
    bare = replace(PANDA, cameras=(replace(SCENE, mount=None),))
    with pytest.raises(ConfigError, match="calibrate it with such pictures, or give it a mount"):
        with_views(INPUTS[:1], bare, PLANE_M)


def test_a_simulated_robot_has_its_cameras_where_its_calibration_says(tmp_path: Path) -> None:
    view = moved("wrist", np.array([0.02, -0.01, 0.01, 0.05, 0.03, 0.02]))
    mount = calibrated_mounts(robot_with(tmp_path, {"wrist": view}))["wrist"]
    again = view_of_mount(mount, WRIST.width, WRIST.height)
    np.testing.assert_allclose(again.translation, view.translation, atol=1e-8)
    np.testing.assert_allclose(again.axes, view.axes, atol=1e-8)
    assert calibrated_mounts(PANDA)["wrist"] == WRIST.mount
