"""DejaVu Sans, which matplotlib brings along, in the size in which words fit."""

from __future__ import annotations

import functools
from pathlib import Path

import matplotlib
from PIL import ImageFont

SMALLEST = 9


@functools.cache
def font(size: int, bold: bool = False) -> ImageFont.FreeTypeFont:
    """Returns the font of a size [px]."""
    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    return ImageFont.truetype(str(folder / f"DejaVuSans{'-Bold' if bold else ''}.ttf"), size)


def fitting_font(words: str, size: int, width: float, bold: bool = False) -> ImageFont.FreeTypeFont:
    """Returns the font of this size, or of the largest smaller one in which the words are no wider than `width` [px].

    Nothing is smaller than `SMALLEST`, which nobody could read: words that need it stay too wide.
    """
    while font(size, bold).getlength(words) > width and size > SMALLEST:
        size -= 1
    return font(size, bold)
