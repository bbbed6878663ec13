"""Pictures as a real camera takes them, out of those of a simulator: lens, blur, exposure, noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from tendon.calibration.cameras.model import CameraModel
from tendon.calibration.transforms import Pose
from tendon.sim.engine import Engine, Light, View

FINER = 2
"""A pixel is the mean of so many rows and columns of finer ones, as a sensor's is of its area."""
MAX_SIDE = 3000
Pixels = npt.NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True)
class Flaws:
    """What a picture lacks to be perfect.

    Attributes:
        blur_px: of the lens, a standard deviation.
        motion_px: length of a smear, as of a robot that does not quite rest.
        motion_rad: its direction.
        gain: of the exposure: 1 is right.
        noise: standard deviation of a pixel, of 255.
    """

    blur_px: float = 0.0
    motion_px: float = 0.0
    motion_rad: float = 0.0
    gain: float = 1.0
    noise: float = 0.0


ORDINARY = Flaws(blur_px=0.6, noise=3.0, gain=0.95)
"""Of a picture like any other."""


class LensCamera:
    """Draws what a camera with a lens sees.

    Args:
        model: the lens.
    """

    def __init__(self, model: CameraModel) -> None:
        self.model = model
        width, height = model.width * FINER, model.height * FINER
        # The centre of pixel k is at k, its left edge at k - 0.5.
        columns = (np.arange(width) + 0.5) / FINER - 0.5
        rows = (np.arange(height) + 0.5) / FINER - 0.5
        grid = np.stack(np.meshgrid(columns, rows), axis=-1).reshape(-1, 2)
        rays = model.rays(grid)
        self._half = np.abs(rays).max(axis=0) * 1.01
        focal = FINER * float(model.focal.max())
        focal *= min(1.0, MAX_SIDE / (2 * focal * float(self._half.max())))
        self._size = tuple(math.ceil(2 * focal * half) for half in self._half)
        wide, high = self._size
        self._height_rad = 2 * math.atan(high / 2 / focal)
        places = rays * focal + np.array([(wide - 1) / 2, (high - 1) / 2])
        places = places.reshape(height, width, 2).astype(np.float32)
        self._columns, self._rows = places[..., 0], places[..., 1]

    def draw(self, engine: Engine, light: Light, place: Pose, flaws: Flaws, rng: np.random.Generator) -> Pixels:
        """Returns (height, width, 3) RGB.

        Args:
            engine: whose world is seen.
            light: on everything.
            place: of the optical frame in the world.
            flaws: of the picture.
            rng: of its noise.
        """
        eye, forward, up = place.translation, place.rotation[:, 2], -place.rotation[:, 1]
        at = eye + 0.5 * forward
        view = View(eye=_three(eye), at=_three(at), up=_three(up), height_rad=self._height_rad)
        ideal = engine.render(view, light, *self._size)
        right, down = engine.middle_off
        columns, rows = self._columns + np.float32(right), self._rows + np.float32(down)
        fine = cv2.remap(ideal, columns, rows, cv2.INTER_LINEAR)
        size = (self.model.width, self.model.height)
        seen = np.asarray(cv2.resize(fine, size, interpolation=cv2.INTER_AREA), dtype=np.float32)
        if flaws.blur_px:
            seen = np.asarray(cv2.GaussianBlur(seen, (0, 0), flaws.blur_px), dtype=np.float32)
        if flaws.motion_px > 0.1:
            seen = np.asarray(cv2.filter2D(seen, -1, _smear(flaws.motion_px, flaws.motion_rad)), dtype=np.float32)
        exposed = flaws.gain * seen + rng.normal(0.0, flaws.noise or 1e-9, seen.shape)
        return np.clip(np.rint(exposed), 0, 255).astype(np.uint8)


def _smear(length: float, angle: float) -> npt.NDArray[np.float32]:
    """Returns a kernel that smears along a line, the middle of which stays where it is."""
    half = math.ceil(length / 2) + 1
    kernel = np.zeros((2 * half + 1, 2 * half + 1), np.float32)
    for share in np.linspace(-0.5, 0.5, 41):
        x, y = half + share * length * math.cos(angle), half + share * length * math.sin(angle)
        column, row = int(x), int(y)
        dx, dy = x - column, y - row
        for across, down, weight in (
            (0, 0, (1 - dx) * (1 - dy)),
            (1, 0, dx * (1 - dy)),
            (0, 1, (1 - dx) * dy),
            (1, 1, dx * dy),
        ):
            kernel[row + down, column + across] += weight
    return kernel / kernel.sum()


def _three(values: np.ndarray) -> tuple[float, float, float]:
    x, y, z = values.tolist()
    return x, y, z
