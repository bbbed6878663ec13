"""Test pictures: right size, none like another, and they show which camera and frame they are."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tendon.robots.drivers.mock.pictures import SWEEP_FRAMES, TestPictures, intrinsics
from tendon.robots.profile import Camera


def camera(width: int, height: int, name: str = "front") -> Camera:
    return Camera(name=name, width=width, height=height, rate_hz=30.0, frame="f")


@pytest.mark.parametrize(("width", "height"), [(640, 480), (96, 96), (128, 96), (1920, 1080), (1, 1), (5, 700)])
def test_every_frame_has_the_size_of_the_camera_and_differs_from_those_around_it(width: int, height: int) -> None:
    pictures = TestPictures(camera(width, height))
    frames = [pictures.draw(k, k * 33_000_000) for k in range(4)]
    assert all(frame.shape == (height, width, 3) and frame.dtype == np.uint8 for frame in frames)
    if min(width, height) > 50:
        assert all((a != b).any() for a, b in itertools.pairwise(frames))


def test_it_shows_name_and_time_and_the_line_goes_round() -> None:
    one, other = (TestPictures(camera(640, 480, name)) for name in ("front", "wrist"))
    assert (one.draw(0, 0)[:40] != other.draw(0, 0)[:40]).any()
    assert (one.draw(0, 0)[40:150] != one.draw(0, 5_000_000)[40:150]).any()
    bottom = [one.draw(k, 0)[400:] for k in (3, 3 + SWEEP_FRAMES, 4)]
    assert (bottom[0] == bottom[1]).all() and (bottom[0] != bottom[2]).any()


def test_swapped_channels_show() -> None:
    """The bars from the left: white, yellow, cyan, green, magenta, red, blue."""
    row = TestPictures(camera(700, 300)).draw(0, 0)[180, 50::100]
    assert [tuple(int(v > 128) for v in pixel) for pixel in row] == [
        (1, 1, 1), (1, 1, 0), (0, 1, 1), (0, 1, 0), (1, 0, 1), (1, 0, 0), (0, 0, 1),
    ]  # fmt: skip


def test_the_camera_matrix_has_its_centre_in_the_picture() -> None:
    assert intrinsics(camera(640, 480)).tolist() == [[640, 0, 319.5], [0, 640, 239.5], [0, 0, 1]]
