"""A suite's file: what its things are made of, where they may stand, in which words its tasks are asked for.

Lengths in metres at scale 1, in the frame of the stage: x away from the robot, y to its left, z up, the table's top at
z = 0. A stage says how large all of it is for a robot, and where.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from tendon.core.checks import closest
from tendon.core.config import build
from tendon.core.errors import ConfigError, MismatchError
from tendon.core.fields import Range, check_fields
from tendon.core.paths import share_folder
from tendon.robots.environment import read_yaml
from tendon.robots.packages import resolve
from tendon.sim.bodies import Part, Rgb, Vector
from tendon.sim.scenes.mesh_part import measured
from tendon.sim.scenes.urdf_thing import urdf_parts

Span = tuple[float, float]
"""The smallest and the largest of what is drawn."""


MAX_MASS_KG = 100.0
MAX_FRICTION = 5.0
FLUSH_M = 1e-6
"""By which a part may be below the ground: digits."""


def check_span(name: str, value: Any, least: float = -math.inf, most: float = math.inf) -> None:
    """Raises ConfigError unless it is two finite numbers, the smallest first, from `least` to `most`."""
    numbers = isinstance(value, tuple) and all(isinstance(each, int | float) for each in value)
    if not numbers or len(value) != 2 or not all(map(math.isfinite, value)):
        raise ConfigError(f"{name} is {value}: it must be [smallest, largest]")
    if value[0] > value[1]:
        raise ConfigError(f"{name} is {list(value)}: the smallest comes first")
    if value[0] < least or value[1] > most:
        raise ConfigError(f"{name} is {list(value)}: it must be within [{least:g}, {most:g}]")


@dataclass(frozen=True, kw_only=True)
class Grip:
    """Where a hand that points down may grip a thing, its fingers closing along y.

    Attributes:
        place: of the tool, in the thing's frame.
        half: how far each finger is from the middle then.
    """

    place: Vector
    half: Annotated[float, Range(above=0, most=0.2, unit="m")]


@dataclass(frozen=True, kw_only=True)
class Thing:
    """A kind of thing.

    Attributes:
        parts: boxes and upright cylinders, or one mesh, in its frame, whose origin is on what it stands on; none of a
            solid thing is below that.
        urdf: file of a rigid thing, in place of parts; its root link is the frame.
        rgb: colours, of which one is drawn.
        x: of its origin.
        y: likewise.
        yaw: likewise [rad].
        mass: [kg], up to 100; 0 stands still, or has the mass that the URDF says.
        friction: coefficient of sliding, up to 5.
        solid: others cannot pass through it.
        grips: where hands grip it.
    """

    parts: tuple[Part, ...] = ()
    urdf: str = ""
    rgb: tuple[Rgb, ...]
    x: Span
    y: Span
    yaw: Span = (0.0, 0.0)
    mass: Span = (0.0, 0.0)
    friction: Span = (0.6, 1.0)
    solid: bool = True
    grips: tuple[Grip, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self, "thing")
        if bool(self.parts) == bool(self.urdf):
            raise ConfigError("a thing has parts, which are boxes and cylinders or one mesh, or it has a urdf")
        if any(part.kind == "mesh" for part in self.parts) and len(self.parts) > 1:
            raise ConfigError(f"parts has a mesh among {len(self.parts)}: a mesh is a thing by itself")
        for part in self.parts:
            if bool(part.file) != (part.kind == "mesh") or part.unit <= 0:
                raise ConfigError(f"file is {part.file!r}, unit {part.unit} of a {part.kind}: a mesh has both")
            if part.kind == "mesh" and part.half == (0.0, 0.0, 0.0):
                continue  # its file says it
            if len(part.half) != 3 or min(part.half) <= 0 or len(part.centre) != 3:
                raise ConfigError(f"half is {part.half} and centre {part.centre}: each is three numbers, half above 0")
            if self.solid and (below := part.half[2] - part.centre[2]) > FLUSH_M:
                raise ConfigError(
                    f"half is {part.half} and centre {part.centre}: the part is {below:g} m below what the thing "
                    "stands on, which is z = 0 of its frame: raise its centre"
                )
        for name in ("x", "y", "yaw"):
            check_span(name, getattr(self, name))
        check_span("mass", self.mass, least=0.0, most=MAX_MASS_KG)
        check_span("friction", self.friction, least=0.0, most=MAX_FRICTION)


@dataclass(frozen=True, kw_only=True)
class Family:
    """A kind of task.

    Attributes:
        things: of its scenes; the first is what is moved.
        words: ways to ask for it, of which one is drawn.
    """

    things: tuple[str, ...]
    words: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Stage:
    """How a robot has the scenes.

    Attributes:
        scale: of all lengths; masses go with its cube.
        origin: x and y of the stage in the robot's base frame [m].
        hover: height of a tool on its way [m].
        speed: of a tool, at most [m/s].
        families: that the robot can do; empty is all.
    """

    scale: Annotated[float, Range(above=0.2, most=2)] = 1.0
    origin: Span = (0.0, 0.0)
    hover: Annotated[float, Range(above=0, most=1, unit="m")]
    speed: Annotated[float, Range(above=0, most=1, unit="m/s")] = 0.25
    families: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self, "stage")
        if len(self.origin) != 2:
            raise ConfigError(f"origin is {self.origin}: it must be [x, y]")


@dataclass(frozen=True, kw_only=True)
class Look:
    """What light and table are drawn from.

    Attributes:
        lamp_x: of the direction to the lamp, whose z is 2.
        lamp_y: likewise.
        lamp_rgb: of each of its colours, 0 to 1.
        ambient: part of the light that comes from everywhere.
        table: grey of the table, 0 to 1.
    """

    lamp_x: Span = (-1.0, 1.5)
    lamp_y: Span = (-1.2, 1.2)
    lamp_rgb: Span = (0.85, 1.0)
    ambient: Span = (0.45, 0.7)
    table: Span = (0.4, 0.85)

    def __post_init__(self) -> None:
        for name in ("lamp_x", "lamp_y", "lamp_rgb"):
            check_span(name, getattr(self, name))
        for name in ("ambient", "table"):
            check_span(name, getattr(self, name), least=0.0, most=1.0)


@dataclass(frozen=True, kw_only=True)
class SuiteFile:
    """All of it.

    Attributes:
        name: of the suite.
        stages: by robot; `default` is for one that is not named.
        things: by name.
        families: by name, in the order of tables.
        look: light and table.
    """

    name: str = ""
    stages: Mapping[str, Stage]
    things: Mapping[str, Thing]
    families: Mapping[str, Family]
    look: Look = Look()

    def __post_init__(self) -> None:
        for key in ("stages", "things", "families"):
            if not isinstance(getattr(self, key), Mapping) or not getattr(self, key):
                raise ConfigError(f"{key} is {getattr(self, key)!r}: it must be a mapping from names, not empty")
        for name, family in self.families.items():
            for thing in family.things:
                if thing not in self.things:
                    raise ConfigError(f"family {name} names thing {thing}{closest(thing, tuple(self.things))}")
        for robot, stage in self.stages.items():
            for named in stage.families:
                if named not in self.families:
                    raise ConfigError(f"stage {robot} names family {named}{closest(named, tuple(self.families))}")

    def stage(self, robot: str) -> Stage:
        """Returns the stage of a robot.

        Raises:
            MismatchError: there is none.
        """
        found = self.stages.get(robot, self.stages.get("default"))
        if found is None:
            raise MismatchError(
                f"the suite {self.name} has no stage for {robot} (it has {', '.join(self.stages)}): give it one in "
                f"suites/{self.name}.yaml"
            )
        return found


def load_suite_file(name: str) -> SuiteFile:
    """Returns what `suites/NAME.yaml` says.

    Raises:
        ConfigError: it is missing, or something in it is wrong.
    """
    path = share_folder() / "suites" / f"{name}.yaml"
    values = read_yaml(path, "suite")
    file = build(SuiteFile, path.name, {**values, "name": name} if isinstance(values, Mapping) else values)
    return replace(file, things={key: built(thing, path) for key, thing in file.things.items()})


def built(thing: Thing, near: Path) -> Thing:
    """Returns a thing with its parts, whatever the suite's file describes it by; see `measured` and `urdf_parts`."""
    if not thing.urdf:
        return replace(thing, parts=tuple(measured(part, near) for part in thing.parts))
    parts, mass = urdf_parts(resolve(thing.urdf, near))
    return replace(thing, parts=parts, urdf="", mass=thing.mass if any(thing.mass) else (mass, mass))
