"""Messages that nobody should send, made from good ones: wrong values, wrong lengths, and wrong bytes."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
from rclpy.serialization import serialize_message

HOUR_NS = 3_600_000_000_000
FLOATS = (float("nan"), float("inf"), -float("inf"), 1e308, -1e308, 1e18, -1e18, 5e-324, -0.0, 0.0, 1e5, -1.0)
TEXTS = (
    "",
    " ",
    "x",
    "nan",
    "inf",
    "-1",
    "1.2.3",
    "1e308",
    "-1e999",
    "9" * 18,
    "9" * 300,
    "9" * 5000,
    "x" * 300,
    "x" * 60_000,
    "a b c d e f",
    "true",
    "armed",
    "left",
    "\n",
    "٤",
    "\U0001f916" * 50,
    "../../etc",
    "control_node",
    "safety_monitor",
    "policy_node",
    "request",
    "response",
    "reset",
    "step",
    "type",
)
WORDS = (0, 1, 2, 7, 100, 1000, 5000, 70_000, 2**31 - 1, 2**31, 2**32 - 1)
"""What a count or a number in CDR is overwritten with."""
MAX_LIST = 3000
_SEQUENCE = re.compile(r"sequence<(.+?)(?:, \d+)?>")
_ARRAY = re.compile(r"(.+)\[\d+\]")
_INTEGER = re.compile(r"(u?)int(8|16|32|64)")


class Mutator:
    """A seeded source of poison.

    Args:
        seed: of all random choices.
    """

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def _pick(self, values: Any) -> Any:
        return values[int(self._random.integers(len(values)))]

    def message(self, message: Any, now_ns: int) -> None:
        """Spoils one to three fields of a message, which is changed."""
        for _ in range(int(self._random.integers(1, 4))):
            places = list(_places(message))
            if not places:
                return
            holder, name, kind = self._pick(places)
            self._spoil(holder, name, kind, now_ns)

    def _spoil(self, holder: Any, name: str, kind: str, now_ns: int) -> None:
        value = getattr(holder, name)
        if kind in ("builtin_interfaces/Time", "builtin_interfaces/Duration"):
            self._spoil_time(value, now_ns if kind.endswith("Time") else 0)
        elif kind in ("double", "float"):
            number = self._pick(FLOATS)
            setattr(holder, name, number if kind == "double" or abs(number) < 3e38 else 0.0)
        elif kind == "string":
            setattr(holder, name, self._text(value))
        elif kind == "boolean":
            setattr(holder, name, not value)
        elif kind in ("octet", "byte"):
            setattr(holder, name, bytes([int(self._random.integers(256))]))
        elif (found := _INTEGER.fullmatch(kind)) is not None:
            low, high = (
                (0, 2 ** int(found[2]) - 1) if found[1] else (-(2 ** int(found[2]) // 2), 2 ** int(found[2]) // 2 - 1)
            )
            near = min(max(value + int(self._random.integers(-3, 4)), low), high)
            setattr(holder, name, self._pick((low, high, 0, min(1, high), max(low, -1), near)))
        elif (found := _SEQUENCE.fullmatch(kind)) is not None:
            setattr(holder, name, self._list(list(value), found[1]))
        elif (found := _ARRAY.fullmatch(kind)) is not None and found[1] == "double":
            values = list(value)
            values[int(self._random.integers(len(values)))] = self._pick(FLOATS)
            setattr(holder, name, values)

    def _spoil_time(self, time: Any, now_ns: int) -> None:
        if self._random.random() < 0.3:
            time.nanosec = self._pick((0, 999_999_999, 1_000_000_000, 2**32 - 1))
        if self._random.random() < 0.3:
            time.sec = self._pick((0, -1, 1, 2**31 - 1, -(2**31)))
            return
        offset_ns = self._pick((HOUR_NS, -HOUR_NS, 0, 1, -1, 1000, 29_000_000, 10**9, -(10**9), 5 * 10**9, 1 - now_ns))
        second, nanosecond = divmod(now_ns + offset_ns, 10**9)
        time.sec, time.nanosec = min(max(second, -(2**31)), 2**31 - 1), nanosecond

    def _text(self, value: str) -> str:
        if value and self._random.random() < 0.4:
            place = int(self._random.integers(len(value)))
            return self._pick(
                (value[:place], value * 2, value[:place] + "." + value[place:], value.upper(), f"{value} 1")
            )
        return str(self._pick(TEXTS))

    def _list(self, values: list[Any], kind: str) -> list[Any]:
        way = int(self._random.integers(8))
        place = int(self._random.integers(len(values))) if values else 0
        if way == 0:
            return []
        if way == 1:
            return values[:place]
        if way == 2:
            return [*values, *values[place : place + 1]]
        if way == 3:
            return values * 2
        if way == 4:
            count = int(self._pick((10, 100, 1001, MAX_LIST)))
            return (values * (count // max(1, len(values)) + 1))[:count]
        if way == 5:
            return values[::-1]
        if kind in ("double", "float") and values:
            values[place] = self._pick(FLOATS) if kind == "double" else 0.0
        elif kind == "string" and values:
            values[place] = self._text(values[place])
        elif kind == "string":
            values = [self._text("")]
        return values

    def bytes(self, data: bytes) -> bytes:
        """Returns bytes with something wrong: cut off, flipped, overwritten, repeated, or nonsense."""
        way, spoilt = int(self._random.integers(8)), bytearray(data)
        if way == 0:
            return data[: int(self._random.integers(len(data) + 1))]
        if way == 1 and len(data) > 8:
            place = 4 * int(self._random.integers(1, len(data) // 4))
            spoilt[place : place + 4] = struct.pack("<I", int(self._pick(WORDS)))
        elif way == 2 and len(data) > 12:
            place = 4 * int(self._random.integers(1, len(data) // 4 - 1))
            spoilt[place : place + 8] = struct.pack("<d", self._pick(FLOATS))
        elif way == 3 and len(data) > 1:
            spoilt[1] = int(self._pick((0, 1, 2, 3, 6, 7, 8, 255)))
        elif way == 4:
            begin = int(self._random.integers(len(data) + 1))
            spoilt[begin:begin] = data[begin : begin + int(self._random.integers(64))]
        elif way == 5:
            return self._random.bytes(int(self._random.integers(200)))
        elif way == 6:
            spoilt += bytes(int(self._pick((1, 100, 10_000))))
        else:
            for _ in range(int(self._random.integers(1, 9))):
                if spoilt:
                    spoilt[int(self._random.integers(len(spoilt)))] ^= 1 << int(self._random.integers(8))
        return bytes(spoilt)

    def corpus(self, valid: list[Any], count: int, now_ns: int) -> list[bytes]:
        """Returns so many messages as bytes: an eighth is good, most have spoilt fields, and half of all spoilt bytes.

        Args:
            valid: functions that make a good message each.
            count: how many.
            now_ns: time of stamps.
        """
        made = []
        for k in range(count):
            message = self._pick(valid)()
            if k % 8:
                self.message(message, now_ns)
            data = serialize_message(message)
            made.append(self.bytes(data) if k % 8 > 4 else data)
        return made

    def restamped(self, data: bytes, now_ns: int) -> bytes:
        """Returns a message with a stamp that is now, before now, an hour off, or as it was."""
        if len(data) < 12 or self._random.random() < 0.3:
            return data
        offset_ns = self._pick((0, 0, 0, 0, -10_000_000, HOUR_NS, -HOUR_NS, 29_000_000, 900_000_000))
        return data[:4] + struct.pack("<iI", *divmod(now_ns + offset_ns, 10**9)) + data[12:]


def _places(message: Any) -> Iterator[tuple[Any, str, str]]:
    """Yields (holder, name, type) of each field of a message, and of the messages in it."""
    for name, kind in message.get_fields_and_field_types().items():
        value = getattr(message, name)
        yield message, name, kind
        for each in value if isinstance(value, list) else [value]:
            if hasattr(each, "get_fields_and_field_types") and not kind.startswith("builtin_interfaces/"):
                yield from _places(each)
