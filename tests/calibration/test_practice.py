"""A simulated rig to practise on: what its scene hides, what its world shows, and what is written for it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from tendon.calibration.boards.detect import detect
from tendon.calibration.session import Session
from tendon.cli.root import run
from tendon.core.config import build
from tendon.core.errors import ConfigError, MismatchError
from tendon.demo.calibration.described import RigFile, RigPlaces, rig_file
from tendon.demo.calibration.practice import compare, new_practice
from tendon.demo.calibration.scene import open_world, scene_of
from tendon.demo.calibration.suite import CALIBRATION
from tendon.robots.profile import RobotProfile, load_profile, profile_file
from tendon.ros2_nodes.stand_ins.simulated_robot import SimulatedRobot
from tendon.sim.cameras import mount_of

SEED = 100_003
ARM = slice(1, 6)
"""Joints whose zeros are off."""


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> RobotProfile:
    return load_profile(new_practice(tmp_path_factory.mktemp("rig") / "practice", "panda", SEED).profile)


@pytest.mark.parametrize("simulator", ["mujoco", "pybullet"])
def test_from_its_start_each_camera_sees_the_board_that_moves_before_it(profile: RobotProfile, simulator: str) -> None:
    scene = scene_of(profile, SEED)
    drawn, stepped = (open_world(profile, simulator) for _ in range(2))
    try:
        boards = {each.board.name: each.board for each in scene.rig.boards}
        stepped.reset(scene)
        drawn.reset(scene)
        for _ in range(30):
            stepped.step()
        drawn.set_state(stepped.state())  # as the camera process does
        for camera, board in (("scene", "hand"), ("wrist", "table")):
            pixels = drawn.render(camera)
            assert pixels.shape == (480, 640, 3) and len(detect(boards[board], pixels, camera).ids) >= 10
            lens = scene.rig.cameras[camera].model
            np.testing.assert_allclose(drawn.cameras.intrinsics(camera), lens.matrix)
            np.testing.assert_allclose(drawn.cameras.distortion(camera), lens.distortion)
        assert drawn.render("wrist", width=320, height=240).shape == (240, 320, 3)
        assert not scene.task.success(drawn) and scene.task.progress(drawn) == 0.0
    finally:
        drawn.close()
        stepped.close()


def test_the_board_on_the_hand_goes_with_it_in_the_state(profile: RobotProfile) -> None:
    world = open_world(profile, "mujoco")
    try:
        before = world.state().poses
        world.reset_joints(np.array(world.scene.start) + 0.2)
        after = world.state().poses
        assert before[:2] == after[:2]
        assert all(
            np.abs(np.subtract(one, other)).max() > 0.02 for one, other in zip(before[2:], after[2:], strict=True)
        )
    finally:
        world.close()


def test_what_is_off_is_what_the_suite_says_and_another_in_each_scene(profile: RobotProfile) -> None:
    seen = []
    for seed in (SEED, SEED + 1, -3, 2**62):
        rig = scene_of(profile, seed).rig
        assert scene_of(profile, seed) == scene_of(replace(profile), seed)
        zeros = np.degrees(np.abs(rig.zeros[ARM]))
        assert (zeros >= 1).all() and (zeros <= 3).all() and not rig.zeros[[0, 6, 7]].any()
        for camera in profile.cameras:
            away = rig.cameras[camera.name].place.translation - np.array(mount_of(profile, camera).position)
            assert 0.02 <= float(np.linalg.norm(away)) <= 0.05
        seen.append(tuple(rig.zeros))
    assert len(set(seen)) == 4


def test_a_simulated_robot_says_the_scenes_zeros_whatever_its_calibration_has_found(profile: RobotProfile) -> None:
    """Otherwise a calibration would become the truth, and could not be wrong."""
    scenes = [scene_of(profile, seed) for seed in (SEED, SEED + 1)]
    robot = SimulatedRobot(profile, CALIBRATION, scenes[0], "mujoco")
    try:
        for scene in (*scenes, scenes[0]):
            robot.load(scene)
            said, _ = robot.joint_state()
            np.testing.assert_allclose(said - scene.start, scene.rig.zeros, atol=1e-9)
    finally:
        robot.world.close()


def test_bad_seeds_families_and_robots_are_refused(profile: RobotProfile) -> None:
    with pytest.raises(ValueError, match="64 bits"):
        scene_of(profile, 2**63)
    with pytest.raises(ValueError, match="unknown task family pick; known: rig"):
        scene_of(profile, 1, "pick")
    with pytest.raises(MismatchError, match="needs a camera, and profile panda has none"):
        scene_of(replace(profile, cameras=()), 1)


def test_a_wrong_file_of_the_suite_is_one_clear_sentence(profile: RobotProfile) -> None:
    with pytest.raises(ConfigError, match="joint panda_joint22; did you mean panda_joint2"):
        RigPlaces(start={"panda_joint22": 0.0}).start_of(profile)
    with pytest.raises(ConfigError, match="on_hand has 3 numbers, must be x, y, z and a quaternion"):
        RigPlaces(on_hand=(0.0, 0.0, 0.0))
    with pytest.raises(ConfigError, match="boards are table: they must be table and hand"):
        build(RigFile, "calibration.yaml", {"boards": {"table": {}}, "robots": {"default": {}}})
    with pytest.raises(ConfigError, match="robots has no default"):
        build(RigFile, "calibration.yaml", {"boards": {"table": {}, "hand": {}}, "robots": {"panda": {}}})
    assert rig_file().board("hand", "nobody").square_m == 0.03


def test_a_practice_is_written_once_and_says_what_to_type(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "practice"
    assert run(["calibrate", "practice", str(out), "--scene", "100007"]) == 0
    said = capsys.readouterr().out
    assert f"robot:={out}/robot/profile.yaml suite:=calibration policy:=none" in said and "scene:=100007" in said
    profile = load_profile(out / "robot" / "profile.yaml")
    assert all((camera.width, camera.height) == (640, 480) for camera in profile.cameras)
    for name in ("session", "check"):
        session = Session(out / name)
        rig = session.rig(profile)
        true = scene_of(profile, 100_007).rig
        assert [board.name for board in rig.boards] == ["table", "hand"] and not list(session.shots())
        for camera in rig.cameras:
            np.testing.assert_allclose(camera.model.values, true.cameras[camera.name].model.values, rtol=1e-6)
        told = yaml.safe_load((out / name / "session.yaml").read_text())
        assert "place" not in str(told) and "zeros" not in str(told), "it tells nothing that is hidden"
    before = (out / "robot" / "profile.yaml").read_bytes()
    assert run(["calibrate", "practice", str(out)]) == 2
    assert "is there already" in capsys.readouterr().err
    assert (out / "robot" / "profile.yaml").read_bytes() == before
    assert run(["calibrate", "practice", str(out), "--truth"]) == 2
    assert "names no calibration yet" in capsys.readouterr().err
    assert run(["calibrate", "practice", str(tmp_path), "--truth"]) == 2
    assert "is no practice" in capsys.readouterr().err


def test_a_profile_of_any_name_can_be_practised_with(tmp_path: Path) -> None:
    """What it is compared with was looked for as profile.yaml only."""
    mine = tmp_path / "mine"
    shutil.copytree(profile_file("panda").parent, mine)
    (mine / "profile.yaml").rename(mine / "arm.yaml")
    new_practice(tmp_path / "practice", str(mine / "arm.yaml"), 3)
    with pytest.raises(ConfigError, match="names no calibration yet"):
        compare(tmp_path / "practice", 3)
