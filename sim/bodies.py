"""Things in a world, as every simulator can build them: boxes, cylinders, meshes; fixed, free, or with a sliding part.

Lengths in metres, masses in kilograms; frames have x forward, y left, z up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Vector = tuple[float, float, float]
Rgb = tuple[float, float, float]


@dataclass(frozen=True, kw_only=True)
class Part:
    """A box, an upright cylinder or a mesh of a body.

    Attributes:
        kind: "box", "cylinder" or "mesh", which collides as its convex hull.
        half: half of what it measures along x, y and z; a cylinder's x and y are its radius.
        centre: in the body's frame; of a mesh, of the box around it.
        yaw: about z [rad].
        file: of a mesh: .obj or .stl.
        unit: how many metres one of the file's numbers is.
        middle: of the box around a mesh, from the mesh's own origin [m].
    """

    kind: Literal["box", "cylinder", "mesh"]
    half: Vector = (0.0, 0.0, 0.0)
    centre: Vector = (0.0, 0.0, 0.0)
    yaw: float = 0.0
    file: str = ""
    unit: float = 1.0
    middle: Vector = (0.0, 0.0, 0.0)

    @property
    def origin(self) -> Vector:
        """Where the origin of its file is, in the body's frame."""
        x, y, z = self.middle
        turned = (math.cos(self.yaw) * x - math.sin(self.yaw) * y, math.sin(self.yaw) * x + math.cos(self.yaw) * y)
        return self.centre[0] - turned[0], self.centre[1] - turned[1], self.centre[2] - z


@dataclass(frozen=True, kw_only=True)
class Surface:
    """How a body slides, turns and rolls on others, and what the air takes.

    Attributes:
        friction: coefficient of sliding.
        spinning: of turning on the spot [m].
        rolling: of rolling [m].
        damping: of linear and angular motion [1/s].
    """

    friction: float
    spinning: float = 0.0
    rolling: float = 0.0
    damping: tuple[float, float] = (0.04, 0.04)


@dataclass(frozen=True, kw_only=True)
class Slide:
    """A part of a body that slides: a drawer.

    Attributes:
        parts: of it, in the body's frame when it is closed.
        rgb: its colour.
        axis: the way it opens, a unit vector.
        travel: how far.
        opening: how far it is open at the start.
        mass: of it.
        centre_of_mass: in the body's frame when it is closed.
        resistance: force that brakes it [N].
        friction: of its surface.
    """

    parts: tuple[Part, ...]
    rgb: Rgb
    axis: Vector
    travel: float
    opening: float
    mass: float
    centre_of_mass: Vector
    resistance: float
    friction: float


@dataclass(frozen=True, kw_only=True)
class Body:
    """One thing.

    Attributes:
        parts: what it is made of.
        rgb: its colour.
        position: of its frame in the world.
        yaw: of its frame about z [rad].
        mass: 0 for a thing that stands still.
        solid: others cannot pass through it.
        surface: `None` takes the simulator's own.
        texture: picture that is spread over it, multiplied with its colour.
        slide: a part of it that slides.
    """

    parts: tuple[Part, ...]
    rgb: Rgb
    position: Vector
    yaw: float = 0.0
    mass: float = 0.0
    solid: bool = True
    surface: Surface | None = None
    texture: str | None = None
    slide: Slide | None = None
