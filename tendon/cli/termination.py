"""SIGTERM, by which `timeout`, Slurm and `docker stop` end a command, as Ctrl-C: what there is is kept."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

EXIT_TERMINATED = 128 + signal.SIGTERM


class TerminationError(KeyboardInterrupt):
    """SIGTERM came."""

    def __str__(self) -> str:
        return "SIGTERM"


@contextlib.contextmanager
def interrupted_by_sigterm() -> Iterator[None]:
    """Has SIGTERM raise a `TerminationError` meanwhile, in the main thread; in others it stays what it is."""
    if threading.current_thread() is not threading.main_thread():  # only it may set handlers
        yield
        return
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(*_: object) -> None:
    raise TerminationError
