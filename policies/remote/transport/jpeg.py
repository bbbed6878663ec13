"""JPEG of camera frames, for networks where bytes cost more than the time to compress them."""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

from tendon.core.errors import InvalidDataError

Pixels = npt.NDArray[np.uint8]

_STANDALONE = {0x01, *range(0xD0, 0xD8)}
"""Markers without a length: TEM and RST0 to RST7 (ITU T.81, table B.1)."""
_FRAME = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
"""Start of frame; the three others in that range are tables."""


def encode(pixels: Pixels, quality: int) -> bytes:
    """Returns (height, width, 3) RGB as JPEG; `quality` is 1 to 100."""
    coded = cv2.imencode(".jpg", cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, quality])[1]
    return bytes(coded)


def decode(data: bytes, height: int, width: int) -> Pixels:
    """Returns (height, width, 3) RGB. The size is read from the header before anything is allocated.

    Raises:
        InvalidDataError: it is no JPEG, is damaged, or has another size.
    """
    found = frame_size(data)
    if found != (height, width):
        raise InvalidDataError(f"a JPEG image has {found[1]}x{found[0]} px, expected {width}x{height}")
    flags = cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION
    try:
        pixels = cv2.imdecode(np.frombuffer(data, np.uint8), flags)
    except cv2.error as error:
        raise InvalidDataError(f"a JPEG image of {len(data)} bytes is damaged: {error}") from error
    if pixels is None or pixels.shape != (height, width, 3):
        raise InvalidDataError(f"a JPEG image of {len(data)} bytes is damaged")
    rgb: Pixels = cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB)  # type: ignore[assignment]
    return rgb


def frame_size(data: bytes) -> tuple[int, int]:
    """Returns height and width [px] from the frame header.

    Raises:
        InvalidDataError: there is none.
    """
    if data[:2] == b"\xff\xd8":
        at = 2
        while at + 9 <= len(data) and data[at] == 0xFF:
            marker = data[at + 1]
            if marker in _FRAME:
                return int.from_bytes(data[at + 5 : at + 7], "big"), int.from_bytes(data[at + 7 : at + 9], "big")
            if marker == 0xFF:  # padding
                at += 1
            else:
                at += 2 if marker in _STANDALONE else 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    raise InvalidDataError(f"an image of {len(data)} bytes is no JPEG")
