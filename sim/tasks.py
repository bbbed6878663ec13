"""The language tasks: which make sense in a scene, how people say them, and when one is done."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tendon.core.types import Array
from tendon.sim.scene import AREA, BESIDE, CONTAINERS, DRAWER_TRAVEL, MOVABLE, Scene, Task

PHRASES: dict[str, tuple[str, ...]] = {
    "lift": ("pick up the {x}", "lift the {x}", "grab the {x}", "take the {x} off the table"),
    "in": (
        "put the {x} in the {y}",
        "place the {x} into the {y}",
        "drop the {x} in the {y}",
        "move the {x} to the {y}",
    ),
    "on": ("put the {x} on the {y}", "place the {x} onto the {y}", "set the {x} on the {y}", "lay the {x} on the {y}"),
    "next_to": (
        "put the {x} next to the {y}",
        "place the {x} beside the {y}",
        "set the {x} near the {y}",
        "move the {x} next to the {y}",
    ),
    "left_of": (
        "put the {x} left of the {y}",
        "place the {x} to the left of the {y}",
        "move the {x} left of the {y}",
        "set the {x} on the left side of the {y}",
    ),
    "right_of": (
        "put the {x} right of the {y}",
        "place the {x} to the right of the {y}",
        "move the {x} right of the {y}",
        "set the {x} on the right side of the {y}",
    ),
    "push": (
        "push the {x} to the {y}",
        "slide the {x} to the {y}",
        "push the {x} into the {y}",
        "shove the {x} onto the {y}",
    ),
    "stack": (
        "stack the {x} on the {y}",
        "stack the {x} on top of the {y}",
        "put the {x} on top of the {y}",
        "pile the {x} onto the {y}",
    ),
    "open": ("open the drawer", "pull the drawer open", "pull out the drawer", "slide the drawer open"),
    "close": ("close the drawer", "push the drawer shut", "shut the drawer", "slide the drawer closed"),
}


def phrase(scene: Scene, task: Task, rng: np.random.Generator) -> str:
    """Returns one of the ways to ask for a task."""
    form = str(rng.choice(PHRASES[task.relation]))
    reference = "" if task.reference is None else scene.items[task.reference].name
    return form.format(x=scene.items[task.target].name, y=reference)


def parse_instruction(scene: Scene, instruction: str) -> Task | None:
    """Returns the task an instruction asks for in a scene, or `None` when it asks for none there."""
    text = " ".join(instruction.lower().strip(" .!").split())
    for task in all_tasks(scene):
        reference = "" if task.reference is None else scene.items[task.reference].name
        if text in {form.format(x=scene.items[task.target].name, y=reference) for form in PHRASES[task.relation]}:
            return task
    return None


def all_tasks(scene: Scene) -> list[Task]:
    """Returns every task the items of a scene allow, whatever stands where."""
    tasks = []
    kinds = [item.kind for item in scene.items]
    for i, kind in enumerate(kinds):
        if kind == "drawer":
            tasks += [Task(family="drawer", relation=r, target=i) for r in ("open", "close")]
        if kind not in MOVABLE:
            continue
        tasks.append(Task(family="pick", relation="lift", target=i))
        for j, other in enumerate(kinds):
            if other in CONTAINERS:
                tasks.append(Task(family="put_in", relation="in", target=i, reference=j))
            if other == "plate":
                tasks.append(Task(family="put_by", relation="on", target=i, reference=j))
            if other == "zone":
                tasks.append(Task(family="push", relation="push", target=i, reference=j))
            if other in MOVABLE and i != j:
                tasks += [
                    Task(family="put_by", relation=r, target=i, reference=j) for r in ("next_to", "left_of", "right_of")
                ]
                if other == "cube":
                    tasks.append(Task(family="stack", relation="stack", target=i, reference=j))
    return tasks


def feasible_tasks(scene: Scene, positions: Mapping[int, Array], opening: float, held: int | None = None) -> list[Task]:
    """Returns the tasks that can be done from here and are not done yet.

    Args:
        scene: the scene.
        positions: (3,) centre of each item now [m].
        opening: of the drawer now [m].
        held: the item between the fingers.
    """
    return [
        task
        for task in all_tasks(scene)
        if _feasible(scene, task, positions, opening, held) and not is_done(scene, task, positions, opening, held)
    ]


def _feasible(scene: Scene, task: Task, positions: Mapping[int, Array], opening: float, held: int | None) -> bool:
    (x_low, x_high), (y_low, y_high) = AREA
    here = positions[task.target]
    others = [i for i, item in enumerate(scene.items) if i != task.target and item.kind not in ("zone", "drawer")]
    if task.relation == "open":
        return opening < 0.02
    if task.relation == "close":
        return opening > DRAWER_TRAVEL - 0.02
    resting = here[2] < scene.items[task.target].height / 2 + 0.01
    free_standing = all(np.hypot(*(positions[i] - here)[:2]) > 0.075 for i in others)
    inside = x_low - 0.04 <= here[0] <= x_high + 0.08 and y_low - 0.06 <= here[1] <= y_high + 0.06
    carried = held == task.target and task.relation not in ("lift", "push")
    if not carried and not (resting and free_standing and inside):
        return False
    if task.relation in ("next_to", "left_of", "right_of"):
        goal = destination(scene, task, positions)
        clear = all(np.hypot(*(positions[i] - goal)[:2]) > 0.085 for i in others)
        on_table = x_low <= goal[0] <= x_high + 0.04 and y_low - 0.04 <= goal[1] <= y_high + 0.04
        return bool(clear and on_table and np.hypot(*(here - goal)[:2]) > 0.06)
    if task.relation == "push":
        return _push_is_free(here, positions[task.reference or 0], [positions[i] for i in others])
    if task.reference is not None:
        there = positions[task.reference]
        empty = all(np.hypot(*(positions[i] - there)[:2]) > 0.07 for i in others if i != task.reference)
        return bool(empty and np.hypot(*(here - there)[:2]) > 0.07)
    return True


def _push_is_free(here: Array, zone: Array, others: list[Array]) -> bool:
    along = (zone - here)[:2]
    distance = float(np.hypot(*along))
    if distance < 0.1 or along[0] < 0.09 or abs(along[1]) > 0.62 * along[0]:
        return False
    along = along / distance
    for other in others:
        offset = (other - here)[:2]
        ahead, aside = float(offset @ along), float(abs(offset[0] * along[1] - offset[1] * along[0]))
        if -0.1 < ahead < distance + 0.06 and aside < 0.085:
            return False
    return True


def destination(scene: Scene, task: Task, positions: Mapping[int, Array]) -> Array:
    """Returns where the target's centre should end (3,) [m]; for lifting and drawers, where it is."""
    if task.reference is None:
        return np.array(positions[task.target], dtype=np.float64)
    there = np.array(positions[task.reference], dtype=np.float64)
    target, reference = scene.items[task.target], scene.items[task.reference]
    if task.relation in ("next_to", "left_of", "right_of"):
        toward_middle = -1.0 if there[1] > 0 else 1.0
        side = {"left_of": 1.0, "right_of": -1.0, "next_to": toward_middle}[task.relation]
        return np.array([there[0], there[1] + side * BESIDE, target.height / 2])
    floor = {"stack": there[2] + reference.height / 2, "on": reference.height, "in": 0.006}.get(task.relation, 0.0)
    return np.array([there[0], there[1], floor + target.height / 2])


def is_done(
    scene: Scene, task: Task, positions: Mapping[int, Array], opening: float, held: int | None, lifted: float = 0.0
) -> bool:
    """Returns whether the task is done in this state. Exact geometry, no learned judge.

    Args:
        scene: the scene.
        task: the task.
        positions: (3,) centre of each item now [m].
        opening: of the drawer now [m].
        held: the item between the fingers, if any.
        lifted: the largest height of the target's bottom so far [m]; a push must stay on the table.
    """
    if task.relation == "open":
        return opening > 0.085
    if task.relation == "close":
        return opening < 0.015
    item, here = scene.items[task.target], positions[task.target]
    if task.relation == "lift":
        return held == task.target and float(here[2]) - item.height / 2 > 0.08
    if held == task.target:
        return False
    goal = destination(scene, task, positions)
    aside = np.abs((here - goal)[:2])
    distance, above = float(np.hypot(*aside)), float(here[2] - goal[2])
    if task.relation == "in":
        return distance < 0.05 and above < 0.03
    if task.relation == "on":
        return distance < 0.06 and abs(above) < 0.012
    if task.relation == "push":
        return bool(aside.max() < 0.06) and lifted < 0.03
    if task.relation == "stack":
        return distance < 0.025 and abs(above) < 0.01
    there = positions[task.reference if task.reference is not None else task.target]
    dx, dy = float(abs(here[0] - there[0])), float(here[1] - there[1])
    on_table = abs(above) < 0.015
    side = {"left_of": dy, "right_of": -dy, "next_to": float(np.hypot(dx, dy))}[task.relation]
    return on_table and 0.055 < side < 0.15 and (dx < 0.05 or task.relation == "next_to")
