"""Which recordings are meant by files and folders."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tendon.core.errors import ConfigError, InvalidDataError
from tendon.data.recording.recover import RECOVERED
from tendon.data.recording.scan import scan


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
                raise ConfigError(f"{source} has no .mcap file: name a folder of recordings, or files")
            found += [file for file in inside if not _is_copy(file)]
        elif source.is_file():
            found.append(source)
        else:
            raise ConfigError(f"there is no {source}: name an MCAP file or a folder of them")
    return list(dict.fromkeys(found))


def _is_copy(file: Path) -> bool:
    original = file.with_name(file.name.replace(f"{RECOVERED}.mcap", ".mcap"))
    try:
        return original != file and original.exists() and scan(original).whole
    except InvalidDataError:
        return False
