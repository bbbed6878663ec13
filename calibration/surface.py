"""The table: a plane through touch points or a board that lies on it, written as an environment for the filter."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml
from scipy.stats import chi2, f, norm, t

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
LEAST_SHARE = 0.75
"""Of the points, that lie in the plane: where fewer do, it is one of several, or none."""
FURTHEST_M = 5.0
"""Of a point from the base, along an axis: further off it is in other units."""
TRIALS = 2000
"""Planes through three points that are tried: all of them up to 23 points."""


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
        freedom: degrees of freedom that both come from; none where they are known beforehand.
    """

    normal: Array
    offset: float
    rms_m: float
    kept: np.ndarray
    tilt_deg: float
    height_m: float
    freedom: int | None = None

    @property
    def height_95_m(self) -> float:
        """How far off its height is at most, with 95 % (Student's t)."""
        return self.height_m * float(norm.ppf(0.975) if self.freedom is None else t.ppf(0.975, self.freedom))

    @property
    def tilt_95_deg(self) -> float:
        """How far off it is tilted at most, with 95 %: two angles, of which none is known worse than `tilt_deg`."""
        square = chi2.ppf(0.95, 2) if self.freedom is None else 2 * f.ppf(0.95, 2, self.freedom)
        return self.tilt_deg * math.sqrt(square)


def plane_through(points: Array, above: Array | None = None) -> Surface:
    """Returns the plane through touch points; those further off than `MAX_OFF_M` are left out.

    The plane through three of them with the most points near it (Fischler and Bolles 1981) says which those are; the
    others are fitted by least squares.

    Args:
        points: (k, 3) [m] in the base frame.
        above: (3,) a point on the free side; by default far up.

    Raises:
        CalibrationError: too few points, all of them on a line, or no plane; with the fix.
    """
    touched = freeze("points", points, (None, 3))
    free = np.array([0.0, 0.0, 10.0]) if above is None else above
    if len(touched) < LEAST_POINTS:
        raise CalibrationError(
            f"{len(touched)} touch points, needed are {LEAST_POINTS}, better 8: touch more, far apart"
        )
    if (furthest := float(np.abs(touched).max())) > FURTHEST_M:
        raise CalibrationError(f"a touch point is {furthest:g} m from the base, at most {FURTHEST_M:g}: write metres")
    kept = _consensus(touched)
    while True:
        chosen = touched[kept]
        middle = chosen.mean(axis=0)
        _, singular, axes = np.linalg.svd(chosen - middle, full_matrices=False)
        near = np.abs((touched - middle) @ axes[2]) < MAX_OFF_M
        if not (near & ~kept).any():  # only more and more: it ends
            break
        kept = kept | near
    width = float(np.ptp((chosen - middle) @ axes[1]))
    if len(chosen) < LEAST_POINTS or width < LEAST_WIDTH_M:
        raise CalibrationError(
            f"{len(chosen)} touch points agree, {1000 * width:.0f} mm wide where they are narrowest, needed are "
            f"{LEAST_POINTS} and {1000 * LEAST_WIDTH_M:.0f} mm: touch further apart, at the corners of a square"
        )
    if len(chosen) < LEAST_SHARE * len(touched):
        raise CalibrationError(
            f"only {len(chosen)} of {len(touched)} touch points lie within {1000 * MAX_OFF_M:.0f} mm of one plane: "
            "look whether all touched the same surface, and touch again"
        )
    normal = axes[2] if axes[2] @ (free - middle) > 0 else -axes[2]
    left = (chosen - middle) @ normal
    freedom = len(chosen) - 3
    sigma = float(np.sqrt(left @ left / freedom))
    return Surface(
        normal=normal,
        offset=float(normal @ middle),
        rms_m=float(np.sqrt(np.mean(left**2))),
        kept=kept,
        tilt_deg=float(np.degrees(sigma / max(float(singular[1]), 1e-9))),
        height_m=sigma / len(chosen) ** 0.5,
        freedom=freedom,
    )


def _consensus(touched: Array) -> np.ndarray:
    """Returns (k,) which of (k, 3) points are near the plane through three of them that has the most near it."""
    threes: Iterable[tuple[int, ...]] = itertools.combinations(range(len(touched)), 3)
    if math.comb(len(touched), 3) > TRIALS:
        rng = np.random.default_rng(0)
        threes = [tuple(rng.choice(len(touched), 3, replace=False)) for _ in range(TRIALS)]
    best, score = None, (0, -np.inf)
    for three in threes:
        a, b, c = touched[list(three)]
        normal = np.cross(b - a, c - a)
        length = float(np.linalg.norm(normal))
        if length < 1e-8:
            continue
        away = np.abs((touched - a) @ normal / length)
        near = away < MAX_OFF_M
        if (found := (int(near.sum()), -float(away[near] @ away[near]))) > score:
            best, score = near, found
    if best is None:
        raise CalibrationError("touch points lie on a line, which tells no plane: touch at the corners of a square")
    return np.asarray(best)


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
