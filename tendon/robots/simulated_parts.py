"""What only a simulator asks of a robot profile: where cameras are, what links look like and weigh."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from tendon.core.checks import check_number
from tendon.core.errors import ConfigError
from tendon.core.fields import Names, Range, Text, check_fields
from tendon.robots.quantities import Corner, Effort, check_corner


@dataclass(frozen=True, kw_only=True)
class Mount:
    """Where a simulated camera is, and what its pictures lack to be perfect.

    Attributes:
        link: that carries it.
        position: in that link's frame [m].
        looks_at: a point in the middle of its picture, in that frame [m].
        up: what is up in its picture, in that frame.
        vertical_deg: angle between the upper and lower edge of its picture [deg].
        distortion: k1, k2, p1, p2, k3 of its lens, as `camera_info` tells them; empty for none.
        noise: standard deviation of a pixel, of 255.
        latency_s: from the exposure, which a picture is stamped with, until it is sent [s].
        phase: when it exposes, as a share of its period: cameras that nobody triggers do not expose together.
    """

    link: Text
    position: Corner
    looks_at: Corner
    up: Corner = (0.0, 0.0, 1.0)
    vertical_deg: Annotated[float, Range(above=0, most=150, unit="deg")] = 55.0
    distortion: tuple[float, ...] = ()
    noise: Annotated[float, Range(least=0, most=100)] = 0.0
    latency_s: Annotated[float, Range(least=0, most=1, unit="s")] = 0.0
    phase: Annotated[float, Range(least=0, most=0.99)] = 0.0

    def __post_init__(self) -> None:
        check_fields(self, "mount")
        for key in ("position", "looks_at", "up"):
            check_corner(f"mount: {key}", getattr(self, key))
        if self.position == self.looks_at or self.up == (0.0, 0.0, 0.0):
            raise ConfigError(f"mount: looks_at is {self.looks_at}, position {self.position}, up {self.up}: no view")
        if self.distortion and len(self.distortion) != 5:
            raise ConfigError(f"mount: distortion has {len(self.distortion)} numbers, must be k1, k2, p1, p2, k3")
        for value in self.distortion:
            check_number("mount: distortion", value)


@dataclass(frozen=True, kw_only=True)
class Meshes:
    """A URDF that says what links look like and weigh, where the profile's own does not.

    Attributes:
        urdf: files, the first that is there is taken: paths from the profile's folder, or `package://NAME/...`.
        prefix: of the profile's links, which that file lacks: `left_` for the left one of two arms.
    """

    urdf: Names
    prefix: str = ""

    def __post_init__(self) -> None:
        check_fields(self, "meshes")


@dataclass(frozen=True, kw_only=True)
class Simulation:
    """What a simulator needs to know besides what the robot side does.

    Attributes:
        meshes: shapes and masses of the links. Without any, or where none is installed, links are the shapes of the
            collision model.
        efforts: largest of joints, N m or N, in place of the URDF's.
    """

    meshes: tuple[Meshes, ...] = ()
    efforts: Mapping[str, Effort] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_fields(self, "simulation")
