"""Which recordings are meant by files and folders."""

from __future__ import annotations

import fcntl
from collections.abc import Iterable
from pathlib import Path

from tendon.core.errors import ConfigError, InvalidDataError
from tendon.data.recording.recover import RECOVERED
from tendon.data.recording.scan import scan
from tendon.data.recording.writer import PART


def recordings(sources: Iterable[Path]) -> list[Path]:
    """Returns the MCAP files among sources, those of folders in the order of their names.

    What was recovered of a file that is whole in the same folder is passed over: it is the same episode.

    Raises:
        ConfigError: a source is not there, or is neither; or there is no recording.
    """
    found: list[Path] = []
    for source in sources:
        if source.is_dir():
            inside = sorted(source.glob("*.mcap"))
            if not inside:
                cut = cut_line([source])
                why = (
                    f"has no whole recording. {cut}"
                    if cut
                    else "has no .mcap file: name a folder of recordings, or files"
                )
                raise ConfigError(f"{source} {why}")
            found += [file for file in inside if not _is_copy(file)]
        elif source.is_file():
            found.append(source)
        else:
            raise ConfigError(f"there is no {source}: name an MCAP file or a folder of them")
    return list(dict.fromkeys(found))


def cut_line(sources: Iterable[Path]) -> str:
    """Returns what is said of recordings in folders that a crash has cut, and what recovers them; empty without one."""
    parts = [part for source in sources if source.is_dir() for part in sorted(source.glob(f"*.mcap{PART}"))]
    cut = [part for part in parts if not _is_being_written(part)]
    if not cut:
        return ""
    said = "1 recording was cut and is" if len(cut) == 1 else f"{len(cut)} recordings were cut and are"
    each = "" if len(cut) == 1 else ", and so the others"
    return f"{said} left out: `tendon data recover {cut[0]}`{each}"


def _is_being_written(part: Path) -> bool:
    with part.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _is_copy(file: Path) -> bool:
    original = file.with_name(file.name.replace(f"{RECOVERED}.mcap", ".mcap"))
    try:
        return original != file and original.exists() and scan(original).whole
    except InvalidDataError:
        return False
