"""A small file system of its own for what a graph keeps, so that it can be filled."""

from __future__ import annotations

import contextlib
import os
import subprocess
from pathlib import Path

from tendon.safety.latch import STATE_VARIABLE

SIZE = "64m"
_BLOCK = bytes(1 << 16)


class StateDisk:
    """Holds the latch file and the event log of every graph started from here on. Mounted when root may do that.

    Args:
        folder: where; made when missing.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tendon-faults", str(folder)]
        self._mounted = os.geteuid() == 0 and subprocess.run(command, capture_output=True, check=False).returncode == 0
        os.environ[STATE_VARIABLE] = str(folder)

    def fill(self) -> None:
        """Leaves no byte free.

        Raises:
            LookupError: it is no file system of its own, and others would suffer.
        """
        if not self._mounted:
            raise LookupError("a small tmpfs needs root and the right to mount")
        with contextlib.suppress(OSError), (self._folder / "filler").open("ab", buffering=0) as file:
            while True:
                file.write(_BLOCK)
        with contextlib.suppress(OSError), (self._folder / "filler").open("ab", buffering=0) as file:
            while True:
                file.write(b" ")

    def free(self) -> None:
        """Gives the space back."""
        (self._folder / "filler").unlink(missing_ok=True)

    def close(self) -> None:
        """Unmounts it."""
        if self._mounted:
            subprocess.run(["umount", "--lazy", str(self._folder)], capture_output=True, check=False)
