"""Checks of single fields of `bundle.yaml`; each raises ConfigError with the field's name, value and what fits."""

from __future__ import annotations

from typing import Any

import numpy as np

from tendon.core.errors import ConfigError

Numbers = tuple[float, ...]


def sequence(name: str, value: Any) -> tuple[Any, ...]:
    """Returns the list as a tuple."""
    if not isinstance(value, list | tuple):
        raise ConfigError(f"{name} must be a list, got {type(value).__name__}")
    return tuple(value)


def check_unique(name: str, values: tuple[Any, ...]) -> None:
    """Wants at least one value, and none twice."""
    repeated = sorted({str(value) for value in values if values.count(value) > 1})
    if repeated or not values:
        raise ConfigError(f"{name} " + (f"repeats {', '.join(repeated)}" if repeated else "is empty"))


def numbers(name: str, values: Any, count: int) -> Numbers:
    """Returns `count` finite numbers."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{name} must be {count} numbers: {error}") from error
    if array.shape != (count,) or not np.isfinite(array).all():
        raise ConfigError(f"{name} is {array.tolist()}, must be {count} finite numbers")
    return tuple(array.tolist())


def positive(name: str, values: Any, count: int) -> Numbers:
    """Returns `count` finite numbers above 0."""
    array = numbers(name, values, count)
    if min(array) <= 0.0:
        raise ConfigError(f"{name} is {list(array)}, must be positive")
    return array
