"""Writes `collisions.yaml`, one line a shape and a pair, so that a person can read and change it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import yaml

from tendon.robots.collision.model import CollisionModel
from tendon.robots.shapes import Cuboid, Shape


def to_yaml(model: CollisionModel, comments: Sequence[str]) -> str:
    """Returns the text of a file that `load_collisions` reads as `model`."""
    lines = [f"# {comment}".rstrip() for comment in comments]
    lines += [f"margin: {model.margin}  # smallest allowed distance [m]", "bodies:"]
    for link, shapes in model.bodies.items():
        lines += [f"  {_quoted(link)}:", *(f"    - {_flow(shape)}" for shape in shapes)]
    order = {link: i for i, link in enumerate(model.bodies)}
    for key, values in (("margins", model.margins), ("allowed", model.allowed)):
        rows = [(sorted(pair, key=lambda name: (order.get(name, len(order)), name)), v) for pair, v in values.items()]
        rows.sort(key=lambda row: [order.get(name, len(order)) for name in row[0]])
        told = [f"  - [{_quoted(a)}, {_quoted(b)}, {value}]" for (a, b), value in rows]
        lines += [f"{key}:", *told] if told else [f"{key}: []"]
    return "\n".join(lines) + "\n"


def _quoted(name: str) -> str:
    """Returns a name as YAML reads it again: in quotes where it is a number, a truth value, or has a sign of YAML's."""
    plain = re.fullmatch(r"[A-Za-z_][\w/.-]*", name, re.ASCII) is not None and yaml.safe_load(name) == name
    return name if plain else json.dumps(name, ensure_ascii=False)


def _flow(shape: Shape) -> str:
    values = {key: list(v) if isinstance(v, tuple) else v for key, v in vars(shape).items()}
    if isinstance(shape, Cuboid) and not any(shape.rpy):
        del values["rpy"]
    return "{" + ", ".join(f"{key}: {value}" for key, value in values.items()) + "}"
