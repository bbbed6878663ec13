"""The table: a plane through touch points or a board that lies on it, written as an environment for the filter."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml

from tendon.calibration.transforms import Pose
from tendon.core.errors import CalibrationError, ConfigError
from tendon.core.files import replace_file, set_aside
from tendon.core.types import Array, freeze

HEADING = "# Made by `tendon calibrate plane`: what is behind the plane is not entered.\n"
LEAST_POINTS = 4
LEAST_WIDTH_M = 0.05
"""Of the points, in the direction in which they are narrowest."""
MAX_OFF_M = 0.01
"""Of a point that counts: what is further off touched something else."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Surface:
    """A plane, free on the side that its normal points to: normal . p = offset, in the base frame.

    Attributes:
        normal: (3,) unit length.
        offset: [m].
        rms_m: of the distances of points that count.
        kept: (k,) which points count.
        tilt_deg: how surely its tilt is known, a standard deviation.
        height_m: likewise its height in the middle of the points, or at the board's corner.
    """

    normal: Array
    offset: float
    rms_m: float
    kept: np.ndarray
    tilt_deg: float
    height_m: float


def plane_through(points: Array, above: Array | None = None) -> Surface:
    """Returns the plane through touch points, those that are off left out (least trimmed squares, by medians).

    Args:
        points: (k, 3) [m] in the base frame.
        above: (3,) a point on the free side; by default far up.

    Raises:
        CalibrationError: too few points, or all of them on a line; with the fix.
    """
    touched = freeze("points", points, (None, 3))
    free = np.array([0.0, 0.0, 10.0]) if above is None else above
    if len(touched) < LEAST_POINTS:
        raise CalibrationError(
            f"{len(touched)} touch points, needed are {LEAST_POINTS}, better 8: touch more, far apart"
        )
    rng = np.random.default_rng(0)
    best, least = None, np.inf
    for _ in range(200):
        three = touched[rng.choice(len(touched), 3, replace=False)]
        normal = np.cross(three[1] - three[0], three[2] - three[0])
        length = float(np.linalg.norm(normal))
        if length < 1e-8:
            continue
        median = float(np.median(np.abs((touched - three[0]) @ normal / length)))
        if median < least:
            best, least = (normal / length, three[0]), median
    if best is None:
        raise CalibrationError("touch points lie on a line, which tells no plane: touch at the corners of a square")
    away = np.abs((touched - best[1]) @ best[0])
    kept = away < max(4 * 1.4826 * least, 0.002)
    chosen = touched[kept]
    middle = chosen.mean(axis=0)
    _, singular, axes = np.linalg.svd(chosen - middle, full_matrices=False)
    width = float(np.ptp((chosen - middle) @ axes[1]))
    if len(chosen) < LEAST_POINTS or width < LEAST_WIDTH_M:
        raise CalibrationError(
            f"{len(chosen)} touch points agree, {1000 * width:.0f} mm wide where they are narrowest, needed are "
            f"{LEAST_POINTS} "
            f"and {1000 * LEAST_WIDTH_M:.0f} mm: touch further apart, at the corners of a square"
        )
    normal = axes[2] if axes[2] @ (free - middle) > 0 else -axes[2]
    left = (chosen - middle) @ normal
    sigma = float(np.sqrt(left @ left / max(1, len(chosen) - 3)))
    return Surface(
        normal=normal,
        offset=float(normal @ middle),
        rms_m=float(np.sqrt(np.mean(left**2))),
        kept=kept,
        tilt_deg=float(np.degrees(sigma / max(float(singular[1]), 1e-9))),
        height_m=sigma / len(chosen) ** 0.5,
    )


def plane_of_board(place: Pose, covariance: Array, thickness_m: float = 0.0) -> Surface:
    """Returns the plane that a board lies on.

    Args:
        place: of the board in the base frame; it is seen from the free side.
        covariance: (6, 6) of a change of that place.
        thickness_m: of the board.
    """
    normal = -place.rotation[:, 2]
    across = np.eye(3) - np.outer(normal, normal)
    tilt = np.linalg.eigvalsh(across @ covariance[3:, 3:] @ across)[-1]
    return Surface(
        normal=normal,
        offset=float(normal @ place.translation) - thickness_m,
        rms_m=0.0,
        kept=np.ones(0, bool),
        tilt_deg=math.degrees(math.sqrt(max(float(tilt), 0.0))),
        height_m=math.sqrt(max(float(normal @ covariance[:3, :3] @ normal), 0.0)),
    )


def write_environment(surface: Surface, file: Path, body: str = "table") -> Path | None:
    """Writes an environment with the plane. A file that was there is kept beside it; returns where, or `None`.

    Raises:
        ConfigError: it cannot be written.
    """
    normal = surface.normal / np.linalg.norm(surface.normal)
    plane = {"normal": [round(float(value), 6) for value in normal], "offset": round(surface.offset, 5)}
    text = HEADING + yaml.safe_dump({"bodies": {body: [plane]}}, default_flow_style=None, allow_unicode=True)
    try:
        kept = set_aside(file)
        replace_file(file, text.encode())
    except OSError as error:
        raise ConfigError(f"environment {file} cannot be written: {error.strerror}; choose another place") from error
    return kept
