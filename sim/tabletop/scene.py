"""What stands on the table, under which light, and what is asked: one frozen value drawn from one seed.

Seeds 0-99 999 are for training, 100 000-199 999 for validation and tuning, 200 000-299 999 for reported
results; every other one is a scene too. The family of a seed is `FAMILIES[seed % 6]`, so any run of consecutive seeds
covers all families alike.
Frame: the robot base; x away from the robot, y to its left, z up; the table top is z = 0. Lengths in metres.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from tendon.core.errors import ConfigError
from tendon.core.types import Array
from tendon.sim.tabletop.items import (
    COLOURS,
    CONTAINERS,
    MOVABLE,
    Item,
    make_drawer,
    make_item,
)
from tendon.sim.tabletop.layout import DEFAULT, FAMILIES, Layout, layouts
from tendon.sim.tabletop.phrases import phrase
from tendon.sim.tabletop.tasks import Task, feasible_tasks

MAX_SEED = 2**63 - 1
TRIES = 1000
FOOTPRINT = {"cube": 0.045, "cylinder": 0.045, "bowl": 0.075, "bin": 0.09, "plate": 0.075}
ENVIRONMENT = "tabletop"
"""What stands around the robot in every scene, as `environments/` has it for the safety filter."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """Everything random that a camera sees and physics does not; `tiled` is the contrast of tiles, 0 to 1."""

    table_rgb: tuple[float, float, float]
    texture: int
    light_direction: tuple[float, float, float]
    light_rgb: tuple[float, float, float]
    ambient: float
    camera_offset: tuple[float, float, float]
    camera_tilt: tuple[float, float]
    tiled: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A table, a task and a look."""

    seed: int
    layout: Layout
    items: tuple[Item, ...]
    task: Task
    instruction: str
    look: Look
    tool_start: tuple[float, float, float]

    def index(self, name: str) -> int | None:
        """Returns the index of the item called `name`, or `None`."""
        return next((i for i, item in enumerate(self.items) if item.name == name), None)


def _look(rng: np.random.Generator) -> Look:
    grey = rng.uniform(0.35, 0.9)
    return Look(
        table_rgb=tuple(np.clip(grey + rng.uniform(-0.12, 0.12, 3), 0.1, 1.0).tolist()),
        texture=int(rng.integers(0, 6)),
        light_direction=tuple(np.array([rng.uniform(-1, 1.5), rng.uniform(-1.2, 1.2), 2.0]).tolist()),
        light_rgb=tuple(rng.uniform(0.85, 1.0, 3).tolist()),
        ambient=float(rng.uniform(0.45, 0.7)),
        camera_offset=tuple(rng.uniform(-0.01, 0.01, 3).tolist()),
        camera_tilt=tuple(rng.uniform(-0.01, 0.01, 2).tolist()),
    )


def _cast(family: str, rng: np.random.Generator) -> list[str]:
    """Returns the kinds of a scene: what the family needs first, then distractors."""
    movable = [str(rng.choice(MOVABLE)) for _ in range(4)]
    extra = int(rng.integers(2, 4))
    containers = [str(kind) for kind in rng.choice(CONTAINERS, 2)]
    return {
        "pick": movable[: extra + 1] + containers[: int(rng.integers(0, 2))],
        "put_in": movable[:extra] + containers,
        "put_by": movable[:3] + ["plate"] * int(rng.integers(1, 3)),
        "push": [*movable[:extra], "zone", "zone"],
        "stack": ["cube", "cube", *movable[: extra - 1]],
        "drawer": [*movable[:2], "drawer"],
    }[family]


def _place(kinds: list[str], layout: Layout, rng: np.random.Generator) -> list[tuple[float, float]] | None:
    """Returns a place for each kind with room for the gripper between them, or `None` after many tries."""
    far = {"zone", "drawer"} & set(kinds)
    (x_low, x_high), (y_low, y_high) = layout.area_x, layout.area_y
    if far:
        x_low, x_high = {"zone": layout.push_from_x, "drawer": layout.before_drawer_x}[far.pop()]
    middle_y = float(rng.uniform(-0.12, 0.12))
    zones = [(layout.push_to_x, middle_y - 0.09), (layout.push_to_x, middle_y + 0.09)]
    places: list[tuple[float, float]] = []
    for kind in kinds:
        if kind == "zone":
            places.append(zones.pop())
            continue
        if kind == "drawer":
            places.append((layout.drawer_x, middle_y))
            continue
        reach = layout.scale * FOOTPRINT[kind]
        for _ in range(60):
            x, y = float(rng.uniform(x_low, x_high)), float(rng.uniform(y_low, y_high))
            clear = all(
                np.hypot(x - px, y - py) > reach + layout.scale * FOOTPRINT[other] + 0.02
                for other, (px, py) in zip(kinds, places, strict=False)
                if other in FOOTPRINT
            )
            if clear:
                places.append((x, y))
                break
        else:
            return None
    return places


def sample_scene(seed: int, family: str | None = None, layout: Layout | None = None) -> Scene:
    """Returns the scene of a seed.

    Args:
        seed: any integer of 64 bits; see the module for which seeds are for what.
        family: of the layout's; by default the seed decides.
        layout: where things stand; by default that of a long arm.

    Raises:
        ValueError: a seed of more than 64 bits.
        ConfigError: the layout does not have the family, or its things find no room.
    """
    layout = layouts()[DEFAULT] if layout is None else layout
    if not -MAX_SEED - 1 <= seed <= MAX_SEED:
        raise ValueError(f"seed is {seed}: it must be an integer of 64 bits")
    families = layout.families
    family = families[seed % len(families)] if family is None else family
    if family not in families:
        raise ConfigError(f"unknown task family {family}; known: {', '.join(families)}")
    rng = np.random.default_rng([seed % (2 * MAX_SEED + 2), FAMILIES.index(family)])
    for _ in range(TRIES):
        kinds = _cast(family, rng)
        places = _place(kinds, layout, rng)
        if places is None:
            continue
        items = []
        used: set[tuple[str, str]] = set()
        for kind, place in zip(kinds, places, strict=True):
            if kind == "drawer":
                items.append(make_drawer(rng, place))
                continue
            free = [colour for colour in COLOURS if (kind, colour) not in used]
            colour = str(rng.choice(free))
            used.add((kind, colour))
            items.append(make_item(rng, kind, colour, place, layout.scale))
        spans = (layout.start_x, layout.start_y, layout.start_z)
        start_x, start_y, start_z = (float(rng.uniform(*span)) for span in spans)
        look = _look(rng)
        positions = {i: np.array(item.position) for i, item in enumerate(items)}
        opening = next((item.opening for item in items if item.kind == "drawer"), 0.0)
        tasks = [task for task in feasible_tasks(items, layout, positions, opening) if task.family == family]
        if tasks:
            task = tasks[int(rng.integers(len(tasks)))]
            return Scene(
                seed=seed,
                layout=layout,
                items=tuple(items),
                task=task,
                instruction=phrase(items, task, rng),
                look=look,
                tool_start=(start_x, start_y, start_z),
            )
    raise ConfigError(
        f"no scene of family {family} found room in {TRIES} tries: the layout's area_x and area_y in "
        "suites/tabletop.yaml leave too little; give them more, or the layout fewer families"
    )


def another_task(scene: Scene, positions: Mapping[int, Array], opening: float, held: int | None) -> Scene | None:
    """Returns a scene with another task, drawn by its seed, that can be done as things are now, or `None`.

    Args:
        scene: with the task that is asked for now.
        positions: of the items, (3,) [m] each.
        opening: of the drawer [m].
        held: item between the fingers, if any.
    """
    possible = feasible_tasks(scene.items, scene.layout, positions, opening, held)
    others = [task for task in possible if task != scene.task]
    if not others:
        return None
    rng = np.random.default_rng([scene.seed, 17])
    task = others[int(rng.integers(len(others)))]
    return replace(scene, task=task, instruction=phrase(scene.items, task, rng))
