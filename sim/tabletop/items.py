"""What can stand on the table. Frame: the robot base; x away from the robot, y to its left, z up; lengths in metres."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

COLOURS = {
    "red": (0.85, 0.12, 0.12),
    "green": (0.15, 0.65, 0.2),
    "blue": (0.12, 0.3, 0.85),
    "yellow": (0.93, 0.82, 0.1),
    "orange": (0.95, 0.5, 0.08),
    "purple": (0.5, 0.16, 0.65),
}
MOVABLE = ("cube", "cylinder")
CONTAINERS = ("bowl", "bin")
DRAWER_TRAVEL = 0.11
HANDLE_STANDOFF = 0.05


@dataclass(frozen=True, kw_only=True)
class Item:
    """One thing on the table.

    Attributes:
        kind: cube, cylinder, bowl, bin, plate, zone or drawer.
        colour: a key of `COLOURS`; with `kind` it names the item and is unique in a scene. Any other word for
            a thing that no instruction names.
        rgb: the colour as rendered.
        size: edge of a cube, diameter of a cylinder, outer width of the rest [m].
        height: [m].
        position: of the centre [m]; of a drawer: the front's middle at table height when closed.
        yaw: about z [rad].
        opening: how far a drawer is open at the start [m].
    """

    kind: str
    colour: str
    rgb: tuple[float, float, float]
    size: float
    height: float
    position: tuple[float, float, float]
    yaw: float = 0.0
    mass: float = 0.1
    friction: float = 0.8
    opening: float = 0.0

    @property
    def name(self) -> str:
        """What instructions call it: "red cube"; a drawer is just "drawer"."""
        return self.kind if self.kind == "drawer" else f"{self.colour} {self.kind}"


def make_item(rng: np.random.Generator, kind: str, colour: str, xy: tuple[float, float], scale: float = 1.0) -> Item:
    """Returns an item of random size, mass, friction, yaw and shade at a place on the table, scaled in size."""
    rgb = tuple(np.clip(np.array(COLOURS[colour]) + rng.uniform(-0.06, 0.06, 3), 0, 1).tolist())
    size, height = {
        "cube": lambda: (edge := float(rng.choice([0.040, 0.048])), edge),
        "cylinder": lambda: (float(rng.uniform(0.040, 0.046)), float(rng.uniform(0.045, 0.055))),
        "bowl": lambda: (0.14, 0.035),
        "bin": lambda: (0.14, 0.045),
        "plate": lambda: (0.14, 0.008),
        "zone": lambda: (0.14, 0.001),
    }[kind]()
    size, height = scale * size, scale * height
    return Item(
        kind=kind,
        colour=colour,
        rgb=rgb,
        size=size,
        height=height,
        position=(float(xy[0]), float(xy[1]), height / 2),
        yaw=float(rng.uniform(-0.35, 0.35)) if kind in MOVABLE else 0.0,
        mass=float(rng.uniform(0.05, 0.15)) if kind in MOVABLE else 0.0,
        friction=float(rng.uniform(0.6, 1.0)),
    )


def make_drawer(rng: np.random.Generator, place: tuple[float, float]) -> Item:
    """Returns a drawer of random shade, open or closed, with its front at a place."""
    shade = rng.uniform(0.25, 0.75)
    return Item(
        kind="drawer",
        colour="",
        rgb=tuple(np.clip(shade + rng.uniform(-0.1, 0.1, 3), 0, 1).tolist()),
        size=0.2,
        height=0.09,
        position=(place[0], place[1], 0.0),
        opening=float(rng.choice([0.0, DRAWER_TRAVEL])),
    )
