"""Values from YAML: built into frozen dataclasses and checked, with errors that name value, bound and fix."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any, TypeVar

from tendon.core.errors import ConfigError

T = TypeVar("T")

_FILE_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")
_ROS_NAME = re.compile(r"/?[A-Za-z][A-Za-z0-9_]*(/[A-Za-z][A-Za-z0-9_]*)*")


def closest(word: str, known: Sequence[str]) -> str:
    """Returns the end of an error message: the known word nearest to a wrong one, or all known ones."""
    near = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {near[0]}?" if near else f"; known: {', '.join(known) or 'none'}"


def build(kind: type[T], where: str, values: Any) -> T:
    """Builds a keyword-only dataclass from a YAML mapping.

    Args:
        kind: the dataclass.
        where: what error messages call this mapping.
        values: the mapping; lists become tuples.

    Raises:
        ConfigError: not a mapping, an unknown key (with the closest known one), a missing key, or a value that the
            dataclass refuses.
    """
    if not isinstance(values, Mapping):
        raise ConfigError(f"{where} must be a mapping, got {type(values).__name__}")
    known = tuple(f.name for f in fields(kind))  # type: ignore[arg-type]
    for key in values:
        if key not in known:
            raise ConfigError(f"{where}: unknown key {key}{closest(str(key), known)}")
    missing = [
        f.name
        for f in fields(kind)  # type: ignore[arg-type]
        if f.name not in values and f.default is MISSING and f.default_factory is MISSING
    ]
    if missing:
        raise ConfigError(f"{where} lacks {', '.join(missing)}")
    try:
        return kind(**{key: tuple(v) if isinstance(v, list) else v for key, v in values.items()})
    except TypeError as error:
        raise ConfigError(f"{where}: {error}") from error
    except ConfigError as error:
        raise type(error)(f"{where}: {error}") from error


def check_number(
    name: str, value: object, *, above: float | None = None, least: float | None = None, most: float | None = None
) -> None:
    """Wants a finite number, no text and no yes or no.

    Args:
        name: what the error message calls it, with its unit.
        value: what YAML read.
        above: it must be larger than this.
        least: smallest it may be.
        most: largest it may be.

    Raises:
        ConfigError: it is none. Text that is a number is told apart: YAML 1.1 reads 5e-2 as text, 5.0e-2 as a number.
    """
    bounds = [("above", above), ("at least", least), ("at most", most)]
    wanted = " and ".join(f"{word} {bound:g}" for word, bound in bounds if bound is not None)
    wanted = f"must be a finite number {wanted}".rstrip()
    if isinstance(value, str):
        try:
            meant = float(value)
        except ValueError:
            meant = math.nan
        if math.isfinite(meant):
            raise ConfigError(f"{name} is {value!r}, which YAML reads as text: write {meant!r}")
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise ConfigError(f"{name} is {value!r}, {wanted}")
    inside = (above is None or value > above) and (least is None or value >= least) and (most is None or value <= most)
    if not inside:
        raise ConfigError(f"{name} is {value!r}, {wanted}")


def check_count(name: str, value: object, most: int) -> None:
    """Wants a whole number from 1 to `most`.

    Raises:
        ConfigError: it is none.
    """
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise ConfigError(f"{name} is {value!r}, must be a whole number from 1 to {most}")


def check_text(name: str, value: object) -> None:
    """Wants a non-empty string.

    Raises:
        ConfigError: it is none.
    """
    if not isinstance(value, str) or not value:
        raise ConfigError(f"{name} is {value!r}, must be a non-empty text; put quotes around it")


def check_file_name(name: str, value: object) -> None:
    """Wants what may stand in the name of a file anywhere.

    Raises:
        ConfigError: it may not.
    """
    check_text(name, value)
    if not _FILE_NAME.fullmatch(str(value)):
        raise ConfigError(
            f"{name} is {value!r}, which names files: use letters, digits, dots, dashes and underscores, no dot first"
        )


def check_ros_name(name: str, value: object) -> None:
    """Wants what may stand in the name of a ROS topic.

    Raises:
        ConfigError: it may not.
    """
    check_text(name, value)
    if not _ROS_NAME.fullmatch(str(value)) or "__" in str(value):
        raise ConfigError(
            f"{name} is {value!r}, which no ROS topic can be called: use letters, digits and single underscores, "
            "a letter first"
        )


def check_names(name: str, values: object) -> None:
    """Wants a list of texts, none twice.

    Raises:
        ConfigError: it is none.
    """
    if not isinstance(values, tuple | list):
        raise ConfigError(f"{name} is {values!r}, must be a list of names such as [joint1, joint2]")
    for value in values:
        check_text(f"a name in {name}", value)
    if len(set(values)) != len(values):
        raise ConfigError(f"{name} repeats a name: {', '.join(values)}")
