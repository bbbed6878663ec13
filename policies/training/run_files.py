"""What a training run leaves in its folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tendon.core.errors import ConfigError
from tendon.core.json_object import read_json_object

RUN_FILE, WEIGHTS_FILE, STATE_FILE = "run.json", "weights.safetensors", "state.safetensors"
TRAIN_AGAIN = "put back a copy, or train again in another folder"


def read_record(run: Path) -> dict[str, Any]:
    """Returns what `run.json` of a run says.

    Raises:
        ConfigError: it says too little, or is torn.
        OSError: it cannot be read.
    """
    record = read_json_object(run / RUN_FILE, TRAIN_AGAIN)
    if missing := {"recipe", "shape", "cameras", "statistics"} - set(record):
        raise ConfigError(f"{run / RUN_FILE} does not say {', '.join(sorted(missing))}: {TRAIN_AGAIN}")
    return record
