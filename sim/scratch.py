"""Files that simulators load from disk only: they go with the process."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path


def scratch_folder() -> Path:
    """Returns a new folder that is removed when the process ends."""
    return Path(tempfile.mkdtemp(dir=_kept().name))


@functools.cache
def _kept() -> tempfile.TemporaryDirectory[str]:
    """Returns what removes them all as the interpreter ends."""
    return tempfile.TemporaryDirectory(prefix="tendon-sim-")
