"""The axes of an evaluation: each changes what it names and nothing else, the more the stronger, the same each time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendon.core.errors import ConfigError
from tendon.policies.bundle.bundle import load_bundle
from tendon.policies.bundle.places import find_bundle
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import load_profile
from tendon.sim.tabletop.perturbations import PERTURBATIONS
from tendon.sim.tabletop.phrases import PHRASES, parse_instruction
from tendon.sim.tabletop.scene import sample_scene
from tendon.sim.tabletop.suite import TABLETOP
from tendon.sim.tabletop.tasks import all_tasks
from tests import ROOT
from tests.laws import law_settings

PANDA = load_profile("panda")
NAMES = [each.name.replace(" ", "_") for each in PERTURBATIONS]
SCENE_OF_DRAWER = 200_003
SEEDS, STRENGTHS = st.integers(100_000, 299_999), st.floats(0, 3)


@law_settings(max_examples=60)
@given(st.sampled_from(NAMES), SEEDS, STRENGTHS)
def test_an_axis_changes_a_scene_alike_each_time_and_leaves_its_task(name: str, seed: int, strength: float) -> None:
    scene, axis = sample_scene(seed), TABLETOP.harder({name: strength})
    changed = axis.change(scene, np.random.default_rng(seed))
    assert changed == axis.change(scene, np.random.default_rng(seed))
    assert changed.task == scene.task and changed.seed == seed and changed.tool_start == scene.tool_start
    assert TABLETOP.harder({name: 0.0}).change(scene, np.random.default_rng(seed)) == scene


@law_settings(max_examples=40)
@given(SEEDS, st.floats(0.01, 3))
def test_other_words_are_new_as_a_whole_and_known_one_by_one(seed: int, strength: float) -> None:
    scene = sample_scene(seed)
    words = TABLETOP.harder({"phrasing": strength}).change(scene, np.random.default_rng(seed)).instruction
    assert words != scene.instruction and parse_instruction(scene.items, words) is None
    known = {word for forms in PHRASES.values() for form in forms for word in form.split()}
    assert set(words.split()) - set(scene.instruction.split()) <= known | {"top", "up", "out", "closed"}


def test_the_policy_in_this_repository_knows_every_word_of_them() -> None:
    from tendon.policies.inference.policy import BundlePolicy

    policy = BundlePolicy(load_bundle(find_bundle("tabletop")), PANDA, threads=1)
    for seed in range(200_000, 200_060):
        for strength in (0.5, 1.0, 2.0):
            axis = TABLETOP.harder({"phrasing": strength})
            policy.check_instruction(axis.change(sample_scene(seed), np.random.default_rng(seed)).instruction)


@law_settings(max_examples=30)
@given(st.integers(0, 2**31), st.floats(0.05, 1.5))
def test_a_bent_tool_is_so_far_beside_at_home_and_not_turned(seed: int, strength: float) -> None:
    zero = TABLETOP.harder({"tool_offset": strength}).joint_zero(PANDA, np.random.default_rng(seed))
    said = PANDA.vector("home").copy()
    said[PANDA.group_indices("arm")] += zero
    kinematics = Kinematics(PANDA)
    (place, turn), (there, turned) = kinematics.tool_pose(PANDA.vector("home")), kinematics.tool_pose(said)
    assert np.linalg.norm(there - place) == pytest.approx(0.01 * strength, rel=0.1)
    assert np.arccos(np.clip((np.trace(turn.T @ turned) - 1) / 2, -1, 1)) < 0.01


def test_tiles_are_seen_and_paler_ones_less() -> None:
    world = TABLETOP.world(PANDA)
    scene = sample_scene(100_003)
    plain, seen = replace(scene, look=replace(scene.look, texture=0)), []
    for tiled in (0.0, 0.3, 1.0):
        world.reset(replace(plain, look=replace(plain.look, tiled=tiled)))
        seen.append(float(np.std(world.render("scene").astype(float))))
    world.close()
    assert seen[0] < seen[1] < seen[2]


def test_every_axis_is_on_the_page_that_says_what_it_is() -> None:
    page = (ROOT / "docs" / "how-to" / "evaluate.md").read_text(encoding="utf-8")
    section = page[page.index("## Axes") : page.index("## Suites of files")]
    assert not [name for name in NAMES if f"`{name}`" not in section]


def test_axes_add_up_to_one_delay_and_a_strength_has_bounds() -> None:
    assert TABLETOP.harder({"delay": 2.0, "blur": 1.0}).delay_ns == 200_000_000
    assert TABLETOP.harder({"blur": 1.0}).delay_ns == 0
    for strength in (-0.1, 3.1, float("nan"), float("inf")):
        with pytest.raises(ConfigError, match="strength"):
            TABLETOP.harder({"delay": strength})


def test_what_is_strewn_about_stands_clear_of_a_drawer() -> None:
    """One in ten scenes of drawers could not be played: a nameless thing stood in the drawer."""
    strewn, at = TABLETOP.harder({"distractors": 1.0}), SCENE_OF_DRAWER
    for seed in range(at, at + 240, 6):
        scene = sample_scene(seed)
        assert scene.task.family == "drawer"
        changed = strewn.change(scene, np.random.default_rng(seed))
        added = changed.items[len(scene.items) :]
        assert added and all(item.position[0] <= scene.layout.before_drawer_x[1] for item in added)


def test_no_task_is_of_a_thing_that_has_no_name() -> None:
    """A second task was to "put the nameless cube in the blue bowl", which no policy knows."""
    strewn = TABLETOP.harder({"distractors": 1.0})
    for seed in range(100_000, 100_030):
        scene = sample_scene(seed)
        assert all_tasks(strewn.change(scene, np.random.default_rng(seed)).items) == all_tasks(scene.items)
