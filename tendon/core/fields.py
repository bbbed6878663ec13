"""What a value of a YAML file may be, said in the annotation of a dataclass's field: loader and editors read it there.

`velocity: Annotated[float, Range(above=0)]` is a finite number above 0. `check_fields` checks it when an instance is
made, `tendon.core.json_schema` tells it to editors.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from tendon.core.checks import check_choice, check_count, check_names, check_number, check_text
from tendon.core.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Range:
    """Bounds of a number: above or at least one, at most another. Messages name its unit."""

    above: float | None = None
    least: float | None = None
    most: float | None = None
    unit: str = ""

    def check(self, name: str, value: object, *, whole: bool) -> None:
        """Wants a finite number in the range.

        Raises:
            ConfigError: it is none.
        """
        named = f"{name} [{self.unit}]" if self.unit else name
        if whole:
            check_count(named, value, least=int(self.least or 0), most=None if self.most is None else int(self.most))
        else:
            check_number(named, value, above=self.above, least=self.least, most=self.most)

    @property
    def json_schema(self) -> dict[str, Any]:
        """The same for an editor."""
        bounds = {"exclusiveMinimum": self.above, "minimum": self.least, "maximum": self.most}
        return {key: bound for key, bound in bounds.items() if bound is not None}


@dataclass(frozen=True, kw_only=True)
class Form:
    """The form of a text, which is not empty.

    Attributes:
        pattern: regular expression of the whole text, in what Python and JSON schemas have in common.
        advice: what messages say of a text that is not so.
    """

    pattern: str = ""
    advice: str = ""

    def check(self, name: str, value: object) -> None:
        """Wants a text of this form.

        Raises:
            ConfigError: it is none.
        """
        check_text(name, value)
        if self.pattern and not re.fullmatch(self.pattern, str(value)):
            raise ConfigError(f"{name} is {value!r}, {self.advice}")

    @property
    def json_schema(self) -> dict[str, Any]:
        """The same for an editor."""
        return {"minLength": 1} | ({"pattern": f"^({self.pattern})$"} if self.pattern else {})


@dataclass(frozen=True)
class OneOf:
    """One of a few texts."""

    values: tuple[str, ...]

    def check(self, name: str, value: object) -> None:
        """Wants one of them.

        Raises:
            ConfigError: it is none.
        """
        check_choice(name, value, self.values)

    @property
    def json_schema(self) -> dict[str, Any]:
        """The same for an editor."""
        return {"enum": list(self.values)}


@dataclass(frozen=True)
class Different:
    """Texts, none twice."""

    def check(self, name: str, value: object) -> None:
        """Wants a list of them.

        Raises:
            ConfigError: it is none.
        """
        check_names(name, value)

    @property
    def json_schema(self) -> dict[str, Any]:
        """The same for an editor."""
        return {"uniqueItems": True}


Count = Annotated[int, Range(least=1)]
Positive = Annotated[float, Range(above=0)]
Text = Annotated[str, Form()]
FileName = Annotated[
    str,
    Form(
        pattern=r"[A-Za-z0-9_-][A-Za-z0-9._-]*",
        advice="which names files: use letters, digits, dots, dashes and underscores, no dot first",
    ),
]
RosName = Annotated[
    str,
    Form(
        pattern=r"(?!.*__)/?[A-Za-z][A-Za-z0-9_]*(/[A-Za-z][A-Za-z0-9_]*)*",
        advice="which no ROS topic can be called: use letters, digits and single underscores, a letter first",
    ),
]
Names = Annotated[tuple[Text, ...], Different()]
"""A list of texts, none twice."""


@dataclass(frozen=True, kw_only=True)
class Hint:
    """An annotation, taken apart.

    Attributes:
        kind: what is left without `None` and rules.
        rules: what `Annotated` says.
        optional: whether `None` is one of its values.
        origin: of a generic kind, such as `tuple`; `None` of others.
        items: its arguments.
    """

    kind: Any
    rules: tuple[Any, ...]
    optional: bool
    origin: Any
    items: tuple[Any, ...]


@cache
def read_hint(annotation: Any) -> Hint:
    """Returns an annotation taken apart."""
    kind, optional, rules = annotation, False, ()
    if get_origin(kind) in (Union, UnionType) and type(None) in get_args(kind):
        rest = tuple(each for each in get_args(kind) if each is not type(None))
        kind, optional = (rest[0] if len(rest) == 1 else Union[rest]), True  # noqa: UP007 (known at run time only)
    if get_origin(kind) is Annotated:
        kind, rules = kind.__origin__, kind.__metadata__
    return Hint(kind=kind, rules=rules, optional=optional, origin=get_origin(kind), items=get_args(kind))


@cache
def field_hints(kind: Any) -> Mapping[str, Hint]:
    """Returns the annotations of a dataclass's fields."""
    return {name: read_hint(each) for name, each in get_type_hints(kind, include_extras=True).items()}


def check_fields(value: Any, what: str = "") -> None:
    """Wants in each field of a dataclass what its annotation says; of a type this module knows nothing of, nothing.

    Args:
        value: the instance.
        what: it is; messages begin with that and with its name, if it has one: "joint elbow: velocity is ...".

    Raises:
        ConfigError: a field is something else.
    """
    own = f"{what} {value.name}:" if hasattr(value, "name") else what
    for name, hint in field_hints(type(value)).items():  # type: ignore[arg-type]
        check(f"{what if name == 'name' else own} {name}".lstrip(), getattr(value, name), hint)


def check(name: str, value: object, hint: Hint) -> None:
    """Wants what an annotation says.

    Raises:
        ConfigError: it is something else.
    """
    if value is None and hint.optional:
        return
    if hint.kind in (float, int):
        (hint.rules[0] if hint.rules else Range()).check(name, value, whole=hint.kind is int)
    elif hint.kind is bool or hint.origin is Literal:
        check_choice(name, value, hint.items or (True, False))
    elif hint.origin is Mapping:
        if not isinstance(value, Mapping):
            raise ConfigError(f"{name} is {value!r}, must be a mapping")
        for key, item in value.items() if hint.items[1] is not Any else ():
            check_text(f"a name in {name}", key)
            check(f"{name}: {key}", item, read_hint(hint.items[1]))
    elif hint.rules:
        hint.rules[0].check(name, value)
