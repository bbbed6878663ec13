"""A terminal may be gone before the robot is at rest: what is written to it from then on is lost, and stops nobody."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO, cast

GONE = (errno.EIO, errno.EPIPE)
"""What writing brings when a terminal is closed, or the reader of a pipe has ended."""


def lead_nowhere(stream: TextIO) -> None:
    """Drops what is written to a stream from here on, and what waits in its buffer: that would fail at the end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


class _Lasting:
    """A text stream whose reader may go: from then on it leads nowhere. A full disk costs what was written then."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with self._losing():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with self._losing():
            self._stream.flush()

    @contextlib.contextmanager
    def _losing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno in GONE:
                lead_nowhere(self._stream)


@contextlib.contextmanager
def lasting_output() -> Iterator[None]:
    """Keeps `sys.stdout` and `sys.stderr` from raising OSError meanwhile."""
    stdout, stderr = (cast(TextIO, _Lasting(stream)) for stream in (sys.stdout, sys.stderr))
    with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
        yield
