"""Words in the frame_id of a std_msgs/Header, after a version: for what is said often, in few words."""

from __future__ import annotations

from dataclasses import dataclass

from std_msgs.msg import Header

from tendon.core.errors import InvalidDataError
from tendon.ros2_nodes.wire.times import time_message
from tendon.ros2_nodes.wire.version import VERSION, check_version

LONGEST = 256
"""Characters of a frame_id."""


@dataclass(frozen=True, kw_only=True)
class HeaderLine:
    """The form of a topic's frame_id: version, words, whole numbers, with one space between them.

    Attributes:
        topic: its name.
        words: what they are called.
        numbers: what those after them are called.
    """

    topic: str
    words: tuple[str, ...]
    numbers: tuple[str, ...] = ()

    def encode(self, stamp_ns: int, *values: str | int) -> Header:
        """Returns the message of words and numbers."""
        return Header(stamp=time_message(stamp_ns), frame_id=" ".join(map(str, (VERSION, *values))))

    def decode(self, message: Header) -> tuple[list[str], list[int]]:
        """Returns words and numbers of a message.

        Raises:
            InvalidDataError: it is of another version or form.
        """
        line = message.frame_id
        version, *values = line[:LONGEST].split(" ")
        if version.isdigit():
            check_version(self.topic, version)
        form = (*self.words, *self.numbers)
        words, numbers = values[: len(self.words)], values[len(self.words) :]
        whole = all(words) and all(text.isascii() and text.isdigit() for text in numbers)
        if not version.isdigit() or not whole or len(values) != len(form) or len(line) > LONGEST:
            expected = " ".join((str(VERSION), *form))
            raise InvalidDataError(f"{self.topic}: frame_id is {line[:LONGEST]!r}, must be {expected}")
        return words, [int(text) for text in numbers]
