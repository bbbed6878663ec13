"""A calibration board: squares with markers (ChArUco), or a grid of AprilTags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import cv2
import numpy as np

from tendon.core.checks import closest
from tendon.core.errors import ConfigError
from tendon.core.fields import FileName, Range, check_fields
from tendon.core.types import Array

DICTIONARIES = {
    name.removeprefix("DICT_"): number
    for name, number in vars(cv2.aruco).items()
    if name.startswith("DICT_") and isinstance(number, int) and not name.endswith(("h5", "h9", "h10", "h11", "h12"))
}
"""OpenCV's dictionaries of markers, by name."""
QUIET_SHARE = 0.5
"""White round a board, in squares: a detector needs it."""


@dataclass(frozen=True, kw_only=True)
class Board:
    """What is printed, and how large it really is.

    Its frame: origin at its upper left corner, x to the right, y down, z away from whoever looks at it.

    Attributes:
        name: of the board, in results.
        kind: "charuco": a chessboard with a marker in each white square; "aprilgrid": a grid of tags.
        columns: squares, or tags, along x.
        rows: along y.
        square_m: side of a square; of a grid, from the beginning of a tag to that of the next one.
        marker_m: side of a marker.
        dictionary: of its markers: one of OpenCV's, such as 5X5_100.
    """

    name: FileName = "board"
    kind: Literal["charuco", "aprilgrid"] = "charuco"
    columns: Annotated[int, Range(least=3, most=40)] = 7
    rows: Annotated[int, Range(least=3, most=40)] = 5
    square_m: Annotated[float, Range(least=0.002, most=1.0, unit="m")] = 0.03
    marker_m: Annotated[float, Range(least=0.001, most=1.0, unit="m")] = 0.022
    dictionary: str = "5X5_100"

    def __post_init__(self) -> None:
        check_fields(self, "board")
        if self.dictionary not in DICTIONARIES:
            raise ConfigError(
                f"board {self.name}: dictionary is {self.dictionary}{closest(self.dictionary, tuple(DICTIONARIES))}"
            )
        if not self.marker_m < self.square_m:
            raise ConfigError(
                f"board {self.name}: marker_m is {self.marker_m}, must be below square_m, which is {self.square_m}"
            )
        needed, held = self.marker_count, len(self._markers().bytesList)
        if needed > held:
            raise ConfigError(
                f"board {self.name}: {self.columns} x {self.rows} needs {needed} markers, dictionary {self.dictionary} "
                f"has {held}: take fewer squares, or a larger dictionary"
            )

    @property
    def marker_count(self) -> int:
        """How many markers it has."""
        squares = self.columns * self.rows
        return squares // 2 if self.kind == "charuco" else squares

    @property
    def size_m(self) -> tuple[float, float]:
        """Width and height of what is printed, without the white around it."""
        gap = 0.0 if self.kind == "charuco" else self.square_m - self.marker_m
        return self.columns * self.square_m - gap, self.rows * self.square_m - gap

    @property
    def points(self) -> Array:
        """(p, 3) the corners that are found [m], by their number: inner corners, or four of each tag."""
        if self.kind == "charuco":
            return np.array(self.opencv().getChessboardCorners(), dtype=np.float64)
        return np.concatenate([np.array(each, dtype=np.float64) for each in self.opencv().getObjPoints()])

    def _markers(self) -> Any:
        return cv2.aruco.getPredefinedDictionary(DICTIONARIES[self.dictionary])

    def opencv(self) -> Any:
        """Returns it as OpenCV has it."""
        if self.kind == "charuco":
            size = (self.columns, self.rows)
            return cv2.aruco.CharucoBoard(size, self.square_m, self.marker_m, self._markers())
        gap = self.square_m - self.marker_m
        return cv2.aruco.GridBoard((self.columns, self.rows), self.marker_m, gap, self._markers())

    def black(self) -> list[tuple[float, float, float, float]]:
        """Returns what is black on it: rectangles x, y, width, height [m] in its frame, none over another."""
        found = []
        half = (self.square_m - self.marker_m) / 2
        marker = 0
        for row in range(self.rows):
            for column in range(self.columns):
                x, y = column * self.square_m, row * self.square_m
                if self.kind == "charuco":
                    if (row + column) % 2 == 0:
                        found.append((x, y, self.square_m, self.square_m))
                        continue
                    x, y = x + half, y + half
                found += self._marker(marker, x, y)
                marker += 1
        return found

    def _marker(self, number: int, x: float, y: float) -> list[tuple[float, float, float, float]]:
        """Returns the black runs of a marker whose corner is at x, y."""
        markers = self._markers()
        cells = markers.markerSize + 2
        picture = cv2.aruco.generateImageMarker(markers, number, cells, borderBits=1)
        side, runs = self.marker_m / cells, []
        for row, line in enumerate(np.asarray(picture) < 128):
            edges = np.flatnonzero(np.diff(np.concatenate([[0], line.astype(int), [0]])))
            runs += [
                (x + first * side, y + row * side, (end - first) * side, side)
                for first, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
            ]
        return runs
