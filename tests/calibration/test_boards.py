"""Boards: geometry, print, detection, and each reason why one is not seen."""

from __future__ import annotations

import re
from pathlib import Path

import cv2
import numpy as np
import pytest

from tendon.calibration.boards.board import Board
from tendon.calibration.boards.detect import Pixels, detect
from tendon.calibration.boards.pdf import POINTS_PER_M, paper_for, write_pdf
from tendon.calibration.boards.shapes import write_black
from tendon.core.errors import CalibrationError, ConfigError
from tests.calibration.rigs import drawn

CHARUCO = Board()
TAGS = Board(kind="aprilgrid", dictionary="APRILTAG_36H11", columns=4, rows=3)
PX_PER_M = 3000.0


@pytest.mark.parametrize("board", [CHARUCO, TAGS], ids=["charuco", "aprilgrid"])
def test_every_corner_is_found_where_it_was_drawn(board: Board) -> None:
    found = detect(board, drawn(board, PX_PER_M))
    assert len(found.ids) == len(board.points) and found.rejected == 0
    quiet = board.square_m / 2
    where = (board.points[found.ids][:, :2] + quiet) * PX_PER_M - 0.5
    assert np.abs(found.pixels - where).max() < 0.6
    homography, _ = cv2.findHomography(board.points[found.ids][:, :2], found.pixels)
    np.testing.assert_allclose(homography / homography[2, 2], np.diag([PX_PER_M, PX_PER_M, 1]), atol=60)


def test_a_wrong_corner_is_left_out() -> None:
    picture = drawn(CHARUCO, PX_PER_M)
    found = detect(CHARUCO, picture)
    x, y = (int(value) for value in found.pixels[7])
    picture[y - 25 : y + 6, x - 25 : x + 6] = 0
    again = detect(CHARUCO, picture)
    moved = np.linalg.norm(again.pixels - found.pixels[np.isin(found.ids, again.ids)], axis=1)
    assert len(again.ids) >= 20 and moved.max() < 6


def blurred(picture: Pixels) -> Pixels:
    return np.asarray(cv2.GaussianBlur(picture, (0, 0), 3.8), dtype=np.uint8)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda picture: picture[:, ::-1].copy(), "mirror"),
        (lambda picture: np.full_like(picture, 90), "is not seen, the picture has 90 to 90"),
        (lambda picture: (picture // 12 + 100).astype(np.uint8), "more light"),
        (blurred, "blurred"),
        (lambda picture: picture[:130, :200].copy(), "more of it into view|all of it into view|all in view"),
        (lambda picture: (np.indices(picture.shape)[0] % 256).astype(np.uint8), "is not seen: bring all of it"),
    ],
    ids=["mirrored", "empty", "flat light", "blurred", "cut off", "something else"],
)
def test_why_a_board_is_not_seen_is_said_with_the_fix(spoil: object, words: str) -> None:
    with pytest.raises(CalibrationError, match=words) as refused:
        detect(CHARUCO, spoil(drawn(CHARUCO, PX_PER_M)), "003.png")  # type: ignore[operator]
    assert str(refused.value).startswith("003.png: ") and "\n" not in str(refused.value)


def test_another_dictionary_is_named() -> None:
    with pytest.raises(CalibrationError, match="markers of 5X5 are seen"):
        detect(Board(dictionary="4X4_50"), drawn(CHARUCO, PX_PER_M))


def test_another_size_of_board_is_named() -> None:
    small = Board(columns=3, rows=3, square_m=0.03, marker_m=0.022)
    with pytest.raises(CalibrationError, match="columns and rows right"):
        detect(Board(columns=20, rows=4), drawn(small, PX_PER_M))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"marker_m": 0.03}, "must be below square_m"),
        ({"dictionary": "5x5_10"}, "did you mean"),
        ({"columns": 2}, "columns"),
        ({"columns": 30, "rows": 30}, "needs 450 markers"),
    ],
)
def test_a_board_that_cannot_be_is_refused(values: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Board(**values)  # type: ignore[arg-type]


def test_the_print_has_its_true_size_and_a_ruler_of_a_hundred_millimetres(tmp_path: Path) -> None:
    assert write_pdf(CHARUCO, tmp_path / "board.pdf") == ("a4", None)
    text = (tmp_path / "board.pdf").read_bytes().decode("latin-1")
    rectangles = np.array([[float(word) for word in line.split()[:4]] for line in re.findall(r"[\d. ]+ re f", text)])
    side = CHARUCO.square_m * POINTS_PER_M
    squares = rectangles[np.isclose(rectangles[:, 2], side, atol=1e-3) & np.isclose(rectangles[:, 3], side, atol=1e-3)]
    assert len(squares) == (CHARUCO.columns * CHARUCO.rows + 1) // 2
    assert any(abs(width - 0.1 * POINTS_PER_M) < 1.0 for width in rectangles[:, 2])
    box = [float(word) for word in re.findall(r"/MediaBox \[([\d. ]+)\]", text)[0].split()]
    assert (rectangles[:, :2] > 0).all() and (rectangles[:, 0] + rectangles[:, 2] < box[2]).all()
    assert "/PrintScaling /None" in text


def test_a_board_larger_than_its_paper_is_refused() -> None:
    with pytest.raises(ConfigError, match="fewer or smaller squares"):
        paper_for(Board(columns=10, rows=8, square_m=0.05, marker_m=0.04), "a4")
    with pytest.raises(ConfigError, match="known: a4"):
        paper_for(CHARUCO, "a5")


def test_the_mesh_for_simulators_covers_what_is_black(tmp_path: Path) -> None:
    write_black(CHARUCO, tmp_path / "board.obj")
    lines = (tmp_path / "board.obj").read_text().splitlines()
    assert sum(line.startswith("f ") for line in lines) == 12 * len(CHARUCO.black())
    area = sum(width * height for _, _, width, height in CHARUCO.black())
    black = (drawn(CHARUCO, PX_PER_M) == 0).sum() / PX_PER_M**2
    assert abs(area - black) < 0.01 * area
