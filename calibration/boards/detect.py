"""Finds a board in a picture, and says what is wrong where it does not."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from tendon.calibration.boards.board import DICTIONARIES, Board
from tendon.calibration.boards.sharpness import measure_sharpness
from tendon.core.errors import CalibrationError
from tendon.core.types import Array, freeze

MIN_CORNERS = 8
"""Fewer say little, and a wrong one among them cannot be told."""
MAX_OFF_SHARE = 0.02
"""How far a corner may be from where a plane without lens distortion has it, as a share of the board's picture."""
MIN_OFF_PX = 3.0
LEAST_TWICE = 2
"""Markers that a second board of the same dictionary shows: one may be a mistake of the detector."""
MAX_BLUR_PX = 3.0
"""Standard deviation of the blur of an edge: beyond it corners are off by more than a tenth of a pixel."""
MIN_CONTRAST = 25.0
"""Between black and white, of 255."""
Pixels = npt.NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True, eq=False)
class Detection:
    """Corners of a board in a picture.

    Attributes:
        ids: (k,) which of the board's points.
        pixels: (k, 2) column and row, the centre of the first pixel at 0, 0.
        width: of the picture [px].
        height: likewise.
        rejected: corners that did not fit the others.
    """

    ids: npt.NDArray[np.int64]
    pixels: Array
    width: int
    height: int
    rejected: int = 0

    def __post_init__(self) -> None:
        ids = np.array(self.ids, dtype=np.int64)
        ids.setflags(write=False)
        object.__setattr__(self, "ids", ids)
        object.__setattr__(self, "pixels", freeze("pixels", self.pixels, (len(ids), 2)))

    def only(self, kept: npt.NDArray[np.bool_]) -> Detection:
        """Returns it with some of its (k,) corners."""
        return Detection(
            ids=self.ids[kept],
            pixels=self.pixels[kept],
            width=self.width,
            height=self.height,
            rejected=self.rejected + int((~kept).sum()),
        )


def detect(board: Board, picture: Pixels, where: str = "picture") -> Detection:
    """Returns the corners of a board in a picture, those that fit none of the others left out.

    Args:
        board: that is looked for.
        picture: (height, width) or (height, width, 3) RGB.
        where: what error messages call the picture.

    Raises:
        CalibrationError: it is not seen, seen mirrored, of another dictionary, too blurred or too dark; with the fix.
    """
    grey = np.asarray(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY) if picture.ndim == 3 else picture, dtype=np.uint8)
    ids, pixels = _corners(board, grey)
    if len(ids) < MIN_CORNERS:
        raise CalibrationError(_why_not(board, grey, len(ids), where))
    height, width = grey.shape
    found = Detection(ids=ids, pixels=pixels, width=width, height=height)
    found = found.only(fits_plane(board, ids, pixels))
    if len(found.ids) < MIN_CORNERS:
        raise CalibrationError(
            f"{where}: corners of board {board.name} lie on no plane: is it flat, and is every number of the board "
            "right (columns, rows, dictionary)?"
        )
    sharpness = measure_sharpness(board, grey, found.ids, found.pixels)
    if sharpness is not None:
        if sharpness.contrast < MIN_CONTRAST:
            raise CalibrationError(
                f"{where}: black and white of board {board.name} are {sharpness.contrast:.0f} of 255 apart, must be "
                f"{MIN_CONTRAST:.0f}: more light, or a longer exposure with everything at rest"
            )
        if sharpness.blur_px > MAX_BLUR_PX:
            raise CalibrationError(
                f"{where}: edges of board {board.name} are blurred by {sharpness.blur_px:.1f} px, at most "
                f"{MAX_BLUR_PX:.0f}: focus the lens, wait until the robot is at rest, shorten the exposure"
            )
    return found


def count_markers(board: Board, picture: Pixels) -> int:
    """Returns how many different markers of a board are seen in a (height, width, 3) RGB picture."""
    grey = np.asarray(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY), dtype=np.uint8)
    return len({number for number in _markers(board.dictionary, grey)[1].tolist() if number < board.marker_count})


def fits_plane(board: Board, ids: npt.NDArray[np.int64], pixels: Array) -> npt.NDArray[np.bool_]:
    """Returns (k,) which corners are where a homography of the others has them, within what a lens bends."""
    flat = board.points[ids][:, :2]
    size = float(np.linalg.norm(np.ptp(pixels, axis=0)))
    allowed = max(MIN_OFF_PX, MAX_OFF_SHARE * size)
    try:
        homography, _ = cv2.findHomography(flat, pixels, cv2.RANSAC, allowed)
    except cv2.error:
        homography = None
    if homography is None:
        return np.zeros(len(ids), dtype=bool)
    mapped = cv2.perspectiveTransform(flat[:, None], homography)[:, 0]
    return np.asarray(np.linalg.norm(mapped - pixels, axis=1) < allowed)


def _corners(board: Board, grey: Pixels) -> tuple[npt.NDArray[np.int64], Array]:
    if board.kind == "charuco":
        corners, ids, _, _ = cv2.aruco.CharucoDetector(board.opencv()).detectBoard(grey)
        if ids is None or corners is None:
            return np.zeros(0, np.int64), np.zeros((0, 2))
        numbers: npt.NDArray[np.int64] = np.array(ids, dtype=np.int64).ravel()
        return numbers, np.array(corners, dtype=np.float64).reshape(-1, 2)
    markers, seen = _markers(board.dictionary, grey)
    known = [k for k, number in enumerate(seen) if number < board.marker_count]
    if not known:
        return np.zeros(0, np.int64), np.zeros((0, 2))
    corner_ids: npt.NDArray[np.int64] = np.concatenate([4 * int(seen[k]) + np.arange(4, dtype=np.int64) for k in known])
    return corner_ids, np.concatenate([markers[k] for k in known])


def _markers(dictionary: str, grey: Pixels) -> tuple[list[Array], npt.NDArray[np.int64]]:
    """Returns the (4, 2) corners of each marker of a dictionary, and their numbers."""
    settings = cv2.aruco.DetectorParameters()
    settings.cornerRefinementMethod = cv2.aruco.CORNER_REFINE_SUBPIX
    detector = cv2.aruco.ArucoDetector(cv2.aruco.getPredefinedDictionary(DICTIONARIES[dictionary]), settings)
    corners, numbers, _ = detector.detectMarkers(grey)
    if numbers is None:
        return [], np.zeros(0, np.int64)
    return [np.asarray(each, np.float64).reshape(4, 2) for each in corners], np.asarray(numbers).ravel().astype(
        np.int64
    )


def _why_not(board: Board, grey: Pixels, found: int, where: str) -> str:
    """Returns why a board is not seen, and what to do."""
    begin = f"{where}: board {board.name}"
    if len(_corners(board, np.ascontiguousarray(grey[:, ::-1]))[0]) >= MIN_CORNERS:
        return (
            f"{begin} is seen in a mirror: switch mirroring off in the camera's driver (a flipped picture turns "
            "left into right)"
        )
    numbers = _markers(board.dictionary, grey)[1]
    own, twice = len(numbers), len(numbers) - len(set(numbers.tolist()))
    if twice >= LEAST_TWICE:
        return (
            f"{begin}: {twice} of its markers are seen twice: take the second board of dictionary {board.dictionary} "
            "out of view, or print one of them with another dictionary"
        )
    if own >= 4:
        return (
            f"{begin}: {own} markers of dictionary {board.dictionary} are seen, but {found} corners of a board of "
            f"{board.columns} x {board.rows}, needed are {MIN_CORNERS}: are columns and rows right, and is it all "
            "in view?"
        )
    if found:
        return f"{begin}: {found} corners are seen, needed are {MIN_CORNERS}: bring more of it into view, or nearer"
    for other in ("4X4_1000", "5X5_1000", "6X6_1000", "7X7_1000", "APRILTAG_36H11", "ARUCO_ORIGINAL"):
        seen = len(_markers(other, grey)[1])
        if seen >= 4 and seen > own:
            return (
                f"{begin} is of dictionary {board.dictionary}, {seen} markers of {other.removesuffix('_1000')} are "
                "seen: give the dictionary of the board that is there, or print the other one"
            )
    low, high = np.percentile(grey, (1, 99))
    if high - low < 2 * MIN_CONTRAST:
        return f"{begin} is not seen, the picture has {low:.0f} to {high:.0f} of 255: more light, or another exposure"
    return (
        f"{begin} is not seen: bring all of it into view, sharp, at least {MIN_CORNERS} corners, no reflections on it"
    )
