"""Files of JSON, one object or list a line, that grow while something runs and may be cut in the last line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TextIO


def read_json_lines(file: Path) -> list[Any]:
    """Returns the values, without a last line that was cut while it was written; the file stays as it is.

    Raises:
        ValueError: another line is no JSON, or there is none that is whole.
    """
    data = file.read_bytes()
    found = _values(data)
    if not found:
        raise ValueError(f"{file} has no line that is whole")
    return found


def json_lines_so_far(file: Path) -> list[Any]:
    """Returns the values of a file that may not be there yet, or have no whole line; see `read_json_lines`.

    Raises:
        ValueError: a line that is whole is no JSON.
    """
    return _values(file.read_bytes()) if file.is_file() else []


def open_json_lines(file: Path) -> TextIO:
    """Opens a file for more lines: a last one that was cut is taken away, and one that lacks only its end gets it."""
    if file.is_file():
        data = file.read_bytes()
        whole, rest = _split(data)
        if rest:
            with file.open("r+b") as ended:
                ended.truncate(len(whole))
                ended.seek(0, 2)
                ended.write(rest + b"\n" if _is_whole(rest) else b"")
    return file.open("a", encoding="utf-8")


def _split(data: bytes) -> tuple[bytes, bytes]:
    """Returns the lines that have an end, and what comes after them."""
    end = data.rfind(b"\n") + 1
    return data[:end], data[end:]


def _is_whole(line: bytes) -> bool:
    """Returns whether a line that has no end is an object or a list all the same: no part of one is."""
    try:
        return isinstance(json.loads(line), dict | list)
    except (ValueError, RecursionError):
        return False


def _values(data: bytes) -> list[Any]:
    lines, rest = _split(data)
    try:
        return [json.loads(line) for line in [*lines.splitlines(), *([rest] if _is_whole(rest) else [])]]
    except RecursionError:
        raise ValueError("a line is nested too deep") from None
