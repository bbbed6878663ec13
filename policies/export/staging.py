"""A bundle is there when it was tried, and not before: until then it is built beside its place."""

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

    What a killed run left there is removed first.

    Raises:
        ConfigError: `folder` is there already, is being written by another run, or cannot be written.
    """
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise ConfigError(f"{folder} is there already: remove it, or name another folder")
    staging = folder.absolute().with_name(f".{folder.absolute().name}.part")
    try:
        lock = lock_folder(staging)
    except BlockingIOError as error:
        raise ConfigError(f"{folder} is being written by another run: wait for it, or name another folder") from error
    except OSError as error:
        raise ConfigError(f"{folder} was not written: {error}") from error
    try:
        for left in staging.iterdir():
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        yield staging
        staging.replace(folder)
    except BaseException as error:
        shutil.rmtree(staging, ignore_errors=True)
        if isinstance(error, OSError):
            raise ConfigError(f"{folder} was not written: {error}") from error
        raise
    finally:
        os.close(lock)
