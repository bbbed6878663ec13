"""The calibration that a profile names: a YAML file, known by the digest of its values."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from tendon.core.errors import ConfigError
from tendon.core.yaml_text import parse_yaml


def calibration_digest(file: Path) -> str:
    """Returns the SHA-256 of what a calibration says, in hexadecimal digits.

    Order of keys, comments and how a number is written (`100`, `100.0`, `1.0e+2`) make no difference.

    Raises:
        ConfigError: it cannot be read, is no YAML mapping, or holds what is no text, finite number, date, list or map.
    """
    try:
        values = parse_yaml(file.read_bytes(), f"calibration {file}")
    except OSError as error:
        raise ConfigError(f"calibration {file} cannot be read: {error.strerror}; calibrate again") from error
    if not isinstance(values, Mapping) or not values:
        raise ConfigError(f"calibration {file} must hold a mapping, got {type(values).__name__}; calibrate again")
    text = json.dumps(_canonical(values, f"calibration {file}"), sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _canonical(value: Any, where: str) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _canonical(item, f"{where} {key}") for key, item in value.items()}
    if isinstance(value, list):
        return [_canonical(item, f"{where}[{k}]") for k, item in enumerate(value)]
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, date):  # a datetime too
        return value.isoformat()
    if isinstance(value, int | float) and math.isfinite(value):
        return float(value)
    raise ConfigError(f"{where} is {value!r}, must be text, a finite number, a date, a list or a mapping")
