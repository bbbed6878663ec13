"""What stands on the table, under which light, and what is asked: one frozen value drawn from one seed.

Seeds 0-99 999 are for training, 100 000-199 999 for validation and tuning, 200 000-299 999 for reported
results. The family of a seed is `FAMILIES[seed % 6]`, so any run of consecutive seeds covers all families alike.
Frame: the robot base; x away from the robot, y to its left, z up; the table top is z = 0. Lengths in metres.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

ROBOT = "panda"
"""The one robot that is simulated."""
CAMERAS = ("scene", "wrist")
"""The cameras that are simulated: one looks at the table, one sits on the hand."""
FAMILIES = ("pick", "put_in", "put_by", "push", "stack", "drawer")
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
FOOTPRINT = {"cube": 0.045, "cylinder": 0.045, "bowl": 0.075, "bin": 0.09, "plate": 0.075}
BESIDE = 0.095
DRAWER_TRAVEL = 0.11
DRAWER_FRONT_X = 0.72
HANDLE_STANDOFF = 0.05
ENVIRONMENT = "tabletop"
"""What stands around the robot in every scene, as `environments/` has it for the safety filter."""
AREA = ((0.35, 0.60), (-0.26, 0.26))


@dataclass(frozen=True, kw_only=True)
class Item:
    """One thing on the table.

    Attributes:
        kind: cube, cylinder, bowl, bin, plate, zone or drawer.
        colour: a key of `COLOURS`; with `kind` it names the item and is unique in a scene.
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


@dataclass(frozen=True, kw_only=True)
class Task:
    """What is asked: do `relation` with item `target`, to item `reference` where there is one."""

    family: str
    relation: str
    target: int
    reference: int | None = None


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


def make_item(rng: np.random.Generator, kind: str, colour: str, xy: tuple[float, float]) -> Item:
    """Returns an item of random size, mass, friction, yaw and shade at a place on the table."""
    rgb = tuple(np.clip(np.array(COLOURS[colour]) + rng.uniform(-0.06, 0.06, 3), 0, 1).tolist())
    size, height = {
        "cube": lambda: (edge := float(rng.choice([0.040, 0.048])), edge),
        "cylinder": lambda: (float(rng.uniform(0.040, 0.046)), float(rng.uniform(0.045, 0.055))),
        "bowl": lambda: (0.14, 0.035),
        "bin": lambda: (0.14, 0.045),
        "plate": lambda: (0.14, 0.008),
        "zone": lambda: (0.14, 0.001),
    }[kind]()
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
    from tendon.sim.tasks import feasible_tasks, phrase

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
                items.append(_drawer(rng, place))
                continue
            free = [colour for colour in COLOURS if (kind, colour) not in used]
            colour = str(rng.choice(free))
            used.add((kind, colour))
            items.append(make_item(rng, kind, colour, place))
        start = (float(rng.uniform(0.38, 0.48)), float(rng.uniform(-0.06, 0.06)), float(rng.uniform(0.26, 0.32)))
        draft = Scene(
            seed=seed,
            items=tuple(items),
            task=Task(family=family, relation="", target=0),
            instruction="",
            look=_look(rng),
            tool_start=start,
        )
        positions = {i: np.array(item.position) for i, item in enumerate(items)}
        opening = next((item.opening for item in items if item.kind == "drawer"), 0.0)
        tasks = [task for task in feasible_tasks(draft, positions, opening) if task.family == family]
        if tasks:
            task = tasks[int(rng.integers(len(tasks)))]
            return replace(draft, task=task, instruction=phrase(draft, task, rng))


def _drawer(rng: np.random.Generator, place: tuple[float, float]) -> Item:
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
