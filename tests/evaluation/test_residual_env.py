"""A residual's world: the same control code as an evaluation, to the bit."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import replace
from itertools import count
from pathlib import Path

import gymnasium.utils.env_checker
import numpy as np
import pytest
import yaml

from tendon.control.residual.space import ResidualSpace
from tendon.core.errors import InvalidDataError, WorkerError
from tendon.evaluation import residual_rollouts
from tendon.evaluation.episode import Episode, Setting
from tendon.evaluation.pool import Job, Tools, run_jobs
from tendon.evaluation.residual_env import FACTS, ResidualEnv
from tendon.evaluation.residual_rollouts import LEFT_OUT, Experience, Exploration, Task, Workers, run_episode
from tendon.evaluation.runner import Runner
from tendon.evaluation.suites import load_suite
from tendon.policies.bundle.bundle import load_bundle
from tendon.policies.bundle.places import find_bundle
from tendon.policies.inference.identity import policy_digest
from tendon.policies.inference.policy import BundlePolicy
from tendon.policies.residual.graph import ResidualGraph
from tendon.robots.profile import load_profile
from tendon.sim.suite import World
from tendon.sim.tabletop.layout import FAMILIES
from tests.policies.residual.tiny import constant_graph, write_constant, write_imported

SPACE = ResidualSpace(embedding=512, points=2)
TASK = Task(bundle=find_bundle("tabletop"), robot="panda", suites=("tabletop_hard",), space=SPACE, switches=False)
SEED = 100_004
EXPLORING = Exploration(plain=0.0)


@pytest.fixture(scope="module")
def env() -> ResidualEnv:
    return TASK.open(TASK.suites[0])


def evaluated(residual: Path | None) -> Episode:
    setting = Setting(delay_ns=100_000_000)
    job = Job(bundle=TASK.bundle, robot="panda", seed=SEED, setting=setting, suite=TASK.suites[0], residual=residual)
    ((_, episode),) = run_jobs([job], 1)
    return episode


@pytest.fixture(scope="module")
def plain() -> Episode:
    """What comes of the base without a residual."""
    return evaluated(None)


def test_it_is_an_environment_of_gymnasium(env: ResidualEnv) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gymnasium.utils.env_checker.check_env(env, skip_render_check=True)


def test_an_episode_tells_what_was_seen_known_and_done(env: ResidualEnv) -> None:
    episode = run_episode(env, SEED, None, EXPLORING)
    steps = len(episode.actions)
    assert episode.observations.shape == (steps + 1, SPACE.observations)
    assert episode.facts.shape[0] == steps + 1 and 0 < episode.facts[-1, -1] <= 1.01
    assert np.abs(episode.actions).max() <= 1 and not episode.plain
    assert run_episode(env, SEED, None, Exploration(plain=1.0)).plain


def test_the_same_seed_is_the_same_episode_whatever_ran_before_and_in_another_process(env: ResidualEnv) -> None:
    first = run_episode(env, SEED, None, EXPLORING)
    run_episode(env, SEED + 1, None, EXPLORING)
    with Workers(TASK, count(SEED), 1, EXPLORING) as workers:
        elsewhere = workers.ended(None)[0]
    for other in (run_episode(env, SEED, None, EXPLORING), elsewhere):
        assert _same(first, other)


def test_a_process_that_was_killed_is_said_with_what_to_do() -> None:
    with Workers(TASK, count(SEED), 1, EXPLORING) as workers:
        assert not workers.ended(0.0)
        workers._workers[0]._process.kill()
        with pytest.raises(WorkerError, match=r"ended .-9. in .*seed=.* take fewer --workers; the same"):
            workers.ended(None)
        with pytest.raises(WorkerError):
            workers.ended(None)


BOTH = replace(TASK, suites=("tabletop", *TASK.suites))


def test_each_suite_has_its_share_of_each_family() -> None:
    """Families go round with the seed. Where suites did too, each had half of the tasks, and others failed later."""
    found = Counter((BOTH.suite_of(seed), FAMILIES[seed % len(FAMILIES)]) for seed in range(1200))
    assert len(found) == len(BOTH.suites) * len(FAMILIES) and min(found.values()) > 70
    assert [BOTH.suite_of(seed) for seed in range(50)] == [BOTH.suite_of(seed) for seed in range(50)]


def test_a_scene_that_cannot_be_played_is_left_out_and_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Each session of a run met the same scene first, and ended there."""
    with Workers(replace(TASK, bundle=Path("no such bundle")), count(SEED), 1, EXPLORING) as workers:
        for at in range(LEFT_OUT - 1):
            assert workers.ended(None) == []
            assert f"left out: scene {SEED + at} of {TASK.suites[0]}: " in capsys.readouterr().out
        with pytest.raises(WorkerError, match=f"20 scenes in a row could not be played; the last is scene {SEED + 19}"):
            workers.ended(None)


def test_an_episode_is_of_the_suite_of_its_seed(env: ResidualEnv) -> None:
    seed = next(at for at in count(SEED) if (BOTH.suite_of(at), BOTH.suite_of(at + 1)) == BOTH.suites)
    with Workers(BOTH, count(seed), 1, EXPLORING) as workers:
        first, second = (workers.ended(None)[0] for _ in range(2))
    assert _same(second, run_episode(env, second.seed, None, EXPLORING))
    assert not np.array_equal(first.observations[0], env.reset(seed=first.seed)[0])


def _same(one: Experience, other: Experience) -> bool:
    arrays = zip(
        (one.observations, one.facts, one.actions), (other.observations, other.facts, other.actions), strict=True
    )
    return one.success == other.success and all(np.array_equal(a, b) for a, b in arrays)


def test_training_and_evaluation_run_the_same_residual_alike(env: ResidualEnv, plain: Episode, tmp_path: Path) -> None:
    """What is learned here is what runs there: episodes last equally long, to the nanosecond of simulated time."""
    action = [0.3, -0.2, 0.1, 0.0]
    folder = write_constant(tmp_path, action, policy_digest(load_bundle(TASK.bundle).manifest))
    trained = run_episode(env, SEED, ResidualGraph(constant_graph(SPACE, action)), Exploration(plain=1.0))
    corrected = evaluated(folder)
    assert (trained.success, trained.facts[-1, -1]) == (
        corrected.success,
        pytest.approx(corrected.duration_s / 12.0, abs=1e-6),
    )
    assert corrected.rms_jerk != plain.rms_jerk


@pytest.mark.parametrize("embedding", [0, 5])
def test_an_imported_policy_is_corrected_alike_in_training_and_evaluation(embedding: int, tmp_path: Path) -> None:
    """Of a suite with drawers alone. It reads no instruction, points at nothing, and may tell no embedding."""
    suite = tmp_path / "arm.yaml"
    suite.write_text(yaml.safe_dump({"suite": "tabletop", "families": ["drawer"], "arm": 2, "delay_s": 0.06}))
    bundle, action = write_imported(tmp_path / "imported", embedding), [0.3, -0.2, -1.0, 0.0]
    policy = BundlePolicy(load_bundle(bundle), load_profile("panda"))
    assert policy.feature_sizes() == (embedding, 0)
    space = ResidualSpace(embedding=embedding)
    residual = write_constant(tmp_path / "residual", action, policy.digest, space)
    task = Task(bundle=bundle, robot="panda", suites=(str(suite),), space=space, switches=False)
    corrects = task.open(str(suite))
    trained = run_episode(corrects, SEED, ResidualGraph(constant_graph(space, action)), Exploration(plain=1.0))
    corrects.close()
    assert trained.family == "drawer" and trained.observations.shape[1] == space.observations
    heights = trained.observations[:, 2]
    assert heights.min() < heights[0] - 0.02, "it leads the tool down, which the policy keeps at home"
    setting = Setting(delay_ns=60_000_000)
    job = Job(bundle=bundle, robot="panda", seed=SEED, setting=setting, suite=str(suite), residual=residual)
    ((_, episode),) = run_jobs([job], 1)
    assert (trained.success, trained.facts[-1, -1]) == (
        episode.success,
        pytest.approx(episode.duration_s / 12.0, abs=1e-6),
    )


def test_a_residual_that_answers_nothing_changes_nothing(plain: Episode, tmp_path: Path) -> None:
    nothing = write_constant(tmp_path, [0.0, 0.0, 0.0, 0.0], policy_digest(load_bundle(TASK.bundle).manifest))
    assert evaluated(nothing) == plain


def test_a_step_without_an_episode_or_with_nonsense_is_named(env: ResidualEnv) -> None:
    fresh = TASK.open(TASK.suites[0])
    with pytest.raises(InvalidDataError, match="call reset first"):
        fresh.step(np.zeros(4))
    fresh.close()
    env.reset(seed=SEED)
    with pytest.raises(InvalidDataError, match="action"):
        env.step(np.full(4, np.nan))
    assert env.reset(seed=SEED)[1][FACTS].shape == (24,)


def test_the_delay_of_a_suite_delays_the_base_here_as_in_an_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    suite, profile = load_suite(TASK.suites[0]), load_profile(TASK.robot)
    difficulty = replace(suite.difficulty, perturbations={**suite.difficulty.perturbations, "delay": 2.0})
    slow = replace(suite, difficulty=difficulty)
    asked: list[Setting] = []

    def begin(runner: Runner, scene: object, setting: Setting) -> None:
        asked.append(setting)
        raise KeyboardInterrupt

    monkeypatch.setattr(Runner, "begin", begin)

    def base(world: World) -> BundlePolicy:
        return BundlePolicy(load_bundle(TASK.bundle), profile, threads=1)

    env = ResidualEnv(slow, profile, base, SPACE)
    setting = Setting(delay_ns=round(suite.difficulty.delay_s * 1e9))
    tools = Tools(slow, TASK.bundle, TASK.robot, setting.timing, "auto")
    try:
        for run in (lambda: env.reset(seed=SEED), lambda: tools.run(SEED, setting)):
            with pytest.raises(KeyboardInterrupt):
                run()
    finally:
        env.close()
        tools.close()
    assert asked[0].delay_ns == asked[1].delay_ns == setting.delay_ns + slow.harder({}).delay_ns
    assert slow.harder({}).delay_ns > 0


@pytest.mark.parametrize(("said", "delay_ms"), [("", 50), ("delay_s: 0\n", 0), ("delay_s: 0.2\n", 200)])
def test_a_suite_is_trained_in_with_the_delay_that_its_file_says(said: str, delay_ms: int, tmp_path: Path) -> None:
    """A delay of 0 was taken for none said, and an evaluation took 0."""
    file = tmp_path / "suite.yaml"
    file.write_text(f"suite: tabletop\n{said}")
    assert residual_rollouts.usual_setting(str(file)).delay_ns == delay_ms * 1_000_000
    assert residual_rollouts.usual_setting("tabletop_hard").delay_ns == 100_000_000


def test_in_two_thirds_of_the_episodes_the_task_is_a_second_one() -> None:
    """In training every task was the first: with a residual the second failed in 29 of 34 episodes."""
    env = replace(TASK, suites=("tabletop",), switches=True).open("tabletop")
    kinds = {"first": 0, "second": 0}
    for seed in range(100_000, 100_012):
        _, info = env.reset(seed=seed)
        rollout = env._rollout
        assert rollout is not None and rollout.switched and info[FACTS][-1] < 0.2, "its own time begins with it"
        second = rollout.scene.instruction != load_suite("tabletop").scene(env._profile, seed).instruction
        kinds["second" if second else "first"] += 1
    assert 3 <= kinds["second"] <= 10
    before = run_episode(env, 100_001, None, EXPLORING)
    again = run_episode(env, 100_001, None, EXPLORING)
    assert before.success == again.success and (before.observations == again.observations).all()
    env.close()
