"""The commands on files, as a user has them; bad ones are one line and exit code 2."""

from __future__ import annotations

import ast
import shutil
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pinocchio as pin
import pytest

from tendon.calibration.boards.board import Board
from tendon.calibration.cameras.camera_info import load_camera_info, write_camera_info
from tendon.calibration.results.file import load_record, write_record
from tendon.calibration.session import Session, SessionBoard, SessionCamera, Setup
from tendon.calibration.transforms import Pose, exp, from_quaternion
from tendon.cli.root import run
from tendon.core.errors import ConfigError
from tendon.robots.environment import load_environment
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import load_profile, profile_file
from tests.calibration.rigs import HAND, HOME, MODEL, PANDA, drawn
from tests.robots.calibrated import calibrated_panda


def test_a_board_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["calibrate", "board", str(tmp_path / "board.pdf")]) == 0
    assert "100 %" in capsys.readouterr().out and (tmp_path / "board.pdf").read_bytes().startswith(b"%PDF-1.4")


def held(rng: np.random.Generator) -> np.ndarray:
    """Returns a picture of a board that is held before a camera with a focal length of 700 px."""
    board, scale = Board(), 4000.0
    quiet = board.square_m / 2
    wide, high = board.size_m
    turn = np.asarray(cv2.Rodrigues(np.array([*rng.uniform(-0.5, 0.5, 2), rng.uniform(-0.3, 0.3)]))[0])
    middle = np.array([*rng.uniform(-0.03, 0.03, 2), rng.uniform(0.33, 0.45)])
    matrix = np.array([[700.0, 0, 319.5], [0, 700.0, 239.5], [0, 0, 1.0]])
    to_board = np.array([[1 / scale, 0, -quiet - wide / 2], [0, 1 / scale, -quiet - high / 2], [0, 0, 1.0]])
    plane = np.column_stack([turn[:, 0], turn[:, 1], middle])
    return np.asarray(cv2.warpPerspective(drawn(board, scale), matrix @ plane @ to_board, (640, 480), borderValue=150))


def test_intrinsics_come_from_a_folder_of_pictures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(4)
    (tmp_path / "pictures").mkdir()
    for k in range(8):
        cv2.imwrite(str(tmp_path / "pictures" / f"{k}.png"), held(rng))
    cv2.imwrite(str(tmp_path / "pictures" / "nothing.png"), np.full((480, 640), 128, np.uint8))
    out = tmp_path / "wrist.yaml"
    assert run(["calibrate", "intrinsics", str(tmp_path / "pictures"), "--out", str(out), "--name", "wrist"]) == 0
    assert "left out: nothing.png: board board is not seen" in capsys.readouterr().out
    np.testing.assert_allclose(load_camera_info(out)[0].focal, 700.0, rtol=0.03)


def test_a_table_comes_from_touch_points(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    points = tmp_path / "touched.csv"
    points.write_text("x, y, z\n" + "".join(f"{x}, {y}, 0.01\n" for x in (0.3, 0.6) for y in (-0.2, 0.0, 0.2)))
    assert run(["calibrate", "plane", str(points), "--out", str(tmp_path / "table.yaml")]) == 0
    assert "6 points within 0.00 mm" in capsys.readouterr().out


def test_a_table_with_any_name_is_an_environment(tmp_path: Path) -> None:
    points, out = tmp_path / "touched.csv", tmp_path / "table.yaml"
    points.write_text("".join(f"{x}, {y}, 0.01\n" for x in (0.3, 0.6) for y in (-0.2, 0.0, 0.2)))
    assert run(["calibrate", "plane", str(points), "--out", str(out), "--body", "my: table"]) == 0
    assert set(load_environment(out).bodies) == {"my: table"}


@pytest.mark.parametrize("name", ["profile.yaml", "collisions.yaml"])
def test_a_table_replaces_no_other_part_of_a_robot(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    points, out = tmp_path / "touched.csv", tmp_path / name
    points.write_text("".join(f"{x}, {y}, 0.01\n" for x in (0.3, 0.6) for y in (-0.2, 0.0, 0.2)))
    shutil.copy(Path("robots/panda") / name, out)
    assert run(["calibrate", "plane", str(points), "--out", str(out)]) == 2
    assert f"--out {out} is there, and is no environment: name another file" in capsys.readouterr().err
    assert list(tmp_path.glob("*.yaml")) == [out] and out.read_bytes() == (Path("robots/panda") / name).read_bytes()


def test_a_delay_comes_from_two_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    at = np.arange(0, 8, 0.02)
    for name, late in (("said.csv", 0.0), ("seen.csv", 0.04)):
        wave = np.sin(4.1 * (at - late)) + 0.4 * np.sin(6.3 * (at - late))
        np.savetxt(tmp_path / name, np.column_stack([at, wave]), delimiter=",")
    assert run(["calibrate", "latency", str(tmp_path / "said.csv"), str(tmp_path / "seen.csv")]) == 0
    assert float(capsys.readouterr().out.split(" ms later")[0]) == pytest.approx(40.0, abs=1.0)


def test_a_delay_goes_into_the_robots_calibration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    at, robot = np.arange(0, 8, 0.02), calibrated_panda(tmp_path)
    for name, late in (("said.csv", 0.0), ("seen.csv", 0.04)):
        wave = np.sin(4.1 * (at - late)) + 0.4 * np.sin(6.3 * (at - late))
        np.savetxt(tmp_path / name, np.column_stack([at, wave]), delimiter=",")
    files = ["calibrate", "latency", str(tmp_path / "said.csv"), str(tmp_path / "seen.csv"), "--robot", str(robot)]
    assert run([*files, "--camera", "scene"]) == 0 and run(files) == 0
    late = load_profile(robot).latencies
    assert late.cameras["scene"] == pytest.approx(0.04, abs=1e-3) and late.command == pytest.approx(0.04, abs=1e-3)
    assert run([*files, "--camera", "scnee"]) == 2 and "did you mean scene" in capsys.readouterr().err
    swapped = ["calibrate", "latency", str(tmp_path / "seen.csv"), str(tmp_path / "said.csv"), "--robot", str(robot)]
    assert run(swapped) == 2 and "which file is which" in capsys.readouterr().err


def test_a_joint_at_its_stops_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["calibrate", "joint", "so101", "shoulder_pan", "--at-lower=-1.87", "--at-upper", "1.96"]) == 0
    assert capsys.readouterr().out.startswith("shoulder_pan: zero +0.045")


def test_a_workspace_comes_from_points_at_its_borders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    robot, points = calibrated_panda(tmp_path), tmp_path / "borders.csv"
    before = robot.read_text()
    corners = [f"{x}, {y}, {z}\n" for x in (0.25, 0.7) for y in (-0.4, 0.4) for z in (0.005, 0.8)]
    points.write_text("x, y, z\n" + "".join(corners))
    assert run(["calibrate", "workspace", str(points), "--robot", str(robot), "--inward-mm", "10"]) == 0
    box = load_profile(robot).workspace
    np.testing.assert_allclose(box.lower, [0.26, -0.39, 0.015])
    np.testing.assert_allclose(box.upper, [0.69, 0.39, 0.79])
    changed = [line for line in robot.read_text().splitlines() if line not in before.splitlines()]
    assert len(changed) == 1 and changed[0].startswith("workspace: {lower: [0.26, -0.39, 0.015]")
    points.write_text("".join(f"{x}, {y}, 0.01\n" for x in (0.25, 0.7) for y in (-0.4, 0.4)))
    assert run(["calibrate", "workspace", str(points), "--robot", str(robot)]) == 2
    assert "0 mm along z" in capsys.readouterr().err
    points.write_text("".join(f"{x}, {y}, {z}\n" for x in (0.6, 0.7) for y in (-0.4, 0.4) for z in (0.0, 0.9)))
    assert run(["calibrate", "workspace", str(points), "--robot", str(robot)]) == 2
    assert "home puts the tool at" in capsys.readouterr().err and load_profile(robot).workspace == box


def test_cameras_are_where_ros_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same pose in each form, by the frame that the profile gives to the camera."""
    folder, turn = tmp_path / "panda", np.array([0.3, -2.0, 1.0])
    robot = calibrated_panda(tmp_path)
    record = load_record(folder / "calibration.yaml")
    pose = Pose(rotation=exp(turn), translation=np.array([0.5, 0.1, 1.0]))
    place = replace(record.cameras["scene"].place, rotation=pose.quaternion, translation=(0.5, 0.1, 1.0))
    camera = replace(record.cameras["scene"], place=place)
    write_record(replace(record, cameras={"scene": camera}), folder / "calibration.yaml")
    frame = load_profile(robot).camera("scene").frame

    assert run(["calibrate", "frames", str(robot)]) == 0
    words = capsys.readouterr().out.split()
    said = dict(zip(words[4::2], words[5::2], strict=True))
    assert (said["--frame-id"], said["--child-frame-id"]) == ("panda_link0", frame)
    quaternion = [float(said[f"--q{axis}"]) for axis in "xyzw"]
    np.testing.assert_allclose(from_quaternion(*quaternion), pose.rotation, atol=1e-6)

    assert (
        run(["calibrate", "frames", str(robot), "--form", "launch", "--out", str(tmp_path / "cameras.launch.py")]) == 0
    )
    launched = ast.parse((tmp_path / "cameras.launch.py").read_text())
    (given,) = (ast.literal_eval(node.value) for node in launched.body if isinstance(node, ast.Assign))
    assert given == [words[4:]]

    capsys.readouterr()
    assert run(["calibrate", "frames", str(robot), "--form", "urdf"]) == 0
    part = capsys.readouterr().out
    file = tmp_path / "robot.urdf"
    file.write_text(f'<robot name="r"><link name="panda_link0"/>{part}</robot>')
    model = pin.buildModelFromUrdf(str(file))
    found = model.frames[model.getFrameId(frame)].placement
    np.testing.assert_allclose(found.rotation, pose.rotation, atol=1e-6)
    np.testing.assert_allclose(found.translation, pose.translation, atol=1e-9)


def test_a_motion_tells_the_direction_and_a_gripper_its_range(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["calibrate", "joint", "so101", "elbow_flex", "--moved", "0.2", "--seen=-0.19"]) == 0
    assert "the wrong way" in capsys.readouterr().out
    assert run(["calibrate", "joint", "so101", "gripper", "--open", "1.52", "--closed=-0.15"]) == 0
    assert "open: 1.52, closed: -0.15" in capsys.readouterr().out


@pytest.fixture
def own_arm(tmp_path: Path) -> Path:
    """The profile of an SO-101 of its own."""
    shutil.copytree(profile_file("so101").parent, tmp_path / "so101")
    return tmp_path / "so101" / "profile.yaml"


def test_a_joints_zero_counts_in_the_robots_kinematics(own_arm: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Joint by joint, for an arm without a camera or an absolute encoder."""
    for joint, said in (("shoulder_lift", "0.05"), ("elbow_flex", "-0.03"), ("shoulder_lift", "0.04")):
        assert run(["calibrate", "joint", str(own_arm), joint, f"--said={said}", "--true", "0", "--write"]) == 0
    assert "the one before" in capsys.readouterr().out
    plain, mine = load_profile("so101"), load_profile(own_arm)
    home = plain.vector("home")
    zeros = np.array([{"shoulder_lift": 0.04, "elbow_flex": -0.03}.get(name, 0.0) for name in plain.joint_names])
    np.testing.assert_allclose(
        Kinematics(mine).tool_pose(home)[0], Kinematics(plain).tool_pose(home - zeros)[0], atol=1e-9
    )


def test_a_zero_that_no_robot_is_loaded_with_is_not_written(own_arm: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["calibrate", "joint", str(own_arm), "elbow_flex", "--said", "0.5", "--true", "0", "--write"]) == 2
    assert "up to 0.35" in capsys.readouterr().err
    assert load_profile(own_arm).calibration is None


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("board b.pdf --marker-mm 40", "must be below square_m"),
        ("board b.pdf --paper a9", "known: a4"),
        ("intrinsics nowhere --out x.yaml", "no folder nowhere"),
        ("intrinsics . --out x.yaml --lens tele", "must be pinhole or fisheye"),
        ("solve nowhere", "has no session.yaml"),
        ("verify nowhere", "has no session.yaml"),
        ("latency a.csv b.csv", "a.csv cannot be read"),
        ("plane a.csv --out b.yaml", "a.csv cannot be read"),
        ("joint so101 shoulder_pann --said 0 --true 0", "did you mean shoulder_pan?"),
        ("frames panda", "has no calibrated camera"),
        ("frames panda --form xml", "known: lines, launch, urdf"),
        ("workspace a.csv --robot panda", "a.csv cannot be read"),
        ("plane --out b.yaml", "give a file of touch points, or --robot and --board"),
        ("plane --robot panda --out b.yaml", "names no calibration"),
        ("joint so101 shoulder_pan", "give --at-lower and --at-upper, or --said and --true"),
        ("joint so101 shoulder_pan --open 1 --closed 0", "no gripper that joint shoulder_pan drives"),
    ],
)
def test_what_is_wrong_is_one_line(
    line: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["calibrate", *line.split()]) == 2
    said = capsys.readouterr().err
    assert words in said and said.count("\n") == 1


def session(folder: Path) -> Session:
    write_camera_info(MODEL, "wrist", folder / "wrist.yaml")
    return Session(
        folder,
        Setup(
            robot="panda",
            cameras={"wrist": SessionCamera(link=HAND, camera_info="wrist.yaml")},
            boards={"board": SessionBoard(link="panda_link0")},
            joints=("panda_joint2",),
        ),
    )


def test_a_session_comes_back(tmp_path: Path) -> None:
    opened, picture = session(tmp_path), np.stack([held(np.random.default_rng(0))] * 3, axis=2)
    joints = dict(zip(PANDA.joint_names, HOME.tolist(), strict=True))
    opened.add("wrist", picture, joints, 0.001, 5)
    again = Session(tmp_path)
    assert again.setup == opened.setup
    (view,) = again.views(again.rig(PANDA))
    np.testing.assert_array_equal(view.joints, HOME)
    assert (view.camera, view.board, view.speed) == ("wrist", "board", 0.001) and len(view.found.ids) > 20


def test_a_board_has_the_name_that_the_session_gives_it(tmp_path: Path) -> None:
    session(tmp_path)
    setup = (tmp_path / "session.yaml").read_text().replace("  board:\n    link", "  desk:\n    link")
    (tmp_path / "session.yaml").write_text(setup)
    (board,) = Session(tmp_path).rig(PANDA).boards
    assert board.name == "desk"


def test_a_board_that_is_turned_by_no_quaternion_is_refused(tmp_path: Path) -> None:
    opened = session(tmp_path)
    setup = replace(opened.setup, boards={"board": SessionBoard(link="panda_link0", known=(0.5, 0, 0, 0, 0, 0, 0))})
    with pytest.raises(ConfigError, match="must have a length above 0"):
        Session(tmp_path, setup).rig(PANDA)


def test_a_session_with_a_wrong_line_is_refused(tmp_path: Path) -> None:
    opened = session(tmp_path)
    (tmp_path / "views.jsonl").write_text("{not json\n")
    with pytest.raises(ConfigError, match="line 1 is no JSON"):
        list(opened.shots())
    (tmp_path / "views.jsonl").write_text('{"camera": "wrist", "picture": "x.png", "joint": {}}\n')
    with pytest.raises(ConfigError, match="did you mean joints"):
        list(opened.shots())


def test_solve_leaves_the_profile_alone_when_views_do_not_tell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    opened, picture = session(tmp_path), np.stack([held(np.random.default_rng(0))] * 3, axis=2)
    joints = dict(zip(PANDA.joint_names, HOME.tolist(), strict=True))
    for k in range(4):
        opened.add("wrist", picture, {**joints, "panda_joint1": 0.001 * k}, 0.0, 5)
    target = tmp_path / "calibration.yaml"
    assert run(["calibrate", "solve", str(tmp_path), "--out", str(target)]) == 2
    assert "turn the hand by 30 deg" in capsys.readouterr().err and not target.exists()
