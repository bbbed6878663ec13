"""How large a message may be. rclpy makes Python objects of all of it, during which nothing else in a process runs.

An element of a list in a message costs it 3 to 25 us, so a message of a megabyte would hold a control loop up for a
second. What is too large is refused before rclpy sees it.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseArray
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Image, PointCloud
from std_msgs.msg import Float64MultiArray, Header
from trajectory_msgs.msg import JointTrajectory

from tendon.core.errors import InvalidDataError
from tendon.ros2_nodes.wire.motion.trajectories import check_points
from tendon.ros2_nodes.wire.times import ENCAPSULATION, STAMP_SIZE

LARGEST = 64 << 10
"""Bytes of a message of a kind that is not below."""
SIZES: Mapping[type, int] = {
    Image: 64 << 20,
    JointTrajectory: 1 << 20,
    DiagnosticArray: 256 << 10,
    Float64MultiArray: 16 << 10,
    PoseArray: 16 << 10,
    Header: 1 << 10,
    Clock: 1 << 10,
}
STATUSES, PAIRS = 64, 1000
"""Of a DiagnosticArray."""
PLACES, CHANNELS = 256, 16
"""Of a PointCloud: 3000 points take 5 ms, half a control tick."""


def check_length(kind: Any, data: bytes) -> None:
    """Checks that a message is no longer than any that is meant well.

    Args:
        kind: its type.
        data: it, as it is on the wire.

    Raises:
        InvalidDataError: it is.
    """
    most = SIZES.get(kind, LARGEST)
    if len(data) > most:
        raise InvalidDataError(f"a {kind.__name__} of {len(data)} bytes is refused: at most {most} are read")


def check_size(kind: Any, data: bytes) -> None:
    """Checks that rclpy can be asked to make an object of a message.

    Args:
        kind: its type.
        data: it, as it is on the wire.

    Raises:
        InvalidDataError: it is too long, has too many parts, or ends too early.
    """
    check_length(kind, data)
    if kind is DiagnosticArray:
        _check_pairs(data)
    elif kind is JointTrajectory:
        check_points(data)
    elif kind is PointCloud:
        _check_places(data)


def _check_places(data: bytes) -> None:
    """Counts points and channels without reading them."""
    word = struct.Struct("<I" if data[1:2] == ENCAPSULATION[1:2] else ">I")
    place = len(ENCAPSULATION) + STAMP_SIZE
    try:
        (frame,) = word.unpack_from(data, place)
        place = (place + word.size + frame + 3) // 4 * 4
        (places,) = word.unpack_from(data, place)
        (channels,) = (0,) if places > PLACES else word.unpack_from(data, place + word.size + 12 * places)
    except struct.error:
        raise InvalidDataError(f"a PointCloud of {len(data)} bytes ends too early") from None
    if places > PLACES or channels > CHANNELS:
        raise InvalidDataError(
            f"a PointCloud of {places} points and {channels} channels is refused: at most {PLACES} and {CHANNELS} "
            "are read"
        )


def _check_pairs(data: bytes) -> None:
    """Counts statuses and pairs without reading them."""
    word = struct.Struct("<I" if data[1:2] == ENCAPSULATION[1:2] else ">I")

    def skip(place: int, texts: int) -> int:
        for _ in range(texts):
            place = (place + 3) // 4 * 4
            place += word.size + word.unpack_from(data, place)[0]
        return (place + 3) // 4 * 4

    try:
        place = skip(len(ENCAPSULATION) + STAMP_SIZE, 1)
        (statuses,) = word.unpack_from(data, place)
        place, pairs = place + word.size, 0
        for _ in range(min(statuses, STATUSES + 1)):
            place = skip(place + 1, 3)
            (count,) = word.unpack_from(data, place)
            pairs += count
            if pairs > PAIRS:
                break
            place = skip(place + word.size, 2 * count)
    except struct.error:
        raise InvalidDataError(f"a DiagnosticArray of {len(data)} bytes ends too early") from None
    if statuses > STATUSES or pairs > PAIRS:
        raise InvalidDataError(
            f"a DiagnosticArray has more than {STATUSES} statuses or {PAIRS} pairs: publish it in parts"
        )
