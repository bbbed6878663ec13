"""A bundle is there when it was tried, and not before: until then it is built beside its place."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tendon.core.errors import ConfigError


@contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """Gives a folder to write to that becomes `folder` when all went well, and is removed when anything did not.

    Raises:
        ConfigError: `folder` is there already, or cannot be written.
    """
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise ConfigError(f"{folder} is there already: remove it, or name another folder")
    staging = folder.absolute().with_name(f".{folder.absolute().name}.{os.getpid()}.part")
    try:
        staging.mkdir(parents=True)
        yield staging
        staging.replace(folder)
    except OSError as error:
        raise ConfigError(f"{folder} was not written: {error}") from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)
