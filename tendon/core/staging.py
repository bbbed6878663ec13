"""What takes a while to make is there when it is whole, and not before: until then it is built beside its place."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tendon.core.errors import ConfigError
from tendon.core.files import lock_folder


@contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """Gives a folder to write to that becomes `folder` when all went well, and is removed when anything did not.

    Raises:
        ConfigError: `folder` is there already, is being written by another run, or cannot be written.
    """
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise ConfigError(f"{folder} is there already: remove it, or name another folder")
    try:
        with beside(folder) as staging:
            yield staging
            staging.replace(folder.resolve())
    except BlockingIOError as error:
        raise ConfigError(f"{folder} is being written by another run: wait for it, or name another folder") from error
    except OSError as error:
        raise ConfigError(f"{folder} was not written: {error}") from error


@contextmanager
def beside(folder: Path) -> Iterator[Path]:
    """Gives an empty folder beside another, of one process at a time; it is removed, unless it was renamed.

    What a killed run left there is removed first.

    Raises:
        BlockingIOError: another process has it.
        OSError: it cannot be made.
    """
    place = folder.resolve()
    staging = place.with_name(f".{place.name}.part")
    lock = lock_folder(staging)
    inode = os.fstat(lock).st_ino
    try:
        for left in staging.iterdir():
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        yield staging
    finally:
        if staging.exists() and staging.stat().st_ino == inode:  # not another process's, which came after a renaming
            shutil.rmtree(staging, ignore_errors=True)
        os.close(lock)
