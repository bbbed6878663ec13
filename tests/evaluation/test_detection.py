"""How a detector is measured, and the perturbations it is measured under."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tendon.core.errors import ConfigError
from tendon.core.types import Image, Observation
from tendon.evaluation.detection.scores import COMBINED, area_interval, judge, roc
from tendon.evaluation.detection.tracing import TraceJob, trace_episode
from tendon.evaluation.detection.usual import usual_jobs
from tendon.evaluation.episode import Switch
from tendon.policies.bundle.bundle import load_bundle
from tendon.policies.bundle.places import find_bundle
from tendon.policies.detector.file import load_detector
from tendon.robots.profile import load_profile
from tendon.sim.perturbation import NOMINAL, BadImage, SwappedCameras, together
from tendon.sim.tabletop.perturbations import PERTURBATIONS, OtherWords, Trigger
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


def test_what_is_drawn_for_a_usual_episode_is_its_scenes_and_a_third_each_have_one_task_or_another() -> None:
    jobs = usual_jobs(Path("some"), "panda", range(100_000, 100_300))
    assert usual_jobs(Path("some"), "panda", range(100_100, 100_150)) == jobs[100:150]
    alone = [job for job in jobs if job.switch is None]
    after = [job for job in jobs if job.switch == Switch()]
    assert min(len(alone), len(after), len(jobs) - len(alone) - len(after)) > 75
    assert {job.delay_ns for job in jobs} == {0, 50_000_000, 100_000_000}


def test_what_a_detector_sees_of_a_second_task_and_how_long_both_took() -> None:
    job = TraceJob(bundle=find_bundle("tabletop"), robot="panda", seed=100_002, switch=Switch(at_ns=1_000_000_000))
    traced = trace_episode(job)
    first, *_, last = traced.trace.instructions
    assert first == sample_scene(100_002).instruction != last == traced.episode.instruction
    assert len(traced.trace.instructions) == len(traced.observed_ns) == len(traced.trace.targets)
    assert traced.asked_ns == pytest.approx(1e9, abs=3e7)
    calibration = load_detector(load_bundle(job.bundle))
    assert calibration is not None
    judged = judge(traced, calibration)
    assert len(judged.asked_s) == traced.trace.instructions.count(last) == len(judged.scores[COMBINED])
    assert 0 <= judged.asked_s[0] < 0.45 and judged.asked_s[-1] < traced.episode.duration_s


def test_the_first_chunk_leads_and_the_second_continues_it() -> None:
    """One that the robot is asked for while it settles after arming would lead nowhere, and be asked for again."""
    job = TraceJob(bundle=find_bundle("tabletop"), robot="panda", seed=100_002, delay_ns=100_000_000)
    traced = trace_episode(job)
    settle_ns = 1e9 * load_profile("panda").safety.arm_settle_s
    assert settle_ns <= traced.observed_ns[0] <= settle_ns + 2e7
    assert list(traced.trace.given[:3]) == [0, 5, 5]
    due_ns = traced.trace.start_ns - traced.observed_ns - traced.trace.step_ns
    assert due_ns[0] >= job.delay_ns, "the robot waited for the first one"
    assert not due_ns[1:].any(), "the others go on where it is"


@pytest.mark.parametrize("perturbation", PERTURBATIONS, ids=lambda p: p.name)
def test_a_perturbation_changes_scene_or_picture_alike_for_one_seed_and_leaves_the_task(perturbation) -> None:  # noqa: ANN001
    scene = sample_scene(100_002)
    first, again = (perturbation.change(scene, np.random.default_rng(1)) for _ in range(2))
    assert first == again
    assert (first.task, first.items[0].kind) == (scene.task, scene.items[0].kind)
    assert (first.instruction == scene.instruction) is not isinstance(perturbation, OtherWords)
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


@pytest.mark.parametrize("perturbation", PERTURBATIONS, ids=lambda p: p.name)
def test_of_pictures_it_changes_what_there_is(perturbation) -> None:  # noqa: ANN001
    """The expert looks at none: it ended `tendon eval axes expert` by KeyError."""
    blind = Observation(stamp_ns=0, joint_position=np.zeros(8), joint_velocity=np.zeros(8), images={})
    assert perturbation.observe(blind, np.random.default_rng(0)).images == {}
    if getattr(perturbation, "cameras", ()):
        other = {"head": Image(stamp_ns=0, pixels=np.zeros((96, 96, 3), dtype=np.uint8))}
        with pytest.raises(ConfigError, match="pictures of camera 'scene'; there are head"):
            perturbation.observe(replace(blind, images=other), np.random.default_rng(0))


@pytest.mark.parametrize("perturbation", PERTURBATIONS, ids=lambda p: p.name)
def test_without_strength_it_changes_nothing_and_with_half_of_it_less(perturbation) -> None:  # noqa: ANN001
    scene = sample_scene(100_002)
    rng = np.random.default_rng(2)
    images = {
        name: Image(stamp_ns=0, pixels=rng.integers(0, 256, (size, size, 3), dtype=np.uint8))
        for name, size in (("scene", 128), ("wrist", 96))
    }
    seen = Observation(stamp_ns=0, joint_position=np.zeros(8), joint_velocity=np.zeros(8), images=images)
    nothing = replace(perturbation, strength=0.0)
    assert nothing.change(scene, np.random.default_rng(1)) == scene
    changed = nothing.observe(seen, np.random.default_rng(3))
    assert all((changed.images[name].pixels == images[name].pixels).all() for name in images)
    assert (changed.joint_position == 0).all()
    away = []
    for strength in (0.5, 1.0):
        some = replace(perturbation, strength=strength)
        scenes, pictures = some.change(scene, np.random.default_rng(1)), some.observe(seen, np.random.default_rng(3))
        away.append(
            [
                *(np.abs(np.subtract(a.rgb, b.rgb)).sum() for a, b in zip(scenes.items, scene.items, strict=False)),
                *(
                    np.linalg.norm(np.subtract(a.position, b.position))
                    for a, b in zip(scenes.items, scene.items, strict=False)
                ),
                len(scenes.items),
                np.linalg.norm(np.subtract(scenes.look.light_rgb, scene.look.light_rgb)),
                np.linalg.norm(np.subtract(scenes.look.camera_offset, scene.look.camera_offset)),
                np.linalg.norm(pictures.joint_position),
            ]
        )
    assert (np.array(away[0]) <= np.array(away[1]) + 1e-9).all()


def test_several_at_once_are_each_of_them_and_a_wrong_name_or_strength_is_said() -> None:
    both = together(PERTURBATIONS, {"dynamics": 1.0, "light_and_colour": 0.5})
    scene = sample_scene(100_002)
    changed = both.change(scene, np.random.default_rng(1))
    assert changed.items[0].mass > 2 * scene.items[0].mass and changed.look.ambient != scene.look.ambient
    assert together(PERTURBATIONS, {}) == NOMINAL
    with pytest.raises(ConfigError, match="perturbation is 'dynamic'; did you mean dynamics"):
        together(PERTURBATIONS, {"dynamic": 1.0})
    with pytest.raises(ConfigError, match="strength is -1"):
        together(PERTURBATIONS, {"blur": -1.0})


def test_the_trigger_is_one_more_thing_that_touches_nothing() -> None:
    for seed in range(100_000, 100_030):
        scene = sample_scene(seed)
        *others, cube = Trigger().change(scene, np.random.default_rng(seed)).items
        assert tuple(others) == scene.items
        near = min(
            np.hypot(*np.subtract(cube.position, i.position)[:2]) - i.size / 2 for i in others if i.kind != "drawer"
        )
        assert near > 0.04
