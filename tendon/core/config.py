"""Values from YAML, built into frozen dataclasses: errors name value, bound and fix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, TypeVar

from tendon.core.checks import closest
from tendon.core.errors import ConfigError
from tendon.core.fields import Hint, field_hints, read_hint

T = TypeVar("T")


def build(kind: type[T], where: str, values: Any) -> T:
    """Builds a keyword-only dataclass from a YAML mapping.

    Args:
        kind: the dataclass. Fields that are dataclasses, or tuples of one, are built too.
        where: what error messages call this mapping.
        values: the mapping; lists become tuples, but where a field may be anything.

    Raises:
        ConfigError: not a mapping, an unknown key (with the closest known one), a missing key, or a value that the
            dataclass refuses.
    """
    if not isinstance(values, Mapping):
        raise ConfigError(f"{where} must be a mapping, got {type(values).__name__}")
    known = tuple(f.name for f in fields(kind))  # type: ignore[arg-type]
    for key in values:
        if key not in known:
            if type(key) in (int, float):  # {velocity: 2,175} is a velocity of 2, and a key 175
                raise ConfigError(f"{where}: unknown key {key}, a number: write decimals with a point, such as 2.5")
            raise ConfigError(f"{where}: unknown key {key}{closest(str(key), known)}")
    missing = [
        f.name
        for f in fields(kind)  # type: ignore[arg-type]
        if f.name not in values and f.default is MISSING and f.default_factory is MISSING
    ]
    if missing:
        raise ConfigError(f"{where} lacks {', '.join(missing)}")
    hints = field_hints(kind)  # type: ignore[arg-type]
    built = {key: _value(f"{where} {key}", value, hints[key]) for key, value in values.items()}
    try:
        return kind(**built)
    except TypeError as error:
        raise ConfigError(f"{where}: {error}") from error
    except ConfigError as error:
        raise type(error)(f"{where}: {error}") from error


def _value(where: str, value: Any, hint: Hint) -> Any:
    kind, items = hint.kind, hint.items
    if is_dataclass(kind) and not isinstance(value, kind) and not (value is None and hint.optional):  # type: ignore[arg-type]
        return build(kind, where, {} if value is None else value)  # type: ignore[arg-type]
    if hint.origin is tuple and is_dataclass(items[0]):
        rows = () if value is None else value
        if not isinstance(rows, list | tuple):
            raise ConfigError(f"{where} is {value!r}, must be a list")
        item = read_hint(items[0])  # type: ignore[arg-type]
        return tuple(_value(f"{where}[{i}]", row, item) for i, row in enumerate(rows))
    if hint.origin is Mapping and isinstance(value, Mapping):
        return {str(key): _value(f"{where} {key}", item, read_hint(items[1])) for key, item in value.items()}
    return tuple(value) if isinstance(value, list) and kind is not Any else value
