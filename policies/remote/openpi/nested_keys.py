"""Keys with a `/` as maps in maps, as openpi's ALOHA has them: `images/cam_high` is `cam_high` of map `images`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tendon.core.errors import ConfigError


def check_nested(keys: Iterable[str]) -> None:
    """Raises ConfigError where a part of a key is empty, or a key is also the map that another one leads into."""
    paths = {tuple(key.split("/")): key for key in keys}
    for path, key in paths.items():
        if not all(path):
            raise ConfigError(f"key {key!r} has an empty part, must be names with single / between them")
        for depth in range(1, len(path)):
            if path[:depth] in paths:
                raise ConfigError(f"key {paths[path[:depth]]!r} cannot hold a value and lead to {key!r} too")


def nested(flat_map: Mapping[str, Any]) -> dict[str, Any]:
    """Returns maps in maps for a map of checked keys."""
    result: dict[str, Any] = {}
    for key, value in flat_map.items():
        *parents, last = key.split("/")
        at = result
        for parent in parents:
            at = at.setdefault(parent, {})
        at[last] = value
    return result


def flat(maps: Mapping[Any, Any], keys: Iterable[str]) -> dict[Any, Any]:
    """Returns what is at each key in maps in maps, beside the outermost keys, which error messages name."""
    found = dict(maps)
    for key in keys:
        at: Any = maps
        for part in key.split("/"):
            at = at.get(part) if isinstance(at, Mapping) else None
        if at is not None:
            found[key] = at
    return found
