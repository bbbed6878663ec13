"""Plots of a report as SVG, and pictures with the corners that were found."""

from __future__ import annotations

import base64
import html
import math
from collections.abc import Sequence

import cv2
import numpy as np
import numpy.typing as npt

from tendon.calibration.boards.detect import Detection
from tendon.core.types import Array

INK, LINE, GOOD, BAD = "#22313f", "#c9d1d9", "#0f766e", "#c2410c"
SIDE = 300
Kept = npt.NDArray[np.bool_]


def scatter(residuals: Array, kept: Kept, sigma: float) -> str:
    """Returns what every corner is off by: one that counts, one that does not; circles at one and three sigma."""
    reach = max(4.5 * sigma, 1e-3)
    scale = SIDE / 2 / reach
    dots = []
    for (x, y), counts in zip(residuals, kept, strict=True):
        if abs(x) < reach and abs(y) < reach:
            colour = GOOD if counts else BAD
            place = f'cx="{SIDE / 2 + scale * x:.1f}" cy="{SIDE / 2 + scale * y:.1f}"'
            dots.append(f'<circle {place} r="1.6" fill="{colour}" fill-opacity="0.55"/>')
    rings = "".join(
        f'<circle cx="{SIDE / 2}" cy="{SIDE / 2}" r="{scale * k * sigma:.1f}" fill="none" stroke="{LINE}"/>'
        for k in (1, 3)
    )
    beyond = int((np.abs(residuals).max(axis=1) >= reach).sum())
    text = f"{reach:.2f} px at the edge; {beyond} corners are beyond it"
    return _frame(rings + "".join(dots), SIDE, SIDE, text)


def bars(values: Sequence[float], names: Sequence[str], unit: str) -> str:
    """Returns a bar for each view."""
    finite = [value if math.isfinite(value) else 0.0 for value in values]
    most = max([*finite, 1e-9])
    width = max(SIDE, 16 * len(finite))
    step = width / max(1, len(finite))
    drawn = []
    for k, value in enumerate(finite):
        tall = (SIDE - 40) * value / most
        place = f'x="{k * step + 1:.1f}" y="{SIDE - 20 - tall:.1f}" width="{max(step - 2, 1):.1f}" height="{tall:.1f}"'
        title = f"<title>{html.escape(names[k])}: {value:.3f} {unit}</title>"
        drawn.append(f'<rect {place} fill="{GOOD}">{title}</rect>')
    drawn.append(f'<text x="4" y="14" font-size="11" fill="{INK}">{most:.2f} {unit}</text>')
    return _frame("".join(drawn), width, SIDE, "one bar a view, in the order in which they were taken")


def coverage(views: Sequence[Detection]) -> str:
    """Returns where in the picture corners were."""
    if not views:
        return ""
    wide, high = views[0].width, views[0].height
    scale = SIDE / wide
    dots = [
        f'<circle cx="{scale * x:.1f}" cy="{scale * y:.1f}" r="1.4" fill="{GOOD}" fill-opacity="0.5"/>'
        for view in views
        for x, y in view.pixels
    ]
    return _frame("".join(dots), SIDE, scale * high, "where in the picture corners were seen")


def with_corners(pixels: npt.NDArray[np.uint8], found: Detection, kept: Kept | None = None) -> str:
    """Returns a picture with its corners, as an <img> that holds it."""
    drawn = cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR) if pixels.ndim == 3 else cv2.cvtColor(pixels, cv2.COLOR_GRAY2BGR)
    for k, (x, y) in enumerate(found.pixels):
        colour = (110, 118, 15) if kept is None or kept[k] else (12, 65, 194)
        cv2.circle(drawn, (round(x), round(y)), 5, colour, 2, cv2.LINE_AA)
    height, width = drawn.shape[:2]
    small = cv2.resize(drawn, (480, round(480 * height / width)), interpolation=cv2.INTER_AREA)
    coded = cv2.imencode(".jpg", small, [cv2.IMWRITE_JPEG_QUALITY, 80])[1]
    return f'<img alt="view" src="data:image/jpeg;base64,{base64.b64encode(coded.tobytes()).decode()}"/>'


def _frame(drawn: str, width: float, height: float, text: str) -> str:
    return (
        f'<figure><svg viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}" role="img">'
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="white" stroke="{LINE}"/>{drawn}</svg>'
        f"<figcaption>{html.escape(text)}</figcaption></figure>"
    )
