"""The protobuf wire format, as far as ONNX needs it: a deployment needs no onnx package."""

from __future__ import annotations

from collections.abc import Iterator


def fields(message: memoryview) -> Iterator[tuple[int, int | memoryview | None]]:
    """Yields each field of a message: its number, and a whole number, bytes, or `None` for a number of fixed length.

    Raises:
        IndexError, ValueError: the bytes are no message.
    """
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        wire = tag & 7
        value: int | memoryview | None = None
        if wire == 0:
            value, at = _varint(message, at)
        elif wire == 2:
            length, at = _varint(message, at)
            value, at = message[at : at + length], at + length
        elif wire in (1, 5):
            at += 8 if wire == 1 else 4
        else:
            raise ValueError(f"wire type {wire} at byte {at}")
        if at > len(message):
            raise ValueError(f"a field ends at byte {at} of {len(message)}")
        yield tag >> 3, value


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise ValueError(f"varint longer than 10 bytes at byte {at}")
