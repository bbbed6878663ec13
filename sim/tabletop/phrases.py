"""How people ask for a task, and what their words mean in a scene."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tendon.sim.tabletop.items import Item
from tendon.sim.tabletop.tasks import Task, all_tasks

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


OTHER_PHRASES: dict[str, tuple[str, ...]] = {
    "lift": ("move the {x} up", "take the {x} up off the table"),
    "in": ("lay the {x} into the {y}", "set the {x} in the {y}"),
    "on": ("drop the {x} onto the {y}", "move the {x} on top of the {y}"),
    "next_to": ("set the {x} beside the {y}", "lay the {x} near the {y}"),
    "left_of": ("lay the {x} on the left of the {y}", "drop the {x} to the left side of the {y}"),
    "right_of": ("lay the {x} on the right of the {y}", "drop the {x} to the right side of the {y}"),
    "push": ("slide the {x} on the table to the {y}", "shove the {x} into the {y}"),
    "stack": ("set the {x} on the top of the {y}", "pile the {x} up on the {y}"),
    "open": ("move the drawer out", "open up the drawer"),
    "close": ("slide the drawer shut", "push the drawer closed"),
}
"""Ways to ask that no training scene has, in words that training scenes have."""


def rephrase(items: Sequence[Item], task: Task, rng: np.random.Generator) -> str:
    """Returns one of the ways to ask for a task that nobody trained on."""
    return _filled(OTHER_PHRASES, items, task, rng)


def phrase(items: Sequence[Item], task: Task, rng: np.random.Generator) -> str:
    """Returns one of the ways to ask for a task."""
    return _filled(PHRASES, items, task, rng)


def _filled(forms: Mapping[str, Sequence[str]], items: Sequence[Item], task: Task, rng: np.random.Generator) -> str:
    form = str(rng.choice(forms[task.relation]))
    reference = "" if task.reference is None else items[task.reference].name
    return form.format(x=items[task.target].name, y=reference)


def parse_instruction(items: Sequence[Item], instruction: str) -> Task | None:
    """Returns the task an instruction asks for in a scene, or `None` when it asks for none there."""
    text = " ".join(instruction.lower().strip(" .!").split())
    for task in all_tasks(items):
        reference = "" if task.reference is None else items[task.reference].name
        if text in {form.format(x=items[task.target].name, y=reference) for form in PHRASES[task.relation]}:
            return task
    return None
