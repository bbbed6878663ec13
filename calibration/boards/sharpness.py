"""How sharp and how full of contrast a board is in a picture, measured at the edges of its squares."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from tendon.calibration.boards.board import Board
from tendon.core.types import Array

SAMPLES = 41
"""Of a profile across an edge."""
MIN_EDGES = 4


@dataclass(frozen=True, kw_only=True)
class Sharpness:
    """Of a board in a picture.

    Attributes:
        blur_px: standard deviation of a Gaussian that blurs a step as much as its edges are [px].
        contrast: between its black and white, of 255.
    """

    blur_px: float
    contrast: float


def measure_sharpness(
    board: Board, grey: npt.NDArray[np.uint8], ids: npt.NDArray[np.int64], pixels: Array
) -> Sharpness | None:
    """Returns medians over the edges between neighbouring corners; `None` where too few are seen.

    A profile runs from the middle of one square to the middle of the other, where neither has a marker's edge: of a
    chessboard's white squares only the rim beside the marker is white, so it is a little shorter there.
    """
    found = {int(number): pixel for number, pixel in zip(ids, pixels, strict=True)}
    if board.kind == "charuco":
        columns = board.columns - 1
        pairs = [(k, k + 1) for k in found if k + 1 in found and (k + 1) % columns]
        pairs += [(k, k + columns) for k in found if k + columns in found]
        reach = 0.9 * (board.square_m - board.marker_m) / 2 / board.square_m
    else:
        pairs = [(k, k - k % 4 + (k + 1) % 4) for k in found if k - k % 4 + (k + 1) % 4 in found]
        cells = board.opencv().getDictionary().markerSize + 2
        reach = 0.9 * min(1.0 / cells, (board.square_m - board.marker_m) / board.marker_m / 2)
    widths, contrasts = [], []
    for one, other in pairs:
        a, b = found[one], found[other]
        across = np.array([a[1] - b[1], b[0] - a[0]])
        half = reach * across
        places = (a + b) / 2 + np.linspace(-1, 1, SAMPLES)[:, None] * half
        profile = cv2.remap(
            grey, places[None, :, 0].astype(np.float32), places[None, :, 1].astype(np.float32), cv2.INTER_LINEAR
        )[0].astype(float)
        low, high = profile.min(), profile.max()
        if high - low < 4:
            contrasts.append(high - low)
            continue
        slope = np.abs(np.diff(profile)).max() / (2 * np.linalg.norm(half) / (SAMPLES - 1))
        widths.append((high - low) / slope / np.sqrt(2 * np.pi))
        contrasts.append(high - low)
    if len(widths) < MIN_EDGES:
        return None
    return Sharpness(blur_px=float(np.median(widths)), contrast=float(np.median(contrasts)))
