"""Where a policy server is, and how long anybody waits for it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

LARGEST_REPLY = 4 << 20
"""Bytes. A chunk of 100 rows of 32 numbers has 26 kB."""


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """Where a server is and how to reach it.

    Attributes:
        url: `ws://` or `wss://` (openpi's protocol), `tcp://` (GR00T's).
        key: what the server asks for; empty for none.
        ca_file: certificates to trust instead of the system's, for `wss://`.
        connect_s: longest time to connect.
        largest: bytes of a reply.
    """

    url: str
    key: str = ""
    ca_file: Path | None = None
    connect_s: float = 5.0
    largest: int = LARGEST_REPLY


class Deadline:
    """An instant on the monotonic clock after which nobody waits any more."""

    def __init__(self, seconds: float) -> None:
        self._end_s = time.monotonic() + seconds

    def left_s(self) -> float:
        """Returns the seconds left.

        Raises:
            TimeoutError: there are none.
        """
        left_s = self._end_s - time.monotonic()
        if left_s <= 0.0:
            raise TimeoutError("timed out")
        return left_s
