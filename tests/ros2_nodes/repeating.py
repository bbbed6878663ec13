"""Something that goes on beside a test."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PERIOD_S = 0.01


@contextmanager
def repeating(send: Callable[[], None]) -> Iterator[None]:
    """Does something 100 times a second, in a thread."""
    ended = threading.Event()

    def run() -> None:
        while not ended.wait(PERIOD_S):
            send()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
