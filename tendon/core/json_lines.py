"""Files of JSON, one value a line, that grow while something runs and may be cut in the middle of the last line."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def read_json_lines(file: Path) -> list[Any]:
    """Returns the values; a last line without its end was cut while it was written, and is taken away from the file.

    Raises:
        ValueError: another line is no JSON, or there is none that is whole.
    """
    data, whole = _read(file)
    if not whole:
        raise ValueError(f"{file} has no line that is whole")
    return _values(file, data, whole)


def json_lines_so_far(file: Path) -> list[Any]:
    """Returns the values of a file that may not be there yet, or have no whole line; see `read_json_lines`.

    Raises:
        ValueError: a line that is whole is no JSON.
    """
    return _values(file, *_read(file)) if file.is_file() else []


def _read(file: Path) -> tuple[bytes, bytes]:
    data = file.read_bytes()
    return data, data[: data.rfind(b"\n") + 1]


def _values(file: Path, data: bytes, whole: bytes) -> list[Any]:
    found = [json.loads(line) for line in whole.splitlines()]
    if len(whole) < len(data):
        os.truncate(file, len(whole))
    return found
