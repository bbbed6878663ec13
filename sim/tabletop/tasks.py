"""The language tasks: which make sense among some items, and when one is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from tendon.core.types import Array
from tendon.sim.suite import LIMIT_S
from tendon.sim.tabletop.items import COLOURS, CONTAINERS, DRAWER_TRAVEL, MOVABLE, Item
from tendon.sim.tabletop.layout import Layout

LIFTED_M = 0.08
"""How high something has been picked up [m]."""
NEARLY = 0.8
"""Of the way to its goal: what was put down there counts as having been held."""
BESIDE = 0.095
"""From centre to centre, where something is put next to something [m]."""


class Table(Protocol):
    """What a check of success looks at: the world."""

    @property
    def items(self) -> Sequence[Item]:
        """What stands there."""

    def item_positions(self) -> Mapping[int, Array]:
        """Returns the centre of every item (3,) [m]."""

    def opening(self) -> float:
        """Returns how far the drawer is open [m]."""

    def held(self) -> int | None:
        """Returns the item between the fingers, if any."""

    def highest(self, index: int) -> float:
        """Returns how high an item's bottom has been, at most, of the times this was asked [m]."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """What is asked: do `relation` with item `target`, to item `reference` where there is one."""

    family: str
    relation: str
    target: int
    reference: int | None = None
    limit_s: ClassVar[float] = LIMIT_S

    def progress(self, world: Table) -> float:
        """Returns how much of it is done, 0 to 1: half for holding the target, half for the way to its goal."""
        if self.success(world):
            return 1.0
        positions = world.item_positions()
        if self.family == "drawer":
            share = world.opening() / DRAWER_TRAVEL
            return min(0.99, max(0.0, share if self.relation == "open" else 1.0 - share))
        item, here = world.items[self.target], positions[self.target]
        if self.relation == "lift":
            gone = (float(here[2]) - item.height / 2) / LIFTED_M
        else:
            goal = destination(world.items, self, positions)
            whole = float(np.linalg.norm(goal - item.position))
            gone = 1.0 - float(np.linalg.norm(goal - here)) / whole if whole else 1.0
        gone = min(1.0, max(0.0, gone))
        if self.relation == "push":
            return min(0.99, gone)
        return min(0.99, 0.5 * (world.held() == self.target or gone > NEARLY) + 0.5 * gone)

    def success(self, world: Table) -> bool:
        """Returns whether it is done now. Call it at the policy's rate: it also watches pushes."""
        lifted = world.highest(self.target)
        return is_done(world.items, self, world.item_positions(), world.opening(), world.held(), lifted)


def all_tasks(items: Sequence[Item]) -> list[Task]:
    """Returns every task the items of a scene allow, whatever stands where; none is of a thing that has no name."""
    tasks = []
    kinds = [item.kind if item.kind == "drawer" or item.colour in COLOURS else "" for item in items]
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


def feasible_tasks(
    items: Sequence[Item], layout: Layout, positions: Mapping[int, Array], opening: float, held: int | None = None
) -> list[Task]:
    """Returns the tasks that can be done from here and are not done yet.

    Args:
        items: of the scene.
        layout: of the scene.
        positions: (3,) centre of each item now [m].
        opening: of the drawer now [m].
        held: the item between the fingers.
    """
    return [
        task
        for task in all_tasks(items)
        if _feasible(items, layout, task, positions, opening, held)
        and not is_done(items, task, positions, opening, held)
    ]


def _feasible(
    items: Sequence[Item],
    layout: Layout,
    task: Task,
    positions: Mapping[int, Array],
    opening: float,
    held: int | None,
) -> bool:
    (x_low, x_high), (y_low, y_high) = layout.area_x, layout.area_y
    here = positions[task.target]
    others = [i for i, item in enumerate(items) if i != task.target and item.kind not in ("zone", "drawer")]
    if task.relation == "open":
        return opening < 0.02
    if task.relation == "close":
        return opening > DRAWER_TRAVEL - 0.02
    resting = here[2] < items[task.target].height / 2 + 0.01
    free_standing = all(np.hypot(*(positions[i] - here)[:2]) > 0.075 for i in others)
    inside = x_low - 0.04 <= here[0] <= x_high + 0.08 and y_low - 0.06 <= here[1] <= y_high + 0.06
    carried = held == task.target and task.relation not in ("lift", "push")
    if not carried and not (resting and free_standing and inside):
        return False
    if task.relation in ("next_to", "left_of", "right_of"):
        goal = destination(items, task, positions)
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


def destination(items: Sequence[Item], task: Task, positions: Mapping[int, Array]) -> Array:
    """Returns where the target's centre should end (3,) [m]; for lifting and drawers, where it is."""
    if task.reference is None:
        return np.array(positions[task.target], dtype=np.float64)
    there = np.array(positions[task.reference], dtype=np.float64)
    target, reference = items[task.target], items[task.reference]
    if task.relation in ("next_to", "left_of", "right_of"):
        toward_middle = -1.0 if there[1] > 0 else 1.0
        side = {"left_of": 1.0, "right_of": -1.0, "next_to": toward_middle}[task.relation]
        return np.array([there[0], there[1] + side * BESIDE, target.height / 2])
    floor = {"stack": there[2] + reference.height / 2, "on": reference.height, "in": 0.006}.get(task.relation, 0.0)
    return np.array([there[0], there[1], floor + target.height / 2])


def is_done(
    items: Sequence[Item],
    task: Task,
    positions: Mapping[int, Array],
    opening: float,
    held: int | None,
    lifted: float = 0.0,
) -> bool:
    """Returns whether the task is done in this state. Exact geometry, no learned judge.

    Args:
        items: of the scene.
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
    item, here = items[task.target], positions[task.target]
    if task.relation == "lift":
        return held == task.target and float(here[2]) - item.height / 2 > LIFTED_M
    if held == task.target:
        return False
    goal = destination(items, task, positions)
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
