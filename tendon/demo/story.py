"""What the demo asks for in a scene, and what shows that the arm was on its way to an object."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

import numpy as np

from tendon.core.errors import ConfigError
from tendon.core.types import Array
from tendon.sim.tabletop.layout import Layout
from tendon.sim.tabletop.phrases import PHRASES, parse_instruction
from tendon.sim.tabletop.scene import Scene, sample_scene
from tendon.sim.tabletop.tasks import Task, feasible_tasks

FAMILY = "put_in"
MANY = 200
FIRST_WISH = "put the red cube in the blue bowl"
CLOSER = 0.3
"""The arm is on its way when this share of the first distance is gone ..."""

ON_THE_WAY_M_S = 0.06
"""... and it still moves toward the object this fast."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One instruction of the story.

    Attributes:
        instruction: in words.
        task: what that means in the scene.
        interrupted: the next instruction comes while the arm is still on its way to this one's object.
    """

    instruction: str
    task: Task
    interrupted: bool = False


def find_story(first_seed: int, layout: Layout) -> Scene:
    """Returns the first scene from a seed on that has room for the demo.

    Raises:
        ConfigError: none of many has.
    """
    for seed in range(first_seed, first_seed + MANY):
        scene = sample_scene(seed, FAMILY, layout)
        with contextlib.suppress(ConfigError):
            tell_story(scene)
            return scene
    raise ConfigError(f"none of the scenes {first_seed}-{first_seed + MANY - 1} has room for the demo: name a --seed")


def tell_story(scene: Scene) -> tuple[Step, ...]:
    """Returns the story of a scene: put X in Y, then pick up A, interrupted by: put B in Z.

    X and Y are the red cube and the blue bowl where the scene has them. A and B are the two others that lie
    furthest apart as seen from Y, where the arm will be: on its way to A it is not on its way to B.

    Raises:
        ConfigError: the scene has too few objects, or one is in another's way.
    """
    positions = {i: np.array(item.position) for i, item in enumerate(scene.items)}
    feasible = feasible_tasks(scene.items, scene.layout, positions, 0.0)
    firsts = [task for task in feasible if task.relation == "in"]
    wished = parse_instruction(scene.items, FIRST_WISH)
    if wished in firsts:
        firsts = [wished]
    best: tuple[float, tuple[Step, ...]] | None = None
    for first in firsts:
        here = positions[first.reference or 0]
        free = [task for task in feasible if task.target != first.target]
        for away in (task for task in free if task.relation == "lift"):
            for last in (task for task in free if task.relation == "in" and task.target != away.target):
                if last.reference == first.reference:
                    continue
                apart = _angle(positions[away.target] - here, positions[last.target] - here)
                if best is None or apart > best[0] + 1e-9:
                    best = apart, (_step(scene, first), _step(scene, away, interrupted=True), _step(scene, last))
    if best is None:
        raise ConfigError(
            f"scene {scene.seed} has no room for the demo: it needs three objects and two containers that are all "
            "in reach; take another seed"
        )
    return best[1]


def _step(scene: Scene, task: Task, interrupted: bool = False) -> Step:
    reference = "" if task.reference is None else scene.items[task.reference].name
    words = PHRASES[task.relation][0].format(x=scene.items[task.target].name, y=reference)
    return Step(instruction=words, task=task, interrupted=interrupted)


def _angle(one: Array, other: Array) -> float:
    turn = np.arctan2(one[1], one[0]) - np.arctan2(other[1], other[0])
    return float(abs(np.arctan2(np.sin(turn), np.cos(turn))))


@dataclass(frozen=True, kw_only=True)
class Approach:
    """How the tool moves in relation to an object, seen from above.

    Attributes:
        begin_m: horizontal distance from tool to object when the instruction was given.
        distance_m: the same now.
        speed_m_s: how fast it gets smaller.
        other_speed_m_s: how fast the distance to the next instruction's object gets smaller.
    """

    begin_m: float
    distance_m: float
    speed_m_s: float
    other_speed_m_s: float

    @property
    def on_the_way(self) -> bool:
        """Whether the arm is in motion toward this object, and not as much toward the other one."""
        return (
            self.distance_m <= (1.0 - CLOSER) * self.begin_m
            and self.speed_m_s >= ON_THE_WAY_M_S
            and self.speed_m_s > self.other_speed_m_s
        )


def measure_approach(tool: Array, velocity: Array, item: Array, other: Array, begin_m: float | None) -> Approach:
    """Returns how a tool at (3,) [m], moving with (3,) [m/s], approaches an item at (3,) rather than another.

    Args:
        tool: position.
        velocity: of the tool.
        item: position of the object asked for.
        other: position of the object that will be asked for next.
        begin_m: horizontal distance when the instruction was given; `None` when that is now.
    """
    distance_m, speed_m_s = _closing(tool, velocity, item)
    return Approach(
        begin_m=distance_m if begin_m is None else begin_m,
        distance_m=distance_m,
        speed_m_s=speed_m_s,
        other_speed_m_s=_closing(tool, velocity, other)[1],
    )


def _closing(tool: Array, velocity: Array, item: Array) -> tuple[float, float]:
    away = (item - tool)[:2]
    distance = float(np.hypot(*away))
    return distance, float(velocity[:2] @ away) / max(distance, 1e-6)
