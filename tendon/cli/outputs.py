"""Where a command leaves its results: tried before the work, which may take an hour."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tendon.core.errors import ConfigError
from tendon.core.files import replace_file

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


def require_file(file: Path, option: str = "--out", suffix: str = "") -> None:
    """Makes the folder of a file, and checks that the file can be written; what is in it stays.

    Args:
        file: to be written.
        option: that names it.
        suffix: that it must have, so that no slip replaces a profile or a recording.

    Raises:
        ConfigError: it cannot.
    """
    if suffix and file.suffix != suffix:
        raise ConfigError(f"{option} {file} must end in {suffix}")
    require_folder(file.parent, option)
    existed = file.exists()
    try:
        with file.open("ab", buffering=0) as trial:
            trial.write(b"")  # which a device may refuse, as /dev/full does
    except OSError as error:
        raise ConfigError(f"{option} {file} cannot be written: {error.strerror}; choose another name") from error
    if not existed:
        file.unlink()


def require_ours(file: Path, option: str, mark: bytes, told: Path | None = None) -> None:
    """Checks that a file is none, or one of ours, which may be replaced: `--out bundles/mine/manifest.json` is a slip.

    Args:
        file: to be written.
        option: that names it.
        mark: which ours contain.
        told: the file that contains it instead of `file`.

    Raises:
        ConfigError: it is something else.
    """
    if not file.is_file() or not file.stat().st_size:
        return
    told = told or file
    if not told.is_file() or mark not in told.read_bytes():
        raise ConfigError(f"{option} {file} is there, and this command did not write it: name another file")


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


def write_whole(file: Path, text: str) -> None:
    """Writes a file in one go: what was there stays where it cannot be.

    Raises:
        ConfigError: see `writing`.
    """
    with writing(file):
        if file.exists() and not file.is_file():  # such as /dev/stdout
            file.write_text(text, encoding="utf-8")
        else:
            replace_file(file, text.encode())


def system_error(error: OSError) -> str:
    """Returns what the system would not do, and what may help, for errors nobody foresaw."""
    what = error.strerror or str(error) or type(error).__name__
    names = [str(name) for name in (error.filename, error.filename2) if name is not None]
    return ": ".join([" -> ".join(names), what] if names else [what])
