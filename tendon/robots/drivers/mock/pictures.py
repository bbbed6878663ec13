"""Test pictures of cameras that are not there: each frame differs, and says which camera, which frame and when."""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

from tendon.core.types import Array
from tendon.robots.camera_optics import camera_matrix, middle
from tendon.robots.profile import Camera

BARS = ((235, 235, 235), (235, 235, 16), (16, 235, 235), (16, 235, 16), (235, 16, 235), (235, 16, 16), (16, 16, 235))
"""White, yellow, cyan, green, magenta, red, blue: colour bars in the usual order, which show swapped channels."""
SWEEP_FRAMES = 60
"""Frames in which the moving line crosses the picture."""
SECOND_NS = 1_000_000_000


class TestPictures:
    """Frames of one camera. Not thread-safe.

    Args:
        camera: its name and size.
    """

    __test__ = False  # no test class, whatever pytest makes of its name

    def __init__(self, camera: Camera) -> None:
        self._name = camera.name
        height, width = camera.height, camera.width
        edges = np.linspace(0, width, len(BARS) + 1).round().astype(int)
        self._plain = np.empty((height, width, 3), dtype=np.uint8)
        for colour, left, right in zip(BARS, edges[:-1], edges[1:], strict=True):
            self._plain[:, left:right] = colour
        lower = height - height // 3
        self._plain[lower:] = np.linspace(0, 255, width).astype(np.uint8)[None, :, None]
        self._scale = max(width / 640, 0.3)
        self._thick = max(1, round(width / 400))

    def draw(self, count: int, stamp_ns: int) -> npt.NDArray[np.uint8]:
        """Returns the (height, width, 3) RGB frame with the number `count`, exposed at `stamp_ns`."""
        picture = self._plain.copy()
        height, width, _ = picture.shape
        line = max(2, width // 40)
        left = int((count % SWEEP_FRAMES) / SWEEP_FRAMES * (width - line))
        picture[height - height // 3 :, left : left + line] = (255, 64, 0)
        stamp_ms = stamp_ns // 1_000_000
        for row, text in enumerate(
            (self._name, f"frame {count}", f"{stamp_ms // 1000 % 100_000}.{stamp_ms % 1000:03d} s")
        ):
            place = (max(2, width // 40), int((row + 1) * 34 * self._scale) + 2)
            for colour, thick in (((0, 0, 0), 3 * self._thick), ((255, 255, 255), self._thick)):
                cv2.putText(picture, text, place, cv2.FONT_HERSHEY_SIMPLEX, self._scale, colour, thick, cv2.LINE_AA)
        return picture


def intrinsics(camera: Camera) -> Array:
    """Returns the camera matrix (3, 3) [px] that goes with the pictures: 53 degrees wide, no distortion."""
    return camera_matrix((camera.width, camera.width), middle(camera.width, camera.height))
