"""A scene of a described suite: what stands where, under which light, and what is asked, drawn from one seed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tendon.core.errors import ConfigError
from tendon.core.types import Array
from tendon.sim.bodies import Body, Part, Surface, Vector
from tendon.sim.engine import Light
from tendon.sim.scenes.description import Grip, Stage, SuiteFile, Thing
from tendon.sim.suite import Task

MAX_SEED = 2**63 - 1
GAP_M = 0.01
"""Between the circles around two things."""
TRIES = 200


@dataclass(frozen=True, kw_only=True)
class Item:
    """One thing of a scene.

    Attributes:
        name: in the suite's file.
        body: its frame is at its centre of mass.
        grips: in that frame [m].
        height: of that frame above what it stands on [m].
    """

    name: str
    body: Body
    grips: tuple[Grip, ...]
    height: float


@dataclass(frozen=True, kw_only=True)
class DescribedScene:
    """A table with things, and a task.

    Attributes:
        seed: draws it again.
        stage: of the robot.
        items: what stands there; the first is what is moved.
        light: of the cameras.
        table_rgb: colour of the table.
        task: what is asked.
        instruction: in words.
    """

    seed: int
    stage: Stage
    items: tuple[Item, ...]
    light: Light
    table_rgb: tuple[float, float, float]
    task: Task
    instruction: str


def draw_scene(file: SuiteFile, tasks: dict[str, Task], robot: str, seed: int, family: str = "") -> DescribedScene:
    """Returns the scene of a seed.

    Args:
        file: of the suite.
        tasks: of each family.
        robot: whose stage it is on.
        seed: any integer of 64 bits; of consecutive ones each family has its share.
        family: by default the seed decides.

    Raises:
        ValueError: a seed of more than 64 bits.
        ConfigError: the robot does not have the family, its things find no room, or a family of the file has no task.
    """
    if missing := [each for each in file.families if each not in tasks]:
        raise ConfigError(
            f"suites/{file.name}.yaml has family {missing[0]}, for which sim/{file.name} has no task; it has "
            f"{', '.join(tasks)}"
        )
    if not -MAX_SEED - 1 <= seed <= MAX_SEED:
        raise ValueError(f"seed is {seed}: it must be an integer of 64 bits")
    stage = file.stage(robot)
    families = stage.families or tuple(file.families)
    family = family or families[seed % len(families)]
    if family not in families:
        raise ConfigError(f"unknown task family {family}; known: {', '.join(families)}")
    rng = np.random.default_rng([seed % (2 * MAX_SEED + 2), 5, list(file.families).index(family)])
    asked = file.families[family]
    items = _place(file, asked.things, stage, rng)
    look = file.look
    grey = rng.uniform(*look.table)
    return DescribedScene(
        seed=seed,
        stage=stage,
        items=items,
        light=Light(
            direction=(float(rng.uniform(*look.lamp_x)), float(rng.uniform(*look.lamp_y)), 2.0),
            rgb=_three(rng.uniform(*look.lamp_rgb, 3)),
            ambient=float(rng.uniform(*look.ambient)),
        ),
        table_rgb=_three(np.clip(grey + rng.uniform(-0.1, 0.1, 3), 0.1, 1.0)),
        task=tasks[family],
        instruction=str(rng.choice(asked.words)),
    )


def _three(values: Array) -> Vector:
    x, y, z = values.tolist()
    return x, y, z


def _place(file: SuiteFile, names: Sequence[str], stage: Stage, rng: np.random.Generator) -> tuple[Item, ...]:
    """Draws places until no thing stands in another."""
    for _ in range(TRIES):
        items = tuple(_draw(name, file.things[name], stage, rng) for name in names)
        circles = [(*item.body.position[:2], _radius(item.body)) for item in items if item.body.solid]
        free = all(
            math.hypot(x - u, y - v) > r + s + GAP_M for i, (x, y, r) in enumerate(circles) for u, v, s in circles[:i]
        )
        if free:
            return items
    raise ConfigError(
        f"suite {file.name}: {', '.join(names)} found no room beside one another in {TRIES} tries: give them other "
        f"x and y in suites/{file.name}.yaml"
    )


def _radius(body: Body) -> float:
    return max(
        math.hypot(abs(part.centre[0]) + part.half[0], abs(part.centre[1]) + part.half[1]) for part in body.parts
    )


def _draw(name: str, thing: Thing, stage: Stage, rng: np.random.Generator) -> Item:
    scale, (x0, y0) = stage.scale, stage.origin
    x, y, yaw = (float(rng.uniform(*span)) for span in (thing.x, thing.y, thing.yaw))
    mass, friction = float(rng.uniform(*thing.mass)), float(rng.uniform(*thing.friction))
    rgb = np.array(thing.rgb[int(rng.integers(len(thing.rgb)))])
    centre = _centre_of_mass(thing.parts) if mass > 0 else np.zeros(3)
    parts, grips = _about(thing, scale, _three(centre))
    turned = scale * np.array(
        [
            x + math.cos(yaw) * centre[0] - math.sin(yaw) * centre[1],
            y + math.sin(yaw) * centre[0] + math.cos(yaw) * centre[1],
        ]
    )
    body = Body(
        parts=parts,
        rgb=_three(np.clip(rgb + rng.uniform(-0.05, 0.05, 3), 0, 1)),
        position=(x0 + float(turned[0]), y0 + float(turned[1]), scale * float(centre[2])),
        yaw=yaw,
        mass=mass * scale**3,
        solid=thing.solid,
        surface=Surface(friction=friction, spinning=0.005, damping=(0.05, 0.3)),
    )
    return Item(name=name, body=body, grips=grips, height=scale * float(centre[2]))


def _centre_of_mass(parts: Sequence[Part]) -> Array:
    """Returns (3,): things are of one material."""
    volumes = np.array([math.prod(part.half) * (math.pi / 4 if part.kind == "cylinder" else 1.0) for part in parts])
    return np.asarray(volumes @ np.array([part.centre for part in parts]) / volumes.sum())


def _about(thing: Thing, scale: float, centre: Vector) -> tuple[tuple[Part, ...], tuple[Grip, ...]]:
    """Returns parts and grips at a scale, in a frame at the centre of mass."""

    def seen(place: Vector) -> Vector:
        return _three(scale * (np.array(place) - centre))

    parts = tuple(
        replace(
            p,
            half=_three(scale * np.array(p.half)),
            centre=seen(p.centre),
            unit=scale * p.unit,
            middle=_three(scale * np.array(p.middle)),
        )
        for p in thing.parts
    )
    return parts, tuple(Grip(place=seen(grip.place), half=scale * grip.half) for grip in thing.grips)
