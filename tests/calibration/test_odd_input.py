"""What somebody who never saw the code gives it: each is one sentence with the fix, and nothing is lost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from tendon.calibration.boards.board import Board
from tendon.calibration.boards.detect import detect
from tendon.calibration.cameras.camera_info import write_camera_info
from tendon.calibration.left_out import LeftOut
from tendon.calibration.results.file import load_record
from tendon.calibration.results.record import check_covariance
from tendon.calibration.results.report import sentences
from tendon.calibration.rig.solve import solve
from tendon.calibration.session import Session, SessionBoard, SessionCamera, Setup
from tendon.cli.root import run
from tendon.core.errors import CalibrationError, ConfigError
from tests.calibration.rigs import HAND, HOME, MODEL, PANDA, drawn, known_rig
from tests.robots.calibrated import calibrated_panda

BOARD = Board()
HAND_BOARD = Board(name="hand", columns=5, rows=4, marker_m=0.023, dictionary="4X4_50")
JOINTS = dict(zip(PANDA.joint_names, HOME.tolist(), strict=True))


def before_a_camera(board: Board, tilt: float = 0.3, focal: float = 700.0, aside: float = 0.0) -> np.ndarray:
    """Returns a picture of a board 0.4 m before a camera, warped by OpenCV alone."""
    scale, quiet, (wide, high) = 4000.0, board.square_m / 2, board.size_m
    turn = np.asarray(cv2.Rodrigues(np.array([tilt, 0.5 * tilt, 0.1]))[0])
    matrix = np.array([[focal, 0, 319.5], [0, focal, 239.5], [0, 0, 1.0]])
    to_board = np.array([[1 / scale, 0, -quiet - wide / 2], [0, 1 / scale, -quiet - high / 2], [0, 0, 1.0]])
    plane = np.column_stack([turn[:, 0], turn[:, 1], [aside, 0.0, 0.4]])
    homography = matrix @ plane @ to_board
    return np.asarray(cv2.warpPerspective(drawn(board, scale), homography, (640, 480), borderValue=150))


def session(folder: Path, boards: dict[str, SessionBoard] | None = None, camera: str = "wrist") -> Session:
    write_camera_info(MODEL, camera, folder / "wrist.yaml")
    cameras = {camera: SessionCamera(link=HAND, camera_info="wrist.yaml")}
    table = {"table": SessionBoard(link="panda_link0")}
    return Session(folder, Setup(robot="panda", cameras=cameras, boards=boards or table))


def add(opened: Session, grey: np.ndarray, camera: str = "wrist", **joints: float) -> None:
    opened.add(camera, np.stack([grey] * 3, axis=2).astype(np.uint8), {**JOINTS, **joints}, 0.0, 5)


def refused(line: list[str], words: str, capsys: pytest.CaptureFixture[str], code: int = 2) -> str:
    """Runs a command that must fail with one line; returns all that it printed."""
    assert run(["calibrate", *line]) == code
    said = capsys.readouterr()
    assert words in said.err and said.err.count("\n") == 1
    return said.out + said.err


def test_a_joint_that_is_no_number_is_named_with_its_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add(session(tmp_path), before_a_camera(BOARD), panda_joint3=float("nan"))
    refused(["solve", str(tmp_path)], "001-wrist.png: joint panda_joint3 is nan, must be a number", capsys)


@pytest.mark.parametrize("speed", [float("nan"), -0.5])
def test_a_speed_that_is_none_is_no_rest(speed: float) -> None:
    known = known_rig(11, count=5)
    with pytest.raises(CalibrationError, match="the robot moves"):
        solve(known.rig, [replace(known.views[0], speed=speed), *known.views[1:]])


def test_degrees_and_joints_under_other_names_are_found_out() -> None:
    known = known_rig(11, count=5)
    degrees = [replace(view, joints=np.degrees(view.joints)) for view in known.views]
    with pytest.raises(CalibrationError, match=r"is said to be at .* record radians, these look like degrees"):
        solve(known.rig, degrees)
    order = [0, 1, 2, 5, 4, 3, 6, 7]
    with pytest.raises(CalibrationError, match=r"panda_joint4 is said to be at 2.* under its own name"):
        solve(known.rig, [replace(view, joints=view.joints[order]) for view in known.views])


@pytest.mark.parametrize("content", [b"\xff\xfe\x00bad", b""], ids=["no text", "no view"])
def test_views_that_are_no_text_or_none_are_one_line(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session(tmp_path)
    (tmp_path / "views.jsonl").write_bytes(content)
    words = "cannot be read as text" if content else f"has no views: `tendon calibrate capture {tmp_path}` takes them"
    refused(["solve", str(tmp_path)], words, capsys)


def test_no_picture_that_shows_the_board_is_said_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    opened = session(tmp_path, {"table": SessionBoard(link="panda_link0", board=Board(dictionary="6X6_250"))})
    for tilt in (0.1, 0.2, 0.3):
        add(opened, before_a_camera(BOARD, tilt))
    words = f"no picture of {tmp_path} shows a board: 001-wrist.png: board table is of dictionary 6X6_250, 17 markers"
    refused(["solve", str(tmp_path)], words, capsys)
    refused(
        [
            "verify",
            str(tmp_path),
            "--calibration",
            str(calibrated_panda(tmp_path / "robot").parent / "calibration.yaml"),
        ],
        words,
        capsys,
    )


def test_a_reason_is_said_once_for_all_of_its_pictures() -> None:
    few = [(f"{k:03d}.png", f"{k:03d}.png: board table: {k} corners are seen, needed are 8: nearer") for k in range(5)]
    left_out = LeftOut()
    for picture, why in [("x.png", "x.png: it is dark: more light"), *few]:
        left_out.add(picture, why)
    first, second = left_out.lines()
    assert first == f"left out: {few[0][1]} (and 4 more: 001.png to 004.png)"
    assert second == "left out: x.png: it is dark: more light"


def test_the_board_that_is_nearly_seen_says_why_not_the_other_one(tmp_path: Path) -> None:
    boards = {
        "table": SessionBoard(link="panda_link0"),
        "hand": SessionBoard(link=HAND, board=HAND_BOARD),
    }
    opened = session(tmp_path, boards)
    add(opened, before_a_camera(HAND_BOARD, aside=0.17))
    add(opened, before_a_camera(BOARD))
    said = list[str]()
    opened.views(opened.rig(PANDA), lambda _, why: said.append(why))
    (why,) = said
    assert "board hand" in why and "table" not in why and "needed are 8" in why


def test_two_boards_of_one_dictionary_in_a_picture_are_named() -> None:
    one = drawn(BOARD, 2000.0)
    with pytest.raises(CalibrationError, match=r"markers are seen twice: take the second board of dictionary 5X5_100"):
        detect(BOARD, np.vstack([one, one]), "003.png")


def test_a_camera_that_the_profile_has_not_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add(session(tmp_path, camera="wrst"), before_a_camera(BOARD), camera="wrst")
    refused(["solve", str(tmp_path)], "has no camera wrst; did you mean wrist?", capsys)


@pytest.mark.parametrize("link", [HAND, "panda_hand_tcp", "panda_leftfinger"], ids=["the same", "fixed", "a finger"])
def test_a_board_that_nothing_moves_before_the_camera_is_named(link: str) -> None:
    known = known_rig(11, count=5)
    rig = replace(known.rig, boards=(replace(known.rig.boards[0], link=link),))
    words = (
        "1 views from different poses" if "finger" in link else "which no joint moves against each other: look at `l"
    )
    with pytest.raises(CalibrationError, match=words):
        solve(rig, known.views)


def test_a_joint_that_moves_nothing_of_the_views_is_told_so() -> None:
    known = known_rig(11)
    found = solve(replace(known.rig, joints=(*known.rig.joints, "panda_finger_joint1")), known.views)
    assert found.held == {"panda_finger_joint1": "it moves neither a camera nor a board of these views"}


def test_a_joint_that_stands_twice_is_refused() -> None:
    with pytest.raises(ConfigError, match="joints of the rig repeat panda_joint2: each once"):
        replace(known_rig(11, count=3).rig, joints=("panda_joint2", "panda_joint2"))


def test_a_view_that_counts_for_nothing_is_named() -> None:
    known = known_rig(11, count=12, wrong=0.0)
    off = replace(known.views[4], joints=known.views[4].joints + 0.3)
    said = sentences(solve(known.rig, [*known.views[:4], off, *known.views[5:]]))
    assert any("no corner of 4 fits the others" in sentence for sentence in said)


def test_nothing_that_was_there_is_lost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    robot, page, launch = calibrated_panda(tmp_path), tmp_path / "board.pdf", tmp_path / "cameras.urdf"
    for file in (page, launch):
        file.write_text("mine")
    assert run(["calibrate", "board", str(page)]) == 0
    assert run(["calibrate", "frames", str(robot), "--form", "urdf", "--out", str(launch)]) == 0
    assert (tmp_path / "board.before.pdf").read_text() == (tmp_path / "cameras.before.urdf").read_text() == "mine"
    assert "cameras.before.urdf" in capsys.readouterr().out
    refused(["board", str(tmp_path / "views.jsonl")], "must end with .pdf", capsys)
    session(tmp_path)
    refused(["solve", str(tmp_path), "--report", str(tmp_path / "session.yaml")], "must end with .html", capsys)


def test_a_covariance_that_is_none_is_refused() -> None:
    check_covariance("of a zero that is exact", np.diag([0.0, 4e-8]))
    for wrong in (
        np.diag([-1e-6, 1e-6]),
        np.array([[1e-6, 5e-7], [0.0, 1e-6]]),
        np.array([[1e-6, 2e-6], [2e-6, 1e-6]]),
    ):
        with pytest.raises(ConfigError, match=r"is no covariance .* calibrate again"):
            check_covariance("of a place", wrong)


def test_a_calibration_keeps_what_has_no_number(tmp_path: Path) -> None:
    file = calibrated_panda(tmp_path).parent / "calibration.yaml"
    file.write_text(file.read_text().replace("sigma_px: ", "sigma_px: .nan #"))
    with pytest.raises(ConfigError, match=r"is nan, must be .* calibrate again"):
        load_record(file)


def pictures(folder: Path, tilts: list[float], focals: list[float]) -> list[str]:
    folder.mkdir()
    for k, (tilt, focal) in enumerate(zip(tilts, focals, strict=True)):
        turned = before_a_camera(BOARD, tilt * (-1) ** k, focal, aside=0.02 * (k % 3 - 1))
        cv2.imwrite(str(folder / f"{k:02d}.png"), cv2.rotate(turned, cv2.ROTATE_180) if k % 4 > 1 else turned)
    return ["calibrate", "intrinsics", str(folder), "--out", str(folder.parent / "wrist.yaml")]


def test_a_focal_length_that_pictures_hardly_tell_is_not_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = pictures(tmp_path / "flat", [0.06 + 0.005 * k for k in range(8)], [700.0] * 8)
    assert run(command) == 1 and not (tmp_path / "wrist.yaml").exists()
    said = capsys.readouterr().out
    assert "not good: the focal length is known within" in said and "tilted by 30 deg" in said
    assert run([*command, "--anyway"]) == 1 and (tmp_path / "wrist.yaml").exists()


def test_a_lens_that_was_focused_between_pictures_is_found_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tilts = [0.5, 0.7, 0.45, 0.6, 0.55, 0.65] * 2
    assert run(pictures(tmp_path / "one", tilts, [700.0] * 12)) == 0
    assert "not good" not in capsys.readouterr().out
    assert run(pictures(tmp_path / "two", tilts, [700.0] * 6 + [720.0] * 6)) == 1
    said = capsys.readouterr().out
    assert "00.png to 05.png are of another lens than 06.png to 11.png" in said and "autofocus" in said
