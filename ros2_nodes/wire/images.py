"""Frames and camera infos as ROS messages; buffers are not copied element by element.

`msg.data = ndarray` costs 98 ms for a 640x480 image, `bytes` or `array.array` 20-57 us, hence the `tobytes`.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
from sensor_msgs.msg import CameraInfo
from sensor_msgs.msg import Image as ImageMessage

from tendon.core.types import Array, Image
from tendon.ros2_nodes.wire.times import time_message


def image_message(image: Image, frame: str) -> ImageMessage:
    """Returns an rgb8 image stamped with its exposure."""
    height, width, _ = image.pixels.shape
    message = ImageMessage(height=height, width=width, encoding="rgb8", step=3 * width)
    message.header.stamp, message.header.frame_id = time_message(image.stamp_ns), frame
    message.data = array("B", image.pixels.tobytes())
    return message


def camera_info_message(
    stamp_ns: int,
    frame: str,
    width: int,
    height: int,
    intrinsics: Sequence[Sequence[float]] | Array,
    distortion: Sequence[float] = (0.0,) * 5,
) -> CameraInfo:
    """Returns the camera info of a camera; `intrinsics` is (3, 3) [px], `distortion` k1, k2, p1, p2, k3."""
    matrix = np.asarray(intrinsics, dtype=np.float64)
    message = CameraInfo(height=height, width=width, distortion_model="plumb_bob")
    message.header.stamp, message.header.frame_id = time_message(stamp_ns), frame
    message.d = array("d", distortion)
    message.k = matrix.ravel()
    message.r = np.eye(3).ravel()
    message.p = np.hstack([matrix, np.zeros((3, 1))]).ravel()
    return message
