"""Reads a YAML file of ROS parameters, in the form that every ROS tool takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tendon.core.errors import ConfigError
from tendon.robots.environment import read_yaml

ALL = "/**"
"""The section of all nodes."""
_KEY = "ros__parameters"
Value = bool | int | float | str


def read_params_file(path: Path) -> dict[str, dict[str, Value]]:
    """Returns the parameters of each section of a file; the sections are `ALL` and names of nodes.

    Args:
        path: of the file. Parameters in groups, `steer: {speed: 1.0}`, are those with a dot, `steer.speed`.

    Raises:
        ConfigError: there is no such file, or it does not hold parameters.
    """
    content = read_yaml(path.expanduser(), "params_file")
    if not isinstance(content, dict):
        raise ConfigError(f"params_file {path} must hold sections such as '{ALL}', each with {_KEY}")
    sections: dict[str, dict[str, Value]] = {}
    for section, body in content.items():
        if not isinstance(body, dict) or set(body) != {_KEY} or not isinstance(body[_KEY], dict):
            raise ConfigError(f"params_file {path}: section {section} must hold {_KEY} and nothing else")
        name = ALL if section == ALL else str(section).removeprefix(ALL).removeprefix("/")
        if name in sections:
            raise ConfigError(f"params_file {path}: there are two sections for {name}")
        sections[name] = dict(_flat(path, "", body[_KEY]))
    return sections


def _flat(path: Path, group: str, body: Mapping[Any, Any]) -> Iterator[tuple[str, Value]]:
    for key, value in body.items():
        name = f"{group}{key}"
        if isinstance(value, dict):
            yield from _flat(path, f"{name}.", value)
        elif isinstance(value, bool | int | float | str):
            yield name, value
        else:
            raise ConfigError(f"params_file {path}: {name} is {value!r}, must be true, false, a number or text")
