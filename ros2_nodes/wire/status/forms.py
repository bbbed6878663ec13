"""How values of each type are written as pairs of texts and read back: the parts of `pairs`."""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import partial
from typing import Any, Protocol

from tendon.core.errors import InvalidDataError

LONGEST = 4096
"""Characters of a value. Longer texts are cut when they are written, and refused when they are read."""
SHOWN = 40


class Form(Protocol):
    """How a type is written and read; a key is that of the value, or what the keys of its parts begin with."""

    def write(self, key: str, value: Any) -> Iterator[tuple[str, str]]:
        """Yields its pairs."""

    def read(self, key: str, pairs: dict[str, str]) -> Any:
        """Takes its pairs out of those that are left; raises InvalidDataError."""


def short(text: str) -> str:
    """Returns a text as an error message shows it."""
    return repr(text) if len(text) <= SHOWN else f"{text[:SHOWN]!r}... of {len(text)} characters"


@dataclasses.dataclass(frozen=True)
class Text:
    """A value in one pair."""

    expected: str
    to_text: Callable[[Any], str]
    from_text: Callable[[str], Any]

    def write(self, key: str, value: Any) -> Iterator[tuple[str, str]]:
        """See `Form`."""
        yield key, self.to_text(value)[:LONGEST]

    def read(self, key: str, pairs: dict[str, str]) -> Any:
        """See `Form`."""
        if key not in pairs:
            raise InvalidDataError(f"key {key} is missing, expected {self.expected}")
        text = pairs.pop(key)
        try:
            if len(text) > LONGEST:
                raise ValueError
            return self.from_text(text)
        except (ValueError, KeyError):
            raise InvalidDataError(f"key {key} is {short(text)}, expected {self.expected}") from None


@dataclasses.dataclass(frozen=True)
class Maybe:
    """A value, or no pair at all."""

    form: Form
    ends: tuple[str, ...]

    def write(self, key: str, value: Any) -> Iterator[tuple[str, str]]:
        """See `Form`."""
        if value is not None:
            yield from self.form.write(key, value)

    def read(self, key: str, pairs: dict[str, str]) -> Any:
        """See `Form`."""
        return self.form.read(key, pairs) if any(key + end in pairs for end in self.ends) else None


@dataclasses.dataclass(frozen=True)
class Named:
    """A mapping of names to values."""

    form: Form
    ends: tuple[str, ...]

    def write(self, key: str, value: Any) -> Iterator[tuple[str, str]]:
        """See `Form`."""
        for name, each in value.items():
            yield from self.form.write(f"{key}.{name}", each)

    def read(self, key: str, pairs: dict[str, str]) -> Any:
        """See `Form`."""
        begin = f"{key}."
        return {name: self.form.read(begin + name, pairs) for name in self._names(begin, pairs)}

    def _names(self, begin: str, pairs: dict[str, str]) -> list[str]:
        found: dict[str, None] = {}
        for key in pairs:
            end = next((end for end in self.ends if key.endswith(end)), None)
            if key.startswith(begin) and end is not None and len(key) >= len(begin) + len(end):
                found[key[len(begin) : len(key) - len(end)]] = None
        return list(found)


@dataclasses.dataclass(frozen=True)
class Listed:
    """A tuple of values."""

    form: Form

    def write(self, key: str, value: Any) -> Iterator[tuple[str, str]]:
        """See `Form`."""
        for place, each in enumerate(value):
            yield from self.form.write(f"{key}.{place}", each)

    def read(self, key: str, pairs: dict[str, str]) -> Any:
        """See `Form`."""
        values: list[Any] = []
        while f"{key}.{len(values)}" in pairs:
            values.append(self.form.read(f"{key}.{len(values)}", pairs))
        return tuple(values)


@dataclasses.dataclass(frozen=True)
class Fields:
    """A dataclass."""

    kind: type[Any]
    forms: Mapping[str, Form]

    def write(self, key: str, value: Any) -> Iterator[tuple[str, str]]:
        """See `Form`."""
        for name, form in self.forms.items():
            yield from form.write(f"{key}.{name}" if key else name, getattr(value, name))

    def read(self, key: str, pairs: dict[str, str], given: Mapping[str, object] = types.MappingProxyType({})) -> Any:
        """See `Form`."""
        values = {name: form.read(f"{key}.{name}" if key else name, pairs) for name, form in self.forms.items()}
        return self.kind(**values, **given)


def ends_of(form: Form) -> tuple[str, ...]:
    """Returns what the keys of a value may end with, after its own."""
    if isinstance(form, Maybe):
        return form.ends
    if not isinstance(form, Fields):
        return ("",)
    return tuple(f".{name}{end}" for name, part in form.forms.items() for end in ends_of(part))


def word_of(member: Enum) -> str:
    """Returns how a member of an enum is called on the wire: its value, or its name where that is a number."""
    return member.value if isinstance(member.value, str) else member.name.lower()


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError
    return value


TEXTS: Mapping[type, Text] = {
    str: Text(f"a text of at most {LONGEST} characters", str, str),
    bool: Text("true or false", lambda value: str(value).lower(), {"true": True, "false": False}.__getitem__),
    int: Text("a whole number", str, partial(int, base=10)),
    float: Text("a finite number", lambda value: repr(float(value)), _finite),
}
