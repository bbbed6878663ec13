"""What the demo asks for, and what counts as being on the way."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tendon.core.errors import ConfigError
from tendon.demo.story import FAMILY, FIRST_WISH, Approach, measure_approach, tell_story
from tendon.sim.tabletop.phrases import parse_instruction
from tendon.sim.tabletop.scene import Scene, sample_scene


def _stories(count: int = 40) -> list:
    found = []
    for seed in range(100_000, 100_000 + count):
        scene = sample_scene(seed, FAMILY)
        try:
            found.append((scene, tell_story(scene)))
        except ConfigError:
            continue
    return found


def test_every_sentence_means_its_task_and_the_objects_are_three_different_ones() -> None:
    stories = _stories()
    assert len(stories) >= 5
    for scene, (first, away, last) in stories:
        for step in (first, away, last):
            assert parse_instruction(scene.items, step.instruction) == step.task
        assert len({first.task.target, away.task.target, last.task.target}) == 3
        assert first.task.reference != last.task.reference
        assert [step.interrupted for step in (first, away, last)] == [False, True, False]


def test_the_default_scene_begins_with_the_sentence_everybody_knows(story: tuple) -> None:
    assert story[0].instruction == FIRST_WISH


def test_a_scene_with_too_few_objects_is_refused(scene: Scene) -> None:
    with pytest.raises(ConfigError, match="take another seed"):
        tell_story(replace(scene, items=scene.items[2:]))


def test_only_motion_toward_the_object_and_not_toward_the_next_one_is_on_the_way() -> None:
    item, other = np.array([0.5, 0.2, 0.02]), np.array([0.5, -0.2, 0.02])
    start, later = np.array([0.5, 0.0, 0.2]), np.array([0.5, 0.1, 0.2])
    toward = np.array([0.0, 0.3, -0.1])
    begin = measure_approach(start, toward, item, other, None)
    assert begin.begin_m == begin.distance_m == pytest.approx(0.2)
    assert not begin.on_the_way, "it has not come any closer yet"
    seen = measure_approach(later, toward, item, other, begin.begin_m)
    assert seen == Approach(begin_m=begin.begin_m, distance_m=0.1, speed_m_s=0.3, other_speed_m_s=-0.3)
    assert seen.on_the_way
    assert not measure_approach(later, -toward, item, other, begin.begin_m).on_the_way, "it moves away"
    assert not measure_approach(later, 0.1 * toward, item, other, begin.begin_m).on_the_way, "it hardly moves"
    beyond = np.array([0.5, 0.4, 0.02])
    assert not measure_approach(later, toward, item, beyond, begin.begin_m).on_the_way, "both lie that way"
