"""Worker processes that do not outlive who started them, however that one ended, and leave Ctrl-C to it."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator

EXIT_ORPHANED = 1


def end_with_parent() -> None:
    """Has this process end when the one that started it by `multiprocessing` is gone, killed or not."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_wait_and_end, args=(parent,), daemon=True, name="orphan").start()


def _wait_and_end(parent: multiprocessing.process.BaseProcess) -> None:
    parent.join()
    os._exit(EXIT_ORPHANED)


def clean_up_at_sigterm() -> None:
    """Has SIGTERM end this process as its last line would: what removes its files is called."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


@contextlib.contextmanager
def deaf_to_interrupts() -> Iterator[None]:
    """Has processes started meanwhile ignore Ctrl-C, from their first line on: the one that started them ends them."""
    if threading.current_thread() is not threading.main_thread():  # only it may set handlers
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
