"""Another task in mid-motion is one that can be done from there, and success is then that task's."""

from __future__ import annotations

import pytest

from tendon.evaluation.episode import Setting, Switch
from tendon.evaluation.runner import Runner
from tendon.policies.bundle.bundle import load_bundle
from tendon.policies.inference.policy import BundlePolicy
from tendon.robots.profile import load_profile
from tendon.sim.backend import SimBackend
from tendon.sim.tabletop.phrases import parse_instruction
from tendon.sim.tabletop.scene import sample_scene
from tendon.sim.tabletop.suite import TABLETOP
from tendon.sim.tabletop.world import World

SEED = 100_000


@pytest.fixture(scope="module")
def backend() -> SimBackend:
    return SimBackend(TABLETOP.world(load_profile("panda")))


@pytest.fixture(scope="module")
def runner(backend: SimBackend) -> Runner:
    policy = BundlePolicy(load_bundle("bundles/tabletop"), load_profile("panda"), threads=1)
    return Runner(backend, policy, TABLETOP.load_environment())


@pytest.mark.parametrize("seed", range(SEED, SEED + 4))
def test_the_other_task_is_another_and_its_words_mean_it(seed: int) -> None:
    world = World(sample_scene(seed), load_profile("panda"))
    other = world.another_task()
    world.close()
    assert other is not None and other.task != world.scene.task
    assert other.items == world.scene.items
    assert parse_instruction(other.items, other.instruction) == other.task


@pytest.mark.parametrize("stop_first", [False, True])
def test_a_switch_is_carried_out_inside_the_limits(runner: Runner, stop_first: bool) -> None:
    scene = sample_scene(SEED)
    switch = Switch(at_ns=1_000_000_000, stop_first=stop_first)
    episode = runner.run(scene, Setting(delay_ns=50_000_000, switch=switch))
    assert episode.held is not None
    assert episode.instruction != scene.instruction
    assert episode.peak_acceleration <= 1.0 + 1e-9
    assert not episode.stop


def test_another_task_follows_the_first_when_that_is_done(runner: Runner, backend: SimBackend) -> None:
    scene = sample_scene(SEED + 2)
    alone = runner.run(scene, Setting(delay_ns=50_000_000))
    assert alone.success
    rollout = runner.begin(scene, Setting(delay_ns=50_000_000, switch=Switch()))
    changed_s = None
    while not rollout.over:
        rollout.tick()
        if changed_s is None and rollout.scene.instruction != scene.instruction:
            changed_s = 1e-9 * backend.world.time_ns
    episode = rollout.episode()
    assert changed_s == pytest.approx(alone.duration_s, abs=0.2)
    assert episode.success and episode.instruction == rollout.scene.instruction
    assert episode.duration_s == pytest.approx(1e-9 * backend.world.time_ns - changed_s, abs=0.2)


def test_a_task_done_before_the_switch_ends_without_it(runner: Runner) -> None:
    scene = sample_scene(SEED + 2)
    episode = runner.run(scene, Setting(delay_ns=50_000_000, switch=Switch(at_ns=11_000_000_000)))
    assert episode.held is None
    assert episode.instruction == scene.instruction
