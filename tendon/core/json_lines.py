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
    data = file.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    found = [json.loads(line) for line in whole.splitlines()]
    if not found:
        raise ValueError(f"{file} has no line that is whole")
    if len(whole) < len(data):
        os.truncate(file, len(whole))
    return found
