"""The tasks of assembly, and when one is done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from tendon.core.types import Array
from tendon.sim.scenes.scene import DescribedScene
from tendon.sim.suite import LIMIT_S

PART, PLACE = 0, 1
"""Of the items: what is assembled, and where."""
SEATED_M, ASIDE_M = 0.012, 0.01
"""How far it may be above where it rests, and beside the middle, at scale 1."""
UPRIGHT_RAD = 0.2
NEARLY = 0.8
"""Of the way: what is let go there counts as having been held."""


class Table(Protocol):
    """What a check of success looks at: the world."""

    @property
    def scene(self) -> DescribedScene:
        """What it began with."""

    def place(self, item: int) -> Array:
        """Returns the centre of mass of an item (3,) [m]."""

    def tilt(self, item: int) -> float:
        """Returns how far it is from upright [rad]."""

    def holders(self, item: int) -> frozenset[int]:
        """Returns which grippers hold it."""


@dataclass(frozen=True, kw_only=True)
class SeatTask:
    """Bring the part to where it belongs, down to the table, upright, and let go."""

    family: str
    relation: str = "seat"
    limit_s: ClassVar[float] = LIMIT_S

    def progress(self, world: Table) -> float:
        """Returns how much is done: half for holding it, half for the way."""
        if self.success(world):
            return 1.0
        start, goal = np.array(world.scene.items[PART].body.position), seat(world.scene)
        share = 1.0 - float(np.linalg.norm(world.place(PART) - goal) / np.linalg.norm(start - goal))
        share = min(1.0, max(0.0, share))
        return min(0.99, 0.5 * (bool(world.holders(PART)) or share > NEARLY) + 0.5 * share)

    def success(self, world: Table) -> bool:
        """Returns whether it is seated there, upright and let go."""
        there = is_seated(world.scene, world.place(PART))
        return there and world.tilt(PART) < UPRIGHT_RAD and not world.holders(PART)


def seat(scene: DescribedScene) -> Array:
    """Returns where the part's centre belongs (3,) [m]."""
    x, y, _ = scene.items[PLACE].body.position
    return np.array([x, y, scene.items[PART].height])


def is_seated(scene: DescribedScene, part: Array) -> bool:
    """Returns whether a part whose centre is at a place (3,) is where it belongs."""
    away, scale = part - seat(scene), scene.stage.scale
    return bool(np.hypot(*away[:2]) < ASIDE_M * scale and abs(away[2]) < SEATED_M * scale)
