"""The file of a calibration: written beside and renamed, the one before it kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import yaml

from tendon.calibration.results.record import CalibrationRecord
from tendon.core.config import build
from tendon.core.errors import ConfigError
from tendon.core.files import replace_file, set_aside
from tendon.robots.calibration import check_made, read_calibration, values_digest

HEADING = "# Made by `tendon calibrate`. Lengths in m, angles in rad, images in px. Changed by hand, it is refused.\n"


def load_record(file: Path) -> CalibrationRecord:
    """Returns what a calibration's file says.

    Raises:
        ConfigError: it cannot be read, is of another format, or a value is missing or wrong.
        IntegrityError: its values are not those it was written with.
    """
    values = read_calibration(file)
    check_made(values, f"calibration {file}")
    return build(CalibrationRecord, f"calibration {file}", values)


def write_record(record: CalibrationRecord, file: Path) -> Path | None:
    """Writes a calibration. One that was there is kept beside it, under its date; returns where, `None` without one.

    Raises:
        ConfigError: it cannot be written; what was there is as it was.
    """
    values = _plain(asdict(replace(record, sha256="")))
    values.pop("sha256")
    values["sha256"] = values_digest(values, f"calibration {file}")
    text = HEADING + yaml.dump(values, Dumper=_Dumper, sort_keys=False, width=120, allow_unicode=True)
    try:
        kept = set_aside(file, f"-{_date(file)}")
        replace_file(file, text.encode())
    except OSError as error:
        raise ConfigError(f"calibration {file} cannot be written: {error.strerror}; choose another place") from error
    return kept


def _date(file: Path) -> str:
    """Returns the date of what is there, as a name of a file may have it."""
    try:
        return str(read_calibration(file).get("date", "before")).replace(":", "").replace(" ", "T")
    except ConfigError:
        return "before"


class _Dumper(yaml.SafeDumper):
    """Writes a list of numbers in a line."""


def _list(dumper: yaml.SafeDumper, values: list[Any]) -> yaml.Node:
    flat = all(isinstance(value, int | float) for value in values)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", values, flow_style=flat)


_Dumper.add_representer(list, _list)


def _plain(value: Any) -> Any:
    """Returns values as YAML has them, without those that are not known."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value
