"""Checks of single values from YAML: each raises ConfigError with the value's name, what it is and what fits."""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence

from tendon.core.errors import ConfigError


def closest(word: str, known: Sequence[str]) -> str:
    """Returns the end of an error message: the known word nearest to a wrong one, or all known ones."""
    near = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {near[0]}?" if near else f"; known: {', '.join(known) or 'none'}"


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


def check_count(name: str, value: object, *, least: int = 1, most: int | None = None) -> None:
    """Wants a whole number from `least` to `most`.

    Raises:
        ConfigError: it is none.
    """
    wanted = f"of at least {least}" if most is None else f"from {least} to {most}"
    if not isinstance(value, int) or isinstance(value, bool) or value < least or (most is not None and value > most):
        raise ConfigError(f"{name} is {value!r}, must be a whole number {wanted}")


def check_choice(name: str, value: object, known: Sequence[object]) -> None:
    """Wants one of the known values.

    Raises:
        ConfigError: it is none.
    """
    if value not in known:
        raise ConfigError(f"{name} is {value!r}, known: {', '.join(map(str, known))}")


def check_text(name: str, value: object) -> None:
    """Wants a non-empty string.

    Raises:
        ConfigError: it is none.
    """
    if not isinstance(value, str) or not value:
        raise ConfigError(f"{name} is {value!r}, must be a non-empty text; put quotes around it")


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
