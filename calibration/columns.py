"""Numbers in columns: .csv files, with or without a heading."""

from __future__ import annotations

from pathlib import Path

from tendon.core.errors import ConfigError
from tendon.core.types import Array, freeze


def read_columns(file: Path, count: int) -> Array:
    """Returns (k, count) numbers of a file; words in its first line are its heading.

    Raises:
        ConfigError: it cannot be read, or a line does not hold so many numbers.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} cannot be read: {error}") from error
    rows = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            values = [float(word) for word in line.replace(";", ",").split(",")]
        except ValueError as error:
            if number == 1:
                continue
            raise ConfigError(f"{file} line {number}: {line!r} is not {count} numbers with commas") from error
        if len(values) != count:
            raise ConfigError(f"{file} line {number} has {len(values)} numbers, must be {count}")
        rows.append(values)
    if not rows:
        raise ConfigError(f"{file} has no numbers")
    return freeze(str(file), rows, (None, count))
