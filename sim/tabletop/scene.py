"""What stands on the table, under which light, and what is asked: one frozen value drawn from one seed.

Seeds 0-99 999 are for training, 100 000-199 999 for validation and tuning, 200 000-299 999 for reported
results. The family of a seed is `FAMILIES[seed % 6]`, so any run of consecutive seeds covers all families alike.
Frame: the robot base; x away from the robot, y to its left, z up; the table top is z = 0. Lengths in metres.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tendon.sim.tabletop.items import (
    AREA,
    COLOURS,
    CONTAINERS,
    DRAWER_FRONT_X,
    MOVABLE,
    Item,
    make_drawer,
    make_item,
)
from tendon.sim.tabletop.phrases import phrase
from tendon.sim.tabletop.tasks import Task, feasible_tasks

ROBOT = "panda"
"""The one robot that this suite has."""
CAMERAS = ("scene", "wrist")
"""The cameras that it has: one looks at the table, one sits on the hand."""
FAMILIES = ("pick", "put_in", "put_by", "push", "stack", "drawer")
FOOTPRINT = {"cube": 0.045, "cylinder": 0.045, "bowl": 0.075, "bin": 0.09, "plate": 0.075}
ENVIRONMENT = "tabletop"
"""What stands around the robot in every scene, as `environments/` has it for the safety filter."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """Everything random that a camera sees and physics does not."""

    table_rgb: tuple[float, float, float]
    texture: int
    light_direction: tuple[float, float, float]
    light_rgb: tuple[float, float, float]
    ambient: float
    camera_offset: tuple[float, float, float]
    camera_tilt: tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A table, a task and a look."""

    seed: int
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


def _place(kinds: list[str], rng: np.random.Generator) -> list[tuple[float, float]] | None:
    """Returns a place for each kind with room for the gripper between them, or `None` after many tries."""
    far = {"zone", "drawer"} & set(kinds)
    (x_low, x_high), (y_low, y_high) = AREA
    if far:
        x_low, x_high = {"zone": (0.41, 0.48), "drawer": (0.35, 0.46)}[far.pop()]
    middle_y = float(rng.uniform(-0.12, 0.12))
    zones = [(0.66, middle_y - 0.09), (0.66, middle_y + 0.09)]
    places: list[tuple[float, float]] = []
    for kind in kinds:
        if kind == "zone":
            places.append(zones.pop())
            continue
        if kind == "drawer":
            places.append((DRAWER_FRONT_X, middle_y))
            continue
        reach = FOOTPRINT[kind]
        for _ in range(60):
            x, y = float(rng.uniform(x_low, x_high)), float(rng.uniform(y_low, y_high))
            clear = all(
                np.hypot(x - px, y - py) > reach + FOOTPRINT[other] + 0.02
                for other, (px, py) in zip(kinds, places, strict=False)
                if other in FOOTPRINT
            )
            if clear:
                places.append((x, y))
                break
        else:
            return None
    return places


def sample_scene(seed: int, family: str | None = None) -> Scene:
    """Returns the scene of a seed.

    Args:
        seed: see the module for which seeds are for what.
        family: of `FAMILIES`; by default the seed decides.

    Raises:
        ValueError: a seed outside 0-299 999 or an unknown family.
    """
    if not 0 <= seed < 300_000:
        raise ValueError(f"seed is {seed}: scenes exist for 0-299999")
    family = FAMILIES[seed % len(FAMILIES)] if family is None else family
    if family not in FAMILIES:
        raise ValueError(f"unknown task family {family}; known: {', '.join(FAMILIES)}")
    rng = np.random.default_rng([seed, FAMILIES.index(family)])
    while True:
        kinds = _cast(family, rng)
        places = _place(kinds, rng)
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
            items.append(make_item(rng, kind, colour, place))
        start = (float(rng.uniform(0.38, 0.48)), float(rng.uniform(-0.06, 0.06)), float(rng.uniform(0.26, 0.32)))
        look = _look(rng)
        positions = {i: np.array(item.position) for i, item in enumerate(items)}
        opening = next((item.opening for item in items if item.kind == "drawer"), 0.0)
        tasks = [task for task in feasible_tasks(items, positions, opening) if task.family == family]
        if tasks:
            task = tasks[int(rng.integers(len(tasks)))]
            return Scene(
                seed=seed,
                items=tuple(items),
                task=task,
                instruction=phrase(items, task, rng),
                look=look,
                tool_start=start,
            )
