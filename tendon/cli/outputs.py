"""Where a command leaves its results: tried before the work, which may take an hour."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path

from tendon.core.errors import ConfigError
from tendon.core.files import lock_folder, replace_file

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
    if file.is_fifo():  # opening it would wait for who reads, and closing it would send them away
        return
    place = file.resolve()  # what a link leads to
    if not is_stream(file):
        require_folder(place.parent, option)
    existed = place.exists()
    try:
        with place.open("ab", buffering=0) as trial:
            trial.write(b"")  # which a device may refuse, as /dev/full does
    except OSError as error:
        raise ConfigError(f"{option} {file} cannot be written: {error.strerror}; choose another name") from error
    if not existed:
        place.unlink()


def is_stream(file: Path) -> bool:
    """Returns whether what is written to a file goes elsewhere, as to /dev/stdout, whatever that leads to."""
    leads_elsewhere = str(file.absolute()).startswith(("/dev/std", "/dev/fd/", "/proc/"))
    return leads_elsewhere or (file.exists() and not file.is_file() and not file.is_dir())


def require_ours(file: Path, option: str, mark: bytes) -> None:
    """Checks that a file is none, or one of ours, which may be replaced: `--out bundles/mine/manifest.json` is a slip.

    Args:
        file: to be written.
        option: that names it.
        mark: which ours contain.

    Raises:
        ConfigError: it is something else.
    """
    if is_stream(file) or not file.is_file() or not file.stat().st_size:
        return
    if mark not in file.read_bytes():
        raise ConfigError(f"{option} {file} is there, and this command did not write it: name another file")


@contextlib.contextmanager
def own_folder(folder: Path, command: str, names: Collection[str] = (), always: str = "") -> Iterator[None]:
    """Makes a folder in which a command begins anew, or checks that what is in it is of an earlier run of it.

    Meanwhile it is locked: two runs would empty one another's.

    Args:
        folder: that is written to, and marked as this command's.
        command: such as "tendon demo".
        names: of what it leaves.
        always: one of these, which each run leaves: a folder with that and nothing but these is its own, unmarked too.

    Raises:
        ConfigError: it is somebody else's, or cannot be written.
        BlockingIOError: another run writes to it.
    """
    require_folder(folder)
    lock = lock_folder(folder)
    try:
        mark = folder / ".made-by"
        inside = {each.name for each in folder.iterdir()}
        marked = mark.is_file() and mark.read_text(encoding="utf-8").strip() == command
        if not marked and inside and not (always in inside and inside <= set(names)):
            raise ConfigError(f"--out {folder} holds what `{command}` did not make: name a new folder")
        with writing(folder):
            mark.write_text(f"{command}\n", encoding="utf-8")
        yield
    finally:
        os.close(lock)


def require_apart(**files: Path | None) -> None:
    """Checks that no two options name the same file: one would replace the other.

    Raises:
        ConfigError: two do.
    """
    seen: dict[Path, str] = {}
    for name, file in files.items():
        if file is None or is_stream(file):
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
        if file == Path("/dev/stdout"):  # opened again, it would begin anew where it leads to a file
            print(text, flush=True)
        elif is_stream(file):
            file.write_text(text, encoding="utf-8")
        else:
            replace_file(file, text.encode())


def system_error(error: OSError) -> str:
    """Returns what the system would not do, and what may help, for errors nobody foresaw."""
    what = error.strerror or str(error) or type(error).__name__
    names = [str(name) for name in (error.filename, error.filename2) if name is not None]
    return ": ".join([" -> ".join(names), what] if names else [what])
