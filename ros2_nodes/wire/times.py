"""ROS times as nanoseconds."""

from __future__ import annotations

import struct

from builtin_interfaces.msg import Duration, Time

from tendon.core.errors import InvalidDataError
from tendon.core.stamps import SECOND_NS, nanoseconds_of

__all__ = ["ENCAPSULATION", "SECOND_NS", "STAMP_SIZE", "nanoseconds_of", "read_stamp_ns", "time_message", "time_ns"]

ENCAPSULATION = b"\x00\x01\x00\x00"
"""First bytes of a message in classic CDR, little-endian (OMG DDSI-RTPS 2.5, 10.2.1.2). Alignment counts from their
end."""
STAMP_SIZE = 8
"""Bytes of a stamp, the first thing in a header."""


def time_message(stamp_ns: int) -> Time:
    """Returns a ROS time of nanoseconds."""
    second, nanosecond = divmod(stamp_ns, SECOND_NS)
    return Time(sec=second, nanosec=nanosecond)


def time_ns(message: Time | Duration) -> int:
    """Returns the nanoseconds of a ROS time or duration.

    Raises:
        InvalidDataError: it is none, see `nanoseconds_of`.
    """
    return nanoseconds_of(int(message.sec), int(message.nanosec))


def read_stamp_ns(data: bytes) -> int:
    """Returns the stamp of a serialized message that begins with a header.

    Raises:
        InvalidDataError: it is too short, or its stamp is no time.
    """
    if len(data) < len(ENCAPSULATION) + STAMP_SIZE:
        raise InvalidDataError(f"a message of {len(data)} bytes has no header")
    second, nanosecond = struct.unpack_from("<iI" if data[1] & 1 else ">iI", data, len(ENCAPSULATION))
    return nanoseconds_of(second, nanosecond)
