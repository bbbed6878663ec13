"""The tasks for two hands, and when one is done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from tendon.core.types import Array
from tendon.sim.scenes.scene import DescribedScene
from tendon.sim.suite import LIMIT_S

LIFTED_M = 0.08
"""How high the tray is lifted, at scale 1."""
LEVEL_RAD = 0.15
"""How far it may tilt."""
IN_ZONE_M = 0.06
"""From the middle of the zone to that of the bar, at scale 1."""
TRAY = BAR = 0
ZONE = 1
BOTH = frozenset({0, 1})


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

    def held_so_far(self, item: int) -> frozenset[int]:
        """Returns which grippers have held it."""


@dataclass(frozen=True, kw_only=True)
class LiftTask:
    """Lift the tray with both hands, level."""

    family: str = "lift"
    relation: str = "lift"
    limit_s: ClassVar[float] = LIMIT_S

    def progress(self, world: Table) -> float:
        """Returns how much is done: a quarter for each hand that holds it, half for its height."""
        if self.success(world):
            return 1.0
        share = min(1.0, max(0.0, self._risen(world) / (LIFTED_M * world.scene.stage.scale)))
        return min(0.99, 0.25 * len(world.holders(TRAY)) + 0.5 * share)

    def success(self, world: Table) -> bool:
        """Returns whether both hands hold it high enough, level."""
        high = self._risen(world) > LIFTED_M * world.scene.stage.scale
        return high and world.tilt(TRAY) < LEVEL_RAD and world.holders(TRAY) == BOTH

    def _risen(self, world: Table) -> float:
        return float(world.place(TRAY)[2]) - world.scene.items[TRAY].height


@dataclass(frozen=True, kw_only=True)
class HandOverTask:
    """One hand gives the bar to the other, which puts it on its own side."""

    family: str = "hand_over"
    relation: str = "hand_over"
    limit_s: ClassVar[float] = 20.0

    def progress(self, world: Table) -> float:
        """Returns how much is done: a quarter for each hand that has held it, half for the way to the zone."""
        if self.success(world):
            return 1.0
        start = np.array(world.scene.items[BAR].body.position)
        goal = zone(world.scene)
        share = 1.0 - float(np.linalg.norm(world.place(BAR) - goal) / np.linalg.norm(start - goal))
        return min(0.99, 0.25 * len(world.held_so_far(BAR)) + 0.5 * min(1.0, max(0.0, share)))

    def success(self, world: Table) -> bool:
        """Returns whether it lies in the zone, let go, and both hands have held it. Ask at the policy's rate."""
        passed = world.held_so_far(BAR) == BOTH
        return passed and lies_in_zone(world.scene, world.place(BAR)) and not world.holders(BAR)


def zone(scene: DescribedScene) -> Array:
    """Returns where the bar's centre is when it lies in the middle of the zone (3,) [m]."""
    x, y, _ = scene.items[ZONE].body.position
    return np.array([x, y, scene.items[BAR].height])


def lies_in_zone(scene: DescribedScene, bar: Array) -> bool:
    """Returns whether the bar lies there."""
    away, scale = bar - zone(scene), scene.stage.scale
    return bool(np.hypot(*away[:2]) < IN_ZONE_M * scale and abs(away[2]) < 0.015 * scale)
