"""PyBullet, imported in this one place without the line about its build time that the C library prints to stderr.

Raises MissingDependencyError where it is not installed, so that a command that needs it ends with one line.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from tendon.core.distribution import pip_install
from tendon.core.errors import MissingDependencyError

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


try:
    with _without_noise():
        import pybullet
        import pybullet_data
except ModuleNotFoundError as error:
    raise MissingDependencyError(
        f"this simulator needs PyBullet, which has wheels up to Python 3.11: {pip_install('sim')}, which brings MuJoCo "
        "where there is none; `tendon run backend:=mock` needs no simulator"
    ) from error

__all__ = ["pybullet", "pybullet_data"]
