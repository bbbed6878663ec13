"""Where a command leaves its results: tried before the work, which may take an hour."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tendon.core.errors import ConfigError

_TRIAL = bytes(4096)
"""A block: on a full disk a file can be made, but not written."""


def require_folder(folder: Path, option: str = "--out") -> None:
    """Makes a folder, and checks that files can be written in it.

    Raises:
        ConfigError: they cannot.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as trial:
            trial.write(_TRIAL)
            trial.flush()
    except OSError as error:
        raise ConfigError(f"{option} {folder} cannot be written: {error.strerror}; choose another place") from error


def require_file(file: Path, option: str = "--out") -> None:
    """Makes the folder of a file, and checks that the file can be written; what is in it stays.

    Raises:
        ConfigError: it cannot.
    """
    require_folder(file.parent, option)
    existed = file.exists()
    try:
        with file.open("ab", buffering=0) as trial:
            trial.write(b"")  # which a device may refuse, as /dev/full does
    except OSError as error:
        raise ConfigError(f"{option} {file} cannot be written: {error.strerror}; choose another name") from error
    if not existed:
        file.unlink()


def require_apart(**files: Path | None) -> None:
    """Checks that no two options name the same file: one would replace the other.

    Raises:
        ConfigError: two do.
    """
    seen: dict[Path, str] = {}
    for name, file in files.items():
        if file is None:
            continue
        option, place = "--" + name.replace("_", "-"), file.resolve()
        if (other := seen.setdefault(place, option)) != option:
            raise ConfigError(f"{other} and {option} are one file, {file}: name another one")


@contextlib.contextmanager
def writing(place: Path) -> Iterator[None]:
    """Names the place of what is written meanwhile, where the system's error does not.

    Raises:
        ConfigError: it cannot be written any more, as on a disk that has become full.
    """
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigError(f"{place} cannot be written: {reason}; make room, or choose another place") from error


def system_error(error: OSError) -> str:
    """Returns what the system would not do, and what may help, for errors nobody foresaw."""
    what = error.strerror or str(error) or type(error).__name__
    names = [str(name) for name in (error.filename, error.filename2) if name is not None]
    return ": ".join([" -> ".join(names), what] if names else [what])
