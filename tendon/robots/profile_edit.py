"""Changes one key of a profile's file and leaves every other character as it is: comments, order and columns."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import yaml

from tendon.core.errors import ConfigError
from tendon.core.files import replace_file
from tendon.core.yaml_text import parse_yaml


def named_collisions(profile: Path) -> str | None:
    """Returns what a profile's file says of `collisions`; `None` for nothing, or for that there are none.

    Raises:
        ConfigError: it is not the YAML of a mapping, or the value is no text.
    """
    values = _read(profile)[1]
    value = values.get("collisions")
    if value is not None and not isinstance(value, str):
        raise ConfigError(f"{profile} collisions is {value!r}, must be the name of a file or none")
    return None if value == "none" else value


def name_collisions(profile: Path, collisions: str) -> None:
    """Makes a profile name its collision model, see `name_file`."""
    name_file(profile, "collisions", collisions)


def name_calibration(profile: Path, calibration: str) -> None:
    """Makes a profile name its calibration, see `name_file`."""
    name_file(profile, "calibration", calibration)


def name_response(profile: Path, response: str) -> None:
    """Makes a profile name how its servos follow, see `name_file`."""
    name_file(profile, "response", response)


def name_file(profile: Path, key: str, file: str) -> None:
    """Makes a profile name a file by its path from the profile's folder, see `write_key`."""
    write_key(profile, key, file)


def write_key(profile: Path, key: str, value: object) -> None:
    """Writes a key of a profile: in place of what it says, or in a line of its own below `urdf`.

    Args:
        profile: the file to change.
        key: of the profile.
        value: text, or what goes into one line.

    Raises:
        ConfigError: the file has no line `urdf:` of its own, or cannot be written; it is as it was then.
    """
    text, values = _read(profile)
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    assert isinstance(root, yaml.MappingNode)  # as _read has found
    nodes = {node.value: value for node, value in root.value}
    quoted = yaml.safe_dump(value, width=1 << 20, allow_unicode=True, default_flow_style=True, sort_keys=False)
    quoted = quoted.removesuffix("...\n").strip()
    if key in nodes:
        start, end = nodes[key].start_mark.index, nodes[key].end_mark.index
        changed = text[:start] + (quoted if start < end else f" {quoted}") + text[end:]
    elif "urdf" in nodes:
        mark = nodes["urdf"].end_mark
        line = text.splitlines(keepends=True)[mark.line]
        after = mark.index - mark.column + len(line)
        ending = line[len(line.rstrip("\r\n")) :]
        changed = text[:after] + ("" if ending else "\n") + f"{key}: {quoted}{ending or chr(10)}" + text[after:]
    else:
        raise ConfigError(f"{profile} has no urdf: it is no profile")
    try:
        understood = parse_yaml(changed, str(profile)) == {**values, key: value}
    except ConfigError:
        understood = False
    if not understood:
        raise ConfigError(f"{profile} is not written one key a line: add `{key}: {quoted}` to it by hand")
    try:
        replace_file(profile, changed.encode())
    except OSError as error:
        raise ConfigError(f"cannot write {profile}: {error}") from error


def _read(profile: Path) -> tuple[str, Mapping[str, object]]:
    try:
        raw = profile.read_bytes()  # not read_text, which would change the ends of lines
    except OSError as error:
        raise ConfigError(f"{profile} cannot be read: {error.strerror}") from error
    values = parse_yaml(raw, str(profile))
    if not isinstance(values, Mapping):
        raise ConfigError(f"{profile} must hold a mapping")
    return raw.decode("utf-8"), values
