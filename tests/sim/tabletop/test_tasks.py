"""Success checks: hand-placed items are right on one side of each bound and wrong on the other."""

from dataclasses import replace

import numpy as np
import pytest

from tendon.core.types import Array
from tendon.sim.tabletop.items import make_item
from tendon.sim.tabletop.phrases import PHRASES
from tendon.sim.tabletop.scene import Scene, sample_scene
from tendon.sim.tabletop.tasks import Task, destination, is_done

RNG = np.random.default_rng(0)
FAMILY = {"lift": "pick", "in": "put_in", "on": "put_by", "push": "push", "stack": "stack"}
REFERENCE = {"in": "bowl", "on": "plate", "push": "zone"}
HALF_DIAGONAL = np.array([1.0, 1.0, 0.0]) / np.sqrt(2)
X, Y, Z = np.eye(3)

# Where the target's centre is from its ideal place [m] (beside: from its neighbour's centre), and whether it is done.
PLACED = [
    ("in", 0.049 * HALF_DIAGONAL, True),
    ("in", 0.051 * HALF_DIAGONAL, False),
    ("in", 0.029 * Z, True),
    ("in", 0.031 * Z, False),
    ("on", 0.059 * HALF_DIAGONAL, True),
    ("on", 0.061 * HALF_DIAGONAL, False),
    ("on", 0.011 * Z, True),
    ("on", 0.013 * Z, False),
    ("on", -0.011 * Z, True),
    ("on", -0.013 * Z, False),
    ("push", 0.059 * X, True),
    ("push", -0.061 * X, False),
    ("push", -0.059 * Y, True),
    ("push", 0.061 * Y, False),
    ("push", 0.059 * (X + Y), True),
    ("stack", 0.024 * HALF_DIAGONAL, True),
    ("stack", 0.026 * HALF_DIAGONAL, False),
    ("stack", 0.009 * Z, True),
    ("stack", 0.011 * Z, False),
    ("stack", -0.011 * Z, False),
    ("left_of", 0.056 * Y, True),
    ("left_of", 0.054 * Y, False),
    ("left_of", 0.149 * Y, True),
    ("left_of", 0.151 * Y, False),
    ("left_of", -0.1 * Y, False),
    ("left_of", 0.1 * Y + 0.049 * X, True),
    ("left_of", 0.1 * Y - 0.051 * X, False),
    ("left_of", 0.1 * Y + 0.014 * Z, True),
    ("left_of", 0.1 * Y + 0.016 * Z, False),
    ("right_of", -0.056 * Y, True),
    ("right_of", -0.054 * Y, False),
    ("right_of", -0.149 * Y, True),
    ("right_of", -0.151 * Y, False),
    ("right_of", 0.1 * Y, False),
    ("right_of", -0.1 * Y + 0.049 * X, True),
    ("right_of", -0.1 * Y - 0.051 * X, False),
    ("next_to", 0.056 * HALF_DIAGONAL, True),
    ("next_to", 0.054 * HALF_DIAGONAL, False),
    ("next_to", -0.149 * X, True),
    ("next_to", -0.151 * X, False),
    ("next_to", 0.1 * X + 0.016 * Z, False),
]
BESIDE = ("left_of", "right_of", "next_to")


def two_items(relation: str) -> tuple[Scene, dict[int, Array]]:
    """A cube and what it is to be brought to, 20 cm apart, and where they are."""
    items = (
        make_item(RNG, "cube", "red", (0.40, 0.1)),
        make_item(RNG, REFERENCE.get(relation, "cube"), "blue", (0.55, -0.03)),
    )
    task = Task(family=FAMILY.get(relation, "put_by"), relation=relation, target=0, reference=1)
    scene = replace(sample_scene(0), items=items, task=task)
    return scene, {i: np.array(item.position) for i, item in enumerate(items)}


@pytest.mark.parametrize(("relation", "offset", "done"), PLACED, ids=lambda value: str(value))
def test_a_placed_item_is_done_up_to_each_bound(relation: str, offset: Array, done: bool) -> None:
    scene, positions = two_items(relation)
    assert not is_done(scene.items, scene.task, positions, 0.0, None)
    ideal = destination(scene.items, scene.task, positions)
    if relation in BESIDE:
        ideal[:2] = positions[1][:2]
    placed = {**positions, 0: ideal + offset}
    assert is_done(scene.items, scene.task, placed, 0.0, None) is done
    assert not is_done(scene.items, scene.task, placed, 0.0, 0), "it is still between the fingers"


def test_a_lift_needs_the_target_itself_held_8_cm_up() -> None:
    scene, positions = two_items("stack")
    lift = Task(family="pick", relation="lift", target=0)
    bottom = scene.items[0].height / 2 * Z + 0.4 * X
    for height, held, done in [(0.081, 0, True), (0.079, 0, False), (0.1, 1, False), (0.1, None, False)]:
        assert is_done(scene.items, lift, {**positions, 0: bottom + height * Z}, 0.0, held) is done


def test_a_push_may_not_lift_the_target_3_cm() -> None:
    scene, positions = two_items("push")
    placed = {**positions, 0: destination(scene.items, scene.task, positions)}
    assert is_done(scene.items, scene.task, placed, 0.0, None, lifted=0.029)
    assert not is_done(scene.items, scene.task, placed, 0.0, None, lifted=0.031)


@pytest.mark.parametrize(
    ("relation", "opening", "done"),
    [("open", 0.086, True), ("open", 0.084, False), ("close", 0.014, True), ("close", 0.016, False)],
)
def test_a_drawer_counts_as_open_or_closed_up_to_each_bound(relation: str, opening: float, done: bool) -> None:
    scene = sample_scene(5)
    drawer = next(i for i, item in enumerate(scene.items) if item.kind == "drawer")
    positions = {i: np.array(item.position) for i, item in enumerate(scene.items)}
    task = Task(family="drawer", relation=relation, target=drawer)
    assert is_done(scene.items, task, positions, opening, None) is done


def test_every_relation_is_tried() -> None:
    assert {relation for relation, _, _ in PLACED} | {"lift", "open", "close"} == set(PHRASES)
