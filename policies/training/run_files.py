"""The files of a training run, and JSON of it, read with an error that names the one that is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tendon.core.errors import ConfigError

RUN_FILE, WEIGHTS_FILE, STATE_FILE = "run.json", "weights.safetensors", "state.safetensors"
TORN = "is torn or no file of a run: put back a copy, or train again in another folder"


def read_mapping(file: Path) -> dict[str, Any]:
    """Returns what a JSON file maps.

    Raises:
        ConfigError: it cannot be read, or is no mapping.
    """
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{file} cannot be read ({error}): {TORN}") from error
    if not isinstance(found, dict):
        raise ConfigError(f"{file} holds a {type(found).__name__}, not a mapping: {TORN}")
    return found


def read_record(run: Path) -> dict[str, Any]:
    """Returns what `run.json` of a run says.

    Raises:
        ConfigError: it cannot be read, or says too little.
    """
    record = read_mapping(run / RUN_FILE)
    if missing := {"recipe", "shape", "cameras", "statistics"} - set(record):
        raise ConfigError(f"{run / RUN_FILE} does not say {', '.join(sorted(missing))}: {TORN}")
    return record
