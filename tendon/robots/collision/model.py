"""A robot's collision model: shapes on its links, the pairs that need no check, and the smallest distances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tendon.core.config import build
from tendon.core.errors import ConfigError
from tendon.robots.environment import read_yaml
from tendon.robots.shapes import HalfSpace, Shape, parse_bodies

REASONS = ("adjacent", "always", "never")
"""Why a pair needs no check: a joint connects them; they touch in every posture; they touch in none."""

Pair = frozenset[str]


@dataclass(frozen=True, kw_only=True)
class CollisionModel:
    """Bodies on a robot's links.

    Attributes:
        bodies: link -> its shapes, in the link's frame.
        allowed: pairs that are not checked, of links or of a link and a body of the environment, with the reason.
        margin: smallest allowed distance [m] between two bodies.
        margins: other smallest distances [m], for pairs of links, or of a link and a body of the environment.
    """

    bodies: Mapping[str, tuple[Shape, ...]]
    allowed: Mapping[Pair, str]
    margin: float
    margins: Mapping[Pair, float]

    def margin_of(self, one: str, other: str) -> float:
        """Returns the smallest allowed distance [m] between two bodies."""
        return self.margins.get(frozenset((one, other)), self.margin)


@dataclass(frozen=True, kw_only=True)
class _File:
    bodies: Any
    allowed: Any = ()
    margin: float = 0.01
    margins: Any = ()


def load_collisions(path: Path) -> CollisionModel:
    """Loads a `collisions.yaml`.

    Raises:
        ConfigError: the file is missing, or something in it is wrong.
    """
    file = build(_File, path.name, read_yaml(path, "collision model"))
    bodies = parse_bodies(f"{path.name} link", file.bodies)
    for link, shapes in bodies.items():
        if any(isinstance(shape, HalfSpace) for shape in shapes):
            raise ConfigError(f"{path.name} link {link} is a half space: only an environment may have one")
    allowed = {}
    for where, names, reason in _rows(f"{path.name} allowed", file.allowed):
        _check_known(where, names, bodies)
        if reason not in REASONS:
            raise ConfigError(f"{where} gives the reason {reason!r}, known: {', '.join(REASONS)}")
        allowed[frozenset(names)] = reason
    margins = {}
    for where, names, margin in _rows(f"{path.name} margins", file.margins):
        _check_known(where, names, bodies)
        margins[frozenset(names)] = _margin(where, margin)
    return CollisionModel(
        bodies=bodies, allowed=allowed, margin=_margin(f"{path.name} margin", file.margin), margins=margins
    )


def _rows(where: str, rows: Any) -> list[tuple[str, Sequence[str], Any]]:
    """Returns (where, (name, name), value) of `[name, name, value]` rows."""
    if not isinstance(rows, tuple | list):
        raise ConfigError(f"{where} must be a list, got {rows!r}")
    for i, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != 3 or not all(isinstance(name, str) for name in row[:2]):
            raise ConfigError(f"{where}[{i}] is {row!r}, expected [name, name, value]")
    return [(f"{where}[{i}]", row[:2], row[2]) for i, row in enumerate(rows)]


def _check_known(where: str, names: Sequence[str], bodies: Mapping[str, object]) -> None:
    # The other one may be a body of an environment, which is not known here.
    if not any(name in bodies for name in names) or names[0] == names[1]:
        raise ConfigError(f"{where} names {' and '.join(names)}; known links: {', '.join(bodies)}")


def _margin(where: str, value: Any) -> float:
    if not isinstance(value, int | float) or not 0 <= value < 1:
        raise ConfigError(f"{where} is {value!r} m, expected a number from 0 to 1 such as 0.01")
    return float(value)
