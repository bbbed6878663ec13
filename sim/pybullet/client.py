"""PyBullet, imported in this one place without the line about its build time that the C library prints to stderr."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

NOISE = b"pybullet build time"


@contextlib.contextmanager
def _without_noise() -> Iterator[None]:
    """Holds back what C code writes to file descriptor 2, then passes on all of it but the noise."""
    try:
        kept = os.dup(2)
    except OSError:  # stderr is closed
        yield
        return
    held = os.memfd_create("stderr")
    os.dup2(held, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.lseek(held, 0, os.SEEK_SET)
        with os.fdopen(held, "rb") as lines:
            os.write(2, b"".join(line for line in lines if not line.startswith(NOISE)))


with _without_noise():
    import pybullet

__all__ = ["pybullet"]
