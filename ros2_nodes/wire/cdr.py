"""Serialized messages, where most of their bytes are the same each time.

rclpy publishes bytes as they are and hands them out with `raw=True`. To make a message object of them costs it 8 to 35
us, in each process that listens: what comes 50 or 100 times a second is read from the bytes. They are classic CDR (OMG
DDSI-RTPS 2.5, 10.2.1.2); bytes of any other form are left to rclpy.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from typing import TypeVar

from rclpy.serialization import deserialize_message

from tendon.core.errors import InvalidDataError
from tendon.ros2_nodes.wire.sizes import check_size
from tendon.ros2_nodes.wire.times import ENCAPSULATION, SECOND_NS, STAMP_SIZE

STAMP_END = len(ENCAPSULATION) + STAMP_SIZE
WORD = struct.Struct("<I")
_STAMP = struct.Struct("<iI")
_NO_STAMP = bytes(STAMP_SIZE)

Message = TypeVar("Message")


def gap(place: int) -> int:
    """Returns how many bytes lie between a place in a message and the next multiple of 8."""
    return (len(ENCAPSULATION) - place) % 8


def strings(frame: str, names: Sequence[str]) -> bytes:
    """Returns what follows the stamp of a message that begins with a header and a sequence of names."""
    return b"".join([_string(frame), WORD.pack(len(names)), *map(_string, names)])


def strings_pattern(frame: str, names: Sequence[str]) -> re.Pattern[bytes]:
    """Returns a regular expression for the same: what fills a string up to the next word may be anything.

    Fast CDR writes there what the memory held before.
    """
    texts = [_string(text) for text in (frame, *names)]
    exact = [len(WORD.pack(0)) + len(text.encode()) + 1 for text in (frame, *names)]
    parts = [re.escape(data[:size]) + b"." * (len(data) - size) for data, size in zip(texts, exact, strict=True)]
    parts.insert(1, re.escape(WORD.pack(len(names))))
    return re.compile(b"".join(parts), re.DOTALL)


def _string(text: str) -> bytes:
    data = text.encode() + bytes(1)
    return WORD.pack(len(data)) + data + bytes(-len(data) % WORD.size)


def without_stamp(data: bytes) -> bytes:
    """Returns a message that begins with a header, its stamp zero: what says the same again has the same bytes."""
    return data[: len(ENCAPSULATION)] + _NO_STAMP + data[STAMP_END:]


def with_stamp(data: bytes, stamp_ns: int) -> bytes:
    """Returns a message of ours that begins with a header, with another stamp."""
    return ENCAPSULATION + _STAMP.pack(*divmod(stamp_ns, SECOND_NS)) + data[STAMP_END:]


def deserialize(data: bytes, kind: type[Message]) -> Message:
    """Returns the message that bytes are.

    Raises:
        InvalidDataError: they are none of that kind, or too large a one.
    """
    check_size(kind, data)
    try:
        message: Message = deserialize_message(data, kind)
    except Exception as error:  # rclpy says with its own types, and with RuntimeError, that bytes are no such message
        raise InvalidDataError(f"{len(data)} bytes are no {kind.__name__}: {error}") from error
    return message
