"""The shapes that bodies are made of, for robots and their surroundings, read from YAML mappings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tendon.core.config import build
from tendon.core.errors import ConfigError

Point = tuple[float, float, float]


@dataclass(frozen=True, kw_only=True)
class Capsule:
    """All points within `radius` [m] of the segment from `a` to `b` [m]; a sphere where they are equal."""

    a: Point
    b: Point
    radius: float


@dataclass(frozen=True, kw_only=True)
class Sphere:
    """A ball [m]."""

    centre: Point
    radius: float


@dataclass(frozen=True, kw_only=True)
class Cuboid:
    """A box of edge lengths `size` [m] about `centre`, turned by roll, pitch and yaw [rad] as in a URDF."""

    centre: Point
    size: Point
    rpy: Point = (0.0, 0.0, 0.0)


@dataclass(frozen=True, kw_only=True)
class HalfSpace:
    """All points p with normal . p <= offset [m]; `normal` is a unit vector that points to free space."""

    normal: Point
    offset: float


Shape = Capsule | Sphere | Cuboid | HalfSpace

KINDS: dict[str, type[Capsule] | type[Sphere] | type[Cuboid] | type[HalfSpace]] = {
    "a": Capsule,
    "b": Capsule,
    "size": Cuboid,
    "normal": HalfSpace,
    "centre": Sphere,
}
"""The first of these keys that a mapping has says which shape it is."""
POSITIVE = ("radius", "size")
UNIT_TOLERANCE = 1e-3


def parse_shape(where: str, values: Any) -> Shape:
    """Returns the shape of a YAML mapping.

    Args:
        where: what error messages call it.
        values: `{a, b, radius}`, `{centre, radius}`, `{centre, size, rpy}` or `{normal, offset}`.

    Raises:
        ConfigError: it is none of them, a key is unknown or missing, or a number is not finite or not positive.
    """
    keys = values if isinstance(values, Mapping) else {}
    kind = next((kind for key, kind in KINDS.items() if key in keys), None)
    if kind is None:
        raise ConfigError(
            f"{where} is {values!r}; a shape is {{a, b, radius}} (capsule), {{centre, radius}} (sphere), "
            "{centre, size, rpy} (box) or {normal, offset} (half space)"
        )
    shape: Shape = build(kind, where, values)
    for key, value in vars(shape).items():
        scalar = key in ("radius", "offset")
        numbers = (value,) if scalar else value
        if not isinstance(numbers, tuple) or not all(_is_number(number) for number in numbers):
            raise ConfigError(f"{where}: {key} is {value!r}, expected finite numbers such as 0.05")
        if len(numbers) != (1 if scalar else 3):
            raise ConfigError(f"{where}: {key} has {len(numbers)} numbers, expected x, y, z")
        if key in POSITIVE and not all(number > 0 for number in numbers):
            raise ConfigError(f"{where}: {key} is {value!r} m, must be positive")
    if isinstance(shape, HalfSpace) and abs(math.hypot(*shape.normal) - 1.0) > UNIT_TOLERANCE:
        raise ConfigError(f"{where}: normal {shape.normal} has length {math.hypot(*shape.normal):.3g}, must be 1")
    return shape


def parse_bodies(where: str, values: Any) -> dict[str, tuple[Shape, ...]]:
    """Returns name -> shapes of a YAML mapping of lists.

    Raises:
        ConfigError: it is no such mapping, a list is empty, or a shape is wrong.
    """
    if not isinstance(values, Mapping) or not values:
        raise ConfigError(f"{where} must map names to lists of shapes, got {values!r}")
    bodies = {}
    for name, shapes in values.items():
        if not isinstance(shapes, list) or not shapes:
            raise ConfigError(f"{where} {name} must be a list of at least one shape, got {shapes!r}")
        bodies[str(name)] = tuple(parse_shape(f"{where} {name}[{i}]", shape) for i, shape in enumerate(shapes))
    return bodies


def _is_number(value: object) -> bool:
    # YAML 1.1 reads 1e-2 as text, and `yes` as a bool.
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
