"""Small file systems of their own for what a graph keeps and records, so that they can be broken."""

from __future__ import annotations

import contextlib
import os
import subprocess
from pathlib import Path

from tendon.safety.latch import STATE_VARIABLE

SIZE, RECORDED_BYTES = "64m", 256 << 20
_BLOCK = bytes(1 << 16)


def _did(*command: str) -> bool:
    return os.geteuid() == 0 and subprocess.run(command, capture_output=True, check=False).returncode == 0


class SmallDisk:
    """A file system that can be filled. Mounted when root may do that.

    Args:
        folder: where; made when missing.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._mounted = self._mount()

    def _mount(self) -> bool:
        return _did("mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tendon-faults", str(self.folder))

    def fill(self) -> None:
        """Leaves no byte free.

        Raises:
            LookupError: it is no file system of its own, and others would suffer.
        """
        self._check()
        for block in (_BLOCK, b" "):
            with contextlib.suppress(OSError), (self.folder / "filler").open("ab", buffering=0) as file:
                while True:
                    file.write(block)

    def free(self) -> None:
        """Gives the space back."""
        (self.folder / "filler").unlink(missing_ok=True)

    def close(self) -> None:
        """Unmounts it."""
        if self._mounted:
            _did("umount", "--lazy", str(self.folder))

    def _check(self) -> None:
        if not self._mounted:
            raise LookupError("a small disk needs root and the right to mount")


class StateDisk(SmallDisk):
    """Holds the latch file and the event log of every graph started from here on."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        os.environ[STATE_VARIABLE] = str(folder)


class RecordingDisk(SmallDisk):
    """An ext4 in a file, which holds recordings: it can hang, and turn read-only under an open file."""

    def _mount(self) -> bool:
        image = self.folder.with_suffix(".ext4")
        with image.open("wb") as file:
            file.truncate(RECORDED_BYTES)
        try:
            return _did("mkfs.ext4", "-q", "-F", str(image)) and _did(
                "mount", "-o", "loop", str(image), str(self.folder)
            )
        finally:
            image.unlink()  # what is mounted keeps it

    def hang(self) -> None:
        """Lets every write wait until `go_on`.

        Raises:
            LookupError: see `fill`.
        """
        self._check()
        _did("fsfreeze", "--freeze", str(self.folder))

    def go_on(self) -> None:
        """Ends `hang`."""
        _did("fsfreeze", "--unfreeze", str(self.folder))

    def turn_read_only(self) -> None:
        """Does what ext4 does when its disk fails: nothing is written any more, not even to open files.

        Raises:
            LookupError: see `fill`.
        """
        self._check()
        _did("mount", "-o", "remount,abort", str(self.folder))

    def renew(self) -> None:
        """Puts a new one in its place."""
        self.close()
        self._mounted = self._mount()
