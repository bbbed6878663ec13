"""Colours for joints and links that can be told apart, on white and beside one another."""

from __future__ import annotations

COLOURS = (
    "#1f77b4",
    "#e8711c",
    "#2a9d3f",
    "#c93a3a",
    "#7d55c7",
    "#8a5a44",
    "#d452a8",
    "#17b3c4",
    "#a8a800",
    "#26307a",
    "#14523d",
    "#7a1240",
)
"""Twelve, any two at least 30 apart in CIELAB: enough for two arms of six joints."""


def joint_colour(index: int) -> str:
    """Returns the colour of the joint or link with this index; the thirteenth has the first one's again."""
    return COLOURS[index % len(COLOURS)]


def pastel_colour(index: int) -> tuple[float, float, float]:
    """Returns the same colour mixed with white, RGB of 0 to 1: for solids with shading and text on them."""
    red, green, blue = (int(joint_colour(index)[k : k + 2], 16) / 255 for k in (1, 3, 5))
    return 0.3 + 0.7 * red, 0.3 + 0.7 * green, 0.3 + 0.7 * blue
