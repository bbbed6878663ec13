"""Another task in mid-motion: which, and when."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tendon.sim.scene import Scene
from tendon.sim.tasks import feasible_tasks, phrase
from tendon.sim.world import World


@dataclass(frozen=True, kw_only=True)
class Switch:
    """A change of mind of whoever instructs the robot.

    Attributes:
        at_ns: when, in simulated time from the start.
        stop_first: the robot comes to rest before it hears of the new task, as a stack without switching has to.
    """

    at_ns: int
    stop_first: bool = False


def another_task(world: World) -> Scene | None:
    """Returns the scene of a world with another task, drawn by its seed, that can be done from here on.

    Returns:
        The scene; `None` when nothing else can be done.
    """
    scene = world.scene
    possible = feasible_tasks(scene, world.item_positions(), world.opening(), world.held())
    others = [task for task in possible if task != scene.task]
    if not others:
        return None
    rng = np.random.default_rng([scene.seed, 17])
    task = others[int(rng.integers(len(others)))]
    return replace(scene, task=task, instruction=phrase(scene, task, rng))
