"""What stands around a robot: named bodies that do not move, in the robot's base frame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tendon.core.config import build
from tendon.core.errors import ConfigError
from tendon.core.paths import share_folder
from tendon.core.yaml_text import parse_yaml
from tendon.robots.shapes import Shape, parse_bodies


@dataclass(frozen=True, kw_only=True)
class Environment:
    """Named bodies that do not move.

    Attributes:
        name: of the file.
        bodies: name -> its shapes, in the robot's base frame.
    """

    name: str
    bodies: Mapping[str, tuple[Shape, ...]]


@dataclass(frozen=True, kw_only=True)
class _File:
    bodies: object


def load_environment(environment: str | Path) -> Environment:
    """Loads an environment.

    Args:
        environment: the name of a file in `environments/`, or a path of a `.yaml`.

    Raises:
        ConfigError: there is none, or something in it is wrong.
    """
    path = Path(environment)
    if path.suffix not in (".yaml", ".yml"):
        path = share_folder() / "environments" / f"{environment}.yaml"
    file = build(_File, path.name, read_yaml(path, "environment"))
    return Environment(name=path.stem, bodies=parse_bodies(f"{path.name} body", file.bodies))


def read_yaml(path: Path, what: str) -> object:
    """Returns the content of a YAML file.

    Raises:
        ConfigError: the file is missing (the message lists its neighbours) or is not YAML.
    """
    if not path.is_file():
        known = sorted(other.stem for other in path.parent.glob("[!.]*.yaml"))
        raise ConfigError(f"no {what} at {path}" + (f"; known there: {', '.join(known)}" if known else ""))
    return parse_yaml(path.read_bytes(), str(path))
