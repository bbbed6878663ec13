"""Scenes: every seed gives a valid one, always the same, whose instruction says what its task is."""

from collections import Counter
from itertools import combinations

import cv2
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendon.sim.tabletop.items import COLOURS, MOVABLE, Item
from tendon.sim.tabletop.layout import FAMILIES
from tendon.sim.tabletop.phrases import PHRASES, parse_instruction, phrase
from tendon.sim.tabletop.scene import FOOTPRINT, Scene, sample_scene
from tendon.sim.tabletop.tasks import all_tasks, feasible_tasks, is_done
from tests.laws import law_settings

SEEDS = st.integers(0, 299_999)
SCENES = SEEDS.map(sample_scene)


def outline(item: Item) -> npt.NDArray[np.float32]:
    """Corners (k, 2) of what an item covers of the table [m]; of a round one, of the 24-gon around it."""
    square = item.kind in ("cube", "bin")
    count = 4 if square else 24
    radius = item.size / 2 / np.cos(np.pi / count)
    angles = item.yaw + (np.arange(count) + 0.5) * 2 * np.pi / count
    return (np.array(item.position[:2]) + radius * np.stack([np.cos(angles), np.sin(angles)], 1)).astype(np.float32)


@given(SCENES)
@law_settings()
def test_items_stand_apart_and_inside_the_area(scene: Scene) -> None:
    (x_low, x_high), (y_low, y_high) = scene.layout.area_x, scene.layout.area_y
    placed = [item for item in scene.items if item.kind in FOOTPRINT]
    for item in placed:
        x, y, z = item.position
        assert x_low <= x <= x_high and y_low <= y <= y_high and z == item.height / 2
    for one, other in combinations(placed, 2):
        assert cv2.intersectConvexConvex(outline(one), outline(other))[0] == 0.0, (one.name, other.name)


@given(SCENES)
@law_settings()
def test_names_are_unique_and_colours_look_like_their_names(scene: Scene) -> None:
    assert not [name for name, count in Counter(item.name for item in scene.items).items() if count > 1]
    for item in scene.items:
        if item.kind != "drawer":
            distance = {name: np.abs(np.subtract(item.rgb, rgb)).sum() for name, rgb in COLOURS.items()}
            assert min(distance, key=distance.__getitem__) == item.colour


@given(SCENES)
@law_settings()
def test_the_instruction_is_parsed_back_to_the_task(scene: Scene) -> None:
    assert parse_instruction(scene.items, scene.instruction) == scene.task
    assert parse_instruction(scene.items, f"  {scene.instruction.capitalize()}. ") == scene.task


@given(SCENES)
@law_settings()
def test_every_phrasing_of_every_task_of_a_scene_means_that_task_alone(scene: Scene) -> None:
    rng = np.random.default_rng(0)
    tasks = all_tasks(scene.items)
    texts = [phrase(scene.items, task, rng) for task in tasks]
    assert [parse_instruction(scene.items, text) for text in texts] == tasks


@given(SCENES)
@law_settings()
def test_the_task_can_be_done_and_is_not_done_yet(scene: Scene) -> None:
    positions = {i: np.array(item.position) for i, item in enumerate(scene.items)}
    opening = max(item.opening for item in scene.items)
    assert scene.task in feasible_tasks(scene.items, scene.layout, positions, opening)
    assert not is_done(scene.items, scene.task, positions, opening, None)


@given(SEEDS)
def test_the_seed_decides_the_family(seed: int) -> None:
    assert sample_scene(seed).task.family == FAMILIES[seed % 6]


@given(SEEDS, st.sampled_from(FAMILIES))
def test_the_same_seed_is_the_same_scene(seed: int, family: str) -> None:
    scene = sample_scene(seed, family)
    assert scene == sample_scene(seed, family)
    assert scene.task.family == family


def test_scenes_differ_and_use_every_relation_colour_and_kind() -> None:
    scenes = [sample_scene(seed) for seed in range(100_000, 100_600)]
    assert len({scene.items for scene in scenes}) == len(scenes)
    assert {scene.task.relation for scene in scenes} == set(PHRASES)
    seen = {(item.kind, item.colour) for scene in scenes for item in scene.items if item.kind in MOVABLE}
    assert seen == {(kind, colour) for kind in MOVABLE for colour in COLOURS}


def test_there_are_four_phrasings_a_relation_and_none_means_two() -> None:
    assert all(len(forms) >= 4 for forms in PHRASES.values())
    assert len({form for forms in PHRASES.values() for form in forms}) == sum(map(len, PHRASES.values()))


@pytest.mark.parametrize("seed", [-(2**63), -1, 300_000, 2**63 - 1])
def test_any_integer_of_64_bits_is_a_scene(seed: int) -> None:
    assert sample_scene(seed) == sample_scene(seed) and sample_scene(seed) != sample_scene(seed ^ 6)


@pytest.mark.parametrize("seed", [-(2**63) - 1, 2**63])
def test_a_larger_seed_is_an_error(seed: int) -> None:
    with pytest.raises(ValueError, match=f"seed is {seed}: it must be an integer of 64 bits"):
        sample_scene(seed)


def test_an_unknown_family_is_an_error_that_lists_the_known() -> None:
    with pytest.raises(ValueError, match="unknown task family juggle; known: pick, put_in"):
        sample_scene(0, "juggle")


def test_words_that_ask_for_nothing_in_the_scene_parse_to_nothing() -> None:
    assert parse_instruction(sample_scene(0).items, "put the pink elephant in the red bowl") is None
