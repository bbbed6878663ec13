"""Frozen dataclasses as pairs of texts and back; what their fields are says how.

A field is a pair of its name and its value as text: a word, `true` or `false`, a number, an enum's word. `None` is no
pair. Fields of a field follow a point, and so do the names in a mapping and the places in a tuple:
`meters.camera wrist.latency.p50_ms`.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from enum import Enum
from typing import Any, TypeVar

from tendon.core.checks import closest
from tendon.core.errors import InvalidDataError
from tendon.ros2_nodes.wire.status.forms import (
    SHOWN,
    TEXTS,
    Fields,
    Form,
    Listed,
    Maybe,
    Named,
    Text,
    ends_of,
    short,
    word_of,
)

HEADER = ("node", "level", "text")
"""Fields that the status itself has a place for, so that there is no pair of them."""

T = TypeVar("T")


def write_pairs(value: object) -> list[tuple[str, str]]:
    """Returns the pairs of a frozen dataclass."""
    return list(_fields_of(type(value)).write("", value))


def read_pairs(kind: type[T], pairs: Mapping[str, str], **given: object) -> T:
    """Returns the value that pairs hold.

    Args:
        kind: a frozen dataclass.
        pairs: all of them.
        given: those of its fields that are in `HEADER`.

    Raises:
        InvalidDataError: a key is missing or unknown, or a value is not what its field needs; it names both.
    """
    left, fields = dict(pairs), _fields_of(kind)
    value: T = fields.read("", left, given)
    if left:
        key = next(iter(left))
        raise InvalidDataError(f"key {short(key)} is unknown{closest(key[:SHOWN], list(fields.forms))}")
    return value


_KNOWN: dict[type, Fields] = {}


def _fields_of(kind: type) -> Fields:
    if kind not in _KNOWN:
        hints = typing.get_type_hints(kind)
        names = [field.name for field in dataclasses.fields(kind) if field.name not in HEADER]
        _KNOWN[kind] = Fields(kind, {name: _form_of(hints[name]) for name in names})
    return _KNOWN[kind]


def _form_of(hint: Any) -> Form:
    """Returns how a type is written. A type that is missing here is a mistake in the dataclass, found by any test."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is types.UnionType:
        form = _form_of(inner[0])
        return Maybe(form, ends_of(form))
    if origin is tuple:
        return Listed(_form_of(inner[0]))
    if origin is Mapping:
        form = _form_of(inner[1])
        return Named(form, ends_of(form))
    if dataclasses.is_dataclass(hint):
        return _fields_of(typing.cast(type, hint))
    if issubclass(hint, Enum):
        words = {word_of(member): member for member in hint}
        return Text(f"one of {', '.join(words)}", word_of, words.__getitem__)
    return TEXTS[hint]
