"""The box in which a tool may be, from points that it was led to."""

from __future__ import annotations

import numpy as np

from tendon.core.errors import CalibrationError
from tendon.core.types import Array, freeze
from tendon.robots.profile_parts import Box

LEAST_SIDE_M = 0.05
"""Of the box, along each axis."""


def box_of(points: Array, inward_m: float = 0.0) -> Box:
    """Returns the largest box, along the axes of the base frame, that has a touched point on each of its sides.

    Args:
        points: (k, 3) of the tool in the base frame [m], at the borders of where it may be.
        inward_m: how far the box stays inside of them.

    Raises:
        CalibrationError: it has no room in it; with the axis and the fix.
    """
    touched = freeze("points", points, (None, 3))
    lower, upper = touched.min(axis=0) + inward_m, touched.max(axis=0) - inward_m
    for axis, low, high in zip("xyz", lower, upper, strict=True):
        if high - low < LEAST_SIDE_M:
            raise CalibrationError(
                f"points leave {1000 * (high - low):.0f} mm along {axis}, needed are {1000 * LEAST_SIDE_M:.0f}: "
                "lead the tool to both ends of each axis, above the table too"
            )
    (x, y, z), (right, left, top) = np.round(lower, 4).tolist(), np.round(upper, 4).tolist()
    return Box(lower=(x, y, z), upper=(right, left, top))
