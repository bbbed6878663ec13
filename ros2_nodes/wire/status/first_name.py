"""The name of the first status in the bytes of a DiagnosticArray, without reading the rest of it."""

from __future__ import annotations

import contextlib
import struct

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.serialization import deserialize_message

from tendon.ros2_nodes.wire.times import ENCAPSULATION, STAMP_SIZE

_HEAD = len(ENCAPSULATION) + STAMP_SIZE
"""Bytes before the header's frame_id."""


def first_name(data: bytes) -> str:
    """Returns it; empty without one, or when the bytes are no such message."""
    if data[: len(ENCAPSULATION)] != ENCAPSULATION:  # another byte order
        with contextlib.suppress(Exception):  # rclpy says with its own types that bytes are no such message
            return next((str(status.name) for status in deserialize_message(data, DiagnosticArray).status), "")
        return ""
    try:
        end = _HEAD + 4 + struct.unpack_from("<I", data, _HEAD)[0]
        place = (end + 3) // 4 * 4  # words are aligned; the encapsulation is one itself
        if not struct.unpack_from("<I", data, place)[0]:
            return ""
        (size,) = struct.unpack_from("<I", data, place + 8)  # the level takes a word
    except struct.error:
        return ""
    return data[place + 12 : place + 12 + size - 1].decode(errors="replace")
