"""JPEG of images: close to what was sent, and a header decides before anything is decoded."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

from tendon.core.errors import InvalidDataError
from tendon.policies.remote.transport import jpeg

HEIGHT, WIDTH = 48, 64
GRADIENT = np.stack(np.broadcast_arrays(np.arange(HEIGHT)[:, None] * 5, np.arange(WIDTH) * 3, 200), 2).astype(np.uint8)


def test_an_image_survives_and_red_stays_red() -> None:
    """Within the error of a good quality; channels are not swapped."""
    found = jpeg.decode(jpeg.encode(GRADIENT, 95), HEIGHT, WIDTH)
    assert np.abs(found.astype(int) - GRADIENT).max() <= 12


def test_another_size_is_refused_by_its_header() -> None:
    """65535 x 65535 pixels would be 12 GB; they are never decoded."""
    data = bytearray(jpeg.encode(GRADIENT, 90))
    at = data.index(b"\xff\xc0") + 5
    data[at : at + 4] = b"\xff" * 4
    with pytest.raises(InvalidDataError, match="65535x65535 px, expected 64x48"):
        jpeg.decode(bytes(data), HEIGHT, WIDTH)


@pytest.mark.parametrize("cut", [0, 1, 2, 20, 200])
def test_a_damaged_image_is_refused_or_decoded_in_size(cut: int) -> None:
    """A decoder may fill what is missing, but never in another size."""
    data = jpeg.encode(GRADIENT, 90)[:cut]
    with contextlib.suppress(InvalidDataError):
        assert jpeg.decode(data, HEIGHT, WIDTH).shape == (HEIGHT, WIDTH, 3)


@pytest.mark.parametrize("data", [b"", b"\xff\xd8", b"\xff\xd8\xff\xff\xff\xff", b"\x89PNG" + b"\0" * 100])
def test_what_is_no_jpeg_is_refused(data: bytes) -> None:
    """Other formats that OpenCV would read are not accepted."""
    with pytest.raises(InvalidDataError, match="no JPEG"):
        jpeg.decode(data, HEIGHT, WIDTH)
