"""How a detector is measured, and the perturbations it is measured under."""

import numpy as np
import pytest

from tendon.core.types import Image, Observation
from tendon.evaluation.detection.scores import area_interval, roc
from tendon.sim.perturbation import BadImage, SwappedCameras
from tendon.sim.tabletop.perturbations import PERTURBATIONS, Trigger
from tendon.sim.tabletop.scene import sample_scene


def test_the_area_under_the_curve_is_the_chance_that_a_failure_scores_higher() -> None:
    false_alarms, detected, area = roc([3.0, 2.0], [1.0, 2.0])
    assert area == pytest.approx((1 + 1 + 1 + 0.5) / 4)
    assert (false_alarms[0], detected[0], false_alarms[-1], detected[-1]) == (0.0, 0.0, 1.0, 1.0)
    assert (np.diff(false_alarms) >= 0).all() and (np.diff(detected) >= 0).all()
    assert np.trapezoid(detected, false_alarms) == pytest.approx(area)


def test_the_interval_of_the_area_holds_it_and_shrinks_with_more_episodes() -> None:
    rng = np.random.default_rng(0)
    widths = []
    for count in (20, 200):
        bad, good = rng.normal(1, 1, count), rng.normal(0, 1, count)
        low, high = area_interval(bad, good)
        assert low <= roc(bad, good)[2] <= high
        widths.append(high - low)
    assert widths[1] < widths[0]


@pytest.mark.parametrize("perturbation", PERTURBATIONS, ids=lambda p: p.name)
def test_a_perturbation_changes_scene_or_picture_alike_for_one_seed_and_leaves_the_task(perturbation) -> None:  # noqa: ANN001
    scene = sample_scene(100_002)
    first, again = (perturbation.change(scene, np.random.default_rng(1)) for _ in range(2))
    assert first == again
    assert (first.task, first.instruction, first.items[0].kind) == (scene.task, scene.instruction, scene.items[0].kind)
    rng = np.random.default_rng(2)
    images = {
        name: Image(stamp_ns=0, pixels=rng.integers(0, 256, (size, size, 3), dtype=np.uint8))
        for name, size in (("scene", 128), ("wrist", 96))
    }
    seen = Observation(stamp_ns=0, joint_position=np.zeros(8), joint_velocity=np.zeros(8), images=images)
    changed = perturbation.observe(seen, np.random.default_rng(3))
    assert {name: image.pixels.shape for name, image in changed.images.items()} == {
        "scene": (128, 128, 3),
        "wrist": (96, 96, 3),
    }
    same = all((changed.images[name].pixels == images[name].pixels).all() for name in images)
    assert same is not isinstance(perturbation, BadImage | SwappedCameras)


def test_the_trigger_is_one_more_thing_that_touches_nothing() -> None:
    for seed in range(100_000, 100_030):
        scene = sample_scene(seed)
        *others, cube = Trigger().change(scene, np.random.default_rng(seed)).items
        assert tuple(others) == scene.items
        near = min(
            np.hypot(*np.subtract(cube.position, i.position)[:2]) - i.size / 2 for i in others if i.kind != "drawer"
        )
        assert near > 0.04
