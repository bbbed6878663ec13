"""A file of one JSON object, such as a configuration that another program wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tendon.core.errors import ConfigError


def read_json_object(path: Path, fix: str = "") -> dict[str, Any]:
    """Returns the object in a JSON file.

    Args:
        path: of the file.
        fix: what to do where it holds none, for the message.

    Raises:
        ConfigError: it holds none.
        OSError: it cannot be read.
    """
    ending = f": {fix}" if fix else ""
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"{path} is not valid JSON: {error}{ending}") from error
    if not isinstance(raw, dict):
        raise ConfigError(f"{path} must hold an object, got {type(raw).__name__}{ending}")
    return raw
