"""What is in a message of a camera or of joint states, whoever made an object of its bytes.

rclpy makes them live and rosbags offline; both give objects with the fields of the type.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tendon.core.errors import InvalidDataError
from tendon.core.stamps import nanoseconds_of
from tendon.core.types import Image


def stamp_ns(message: Any) -> int:
    """Returns the stamp of a message with a header.

    Raises:
        InvalidDataError: it is no time.
    """
    return nanoseconds_of(int(message.header.stamp.sec), int(message.header.stamp.nanosec))


def image(message: Any) -> Image:
    """Returns the frame of an rgb8 or bgr8 message; an rgb8 one shares the message's memory.

    Raises:
        InvalidDataError: another encoding, or a size that its data does not have.
    """
    height, width = int(message.height), int(message.width)
    if message.encoding not in ("rgb8", "bgr8"):
        raise InvalidDataError(f"image encoding is {message.encoding}, expected rgb8 or bgr8: convert it at the camera")
    if message.step != 3 * width or len(message.data) != height * message.step:
        raise InvalidDataError(
            f"image of {width}x{height} has step {message.step} and {len(message.data)} bytes, "
            f"expected {3 * width} and {3 * width * height}"
        )
    pixels = np.frombuffer(message.data, dtype=np.uint8).reshape(height, width, 3)
    if message.encoding == "bgr8":
        pixels = np.ascontiguousarray(pixels[..., ::-1])
    pixels.setflags(write=False)
    return Image(stamp_ns=stamp_ns(message), pixels=pixels)
