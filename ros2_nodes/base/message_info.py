"""What the middleware knows of a message: when it was sent and received, and which of its publisher's it is."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class MessageInfo:
    """Times are of the system clock; 0 where the middleware does not say.

    Attributes:
        sent_ns: when the publisher's process handed it over.
        received_ns: when it reached this process, however long it waited there.
        number: counts what its publisher has sent, from 1.
    """

    sent_ns: int
    received_ns: int
    number: int


class WithInfo:
    """A callback of a subscription that is given the message, or its bytes, and its `MessageInfo`."""

    __signature__ = inspect.Signature(
        [inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in ("message", "info")]
    )
    """By this rclpy sees that the info is wanted."""

    def __init__(self, take: Callable[[Any, MessageInfo], None]) -> None:
        self._take = take

    def __call__(self, *given: Any) -> None:
        """Hands both on. The events executor of Jazzy passes them as one tuple, others as two arguments."""
        message, said = given[0] if len(given) == 1 else given
        info = MessageInfo(
            sent_ns=said["source_timestamp"] or 0,
            received_ns=said["received_timestamp"] or 0,
            number=said.get("publication_sequence_number") or 0,
        )
        self._take(message, info)
