"""Files that are the old one or the new one at every moment, whatever is killed meanwhile."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import itertools
import os
import shutil
from collections.abc import Iterator
from pathlib import Path


def replace_file(path: Path, content: bytes) -> None:
    """Writes a file in one go, so that it survives a loss of power; its folder is made, its permissions stay.

    A symbolic link stays one: what it leads to is replaced.

    Raises:
        OSError: it cannot be written; what was there stays.
    """
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.part")
    try:
        with naming(path), fresh.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, fresh)
        fresh.replace(path)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise
    _sync(path.parent)


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Names a file in errors of the system that name none, as those of a write do."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


def rename_durably(source: Path, target: Path) -> None:
    """Renames a file so that the new name survives a loss of power.

    Raises:
        FileExistsError: the target exists; it stays as it is.
    """
    if target.exists():
        raise FileExistsError(17, "exists already", str(target))
    source.rename(target)
    _sync(target.parent)


def lock_folder(folder: Path) -> int:
    """Makes a folder this process's to write in; returns the descriptor that is to be closed at the end.

    It binds those who ask for it, too, and leaves no file behind.

    Raises:
        BlockingIOError: it is another's already.
        OSError: the folder cannot be made.
    """
    folder.mkdir(parents=True, exist_ok=True)
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(place)
        raise BlockingIOError(errno.EAGAIN, "is being written: wait until that has ended", str(folder)) from error
    return place


def free_place(path: Path, mark: str = ".before") -> Path:
    """Returns where what is at a path can be kept beside it: NAME.before, or NAME.before2 and so on.

    Args:
        path: of a file or a folder.
        mark: after its stem.
    """
    names = (f"{path.stem}{mark}{number if number > 1 else ''}{path.suffix}" for number in itertools.count(1))
    return next(each for name in names if not (each := path.with_name(name)).exists())


def set_aside(path: Path, mark: str = ".before") -> Path | None:
    """Copies a file to its `free_place`; returns where, `None` where there is none.

    Args:
        path: that is to be replaced; it stays until then.
        mark: after its stem.

    Raises:
        OSError: it cannot be copied; there is no torn copy then.
    """
    if not path.exists():
        return None
    kept = free_place(path, mark)
    try:
        shutil.copy2(path, kept)
    except OSError:
        kept.unlink(missing_ok=True)
        raise
    return kept


def _sync(folder: Path) -> None:
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(place)
    finally:
        os.close(place)
