"""The Gymnasium env: its own checker passes, the scene seed decides everything, the expert gets the reward."""

import warnings
from collections import defaultdict
from collections.abc import Iterator

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from tendon.core.errors import InvalidDataError
from tendon.sim.simulators import SIMULATORS
from tendon.sim.tabletop.env import ENV_ID, EPISODE_STEPS, HOLD_STEPS, TabletopEnv
from tendon.sim.tabletop.expert.pilot import ExpertPilot
from tendon.sim.tabletop.layout import FAMILIES
from tendon.sim.tabletop.scene import sample_scene
from tendon.sim.tabletop.tasks import Task

VALIDATION = range(100_000, 100_096)


@pytest.fixture(scope="module")
def env() -> Iterator[TabletopEnv]:
    env = TabletopEnv(images=False)
    yield env
    env.close()


def run_expert(env: TabletopEnv, seed: int) -> tuple[list[float], list[bytes]]:
    """Returns the rewards of an episode and the joint states it went through."""
    pilot = ExpertPilot(env.backend.world.profile)
    _, info = env.reset(seed=seed)
    row = info["executed"]
    rewards, trace = [], []
    for _ in range(EPISODE_STEPS):
        row = pilot.row(env.backend.world, row)
        observation, reward, terminated, _, info = env.step(row)
        rewards.append(reward)
        trace.append(observation["joint_position"].tobytes())
        assert info["success"] is terminated is (reward == 1.0)
        if terminated:
            break
    return rewards, trace


def test_it_is_registered_and_gymnasiums_checker_passes() -> None:
    env = gymnasium.make(f"tendon.sim.tabletop.env:{ENV_ID}", render_mode="rgb_array")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Joint rows are neither symmetric nor between -1 and 1, and measured joints have no bound.
        warnings.filterwarnings("ignore", message=".*(symmetric and normalized|infinity).*")
        check_env(env.unwrapped)


@pytest.mark.parametrize("each", [4, pytest.param(16, marks=pytest.mark.laws)])
def test_the_expert_does_at_least_nine_in_ten_of_each_family(env: TabletopEnv, each: int) -> None:
    # The bound is 95 %, measured over 100 seeds a family by benchmarks/expert.py; of 16 seeds one
    # failure is 6 %, so that here one is let pass; of 4 none.
    done: dict[str, list[bool]] = defaultdict(list)
    for seed in VALIDATION[: each * len(FAMILIES)]:
        rewards, _ = run_expert(env, seed)
        done[env.backend.world.scene.task.family].append(rewards[-1] == 1.0)
        assert rewards[:-1] == [0.0] * (len(rewards) - 1)
    print({family: f"{sum(results)} of {len(results)}" for family, results in done.items()})
    assert {family: len(results) for family, results in done.items()} == dict.fromkeys(FAMILIES, each)
    assert all(np.mean(results) >= 0.9 for results in done.values())


@pytest.mark.parametrize(
    "seed",
    [*range(100_200, 100_203), *(pytest.param(seed, marks=pytest.mark.laws) for seed in range(100_203, 100_206))],
)
def test_the_same_seed_and_actions_give_the_same_trace(env: TabletopEnv, seed: int) -> None:
    """Three families in `make test`, as each family goes the same way; all six in `make test-laws`."""
    first = run_expert(env, seed)
    assert run_expert(env, seed) == first
    other = TabletopEnv(images=False)
    try:
        assert run_expert(other, seed) == first
    finally:
        other.close()


def test_the_seed_is_the_seed_of_the_scene(env: TabletopEnv) -> None:
    observation, info = env.reset(seed=200_001)
    assert env.backend.world.scene == sample_scene(200_001)
    assert observation["instruction"] == sample_scene(200_001).instruction
    assert info["seed"] == 200_001 and info["family"] == FAMILIES[200_001 % 6]
    assert env.reset(seed=2**62)[1]["seed"] == 2**62
    with pytest.raises(ValueError, match="must be an integer of 64 bits"):
        env.reset(seed=2**63)


def test_without_a_seed_it_draws_training_scenes_that_follow_from_the_last_seed(env: TabletopEnv) -> None:
    def draw() -> list[int]:
        env.reset(seed=100_000)
        return [env.reset()[1]["seed"] for _ in range(8)]

    seeds = draw()
    assert draw() == seeds and len(set(seeds)) == 8
    assert all(0 <= seed < 100_000 for seed in seeds)


def test_a_family_may_be_chosen() -> None:
    env = TabletopEnv(family="drawer", images=False)
    try:
        assert [env.reset(seed=seed)[1]["family"] for seed in range(100_000, 100_003)] == ["drawer"] * 3
    finally:
        env.close()


def test_images_are_what_the_cameras_of_the_profile_see() -> None:
    env = TabletopEnv(render_mode="rgb_array")
    try:
        observation, _ = env.reset(seed=100_000)
        seen = env.backend.observe().images
        assert np.array_equal(observation["image_scene"], seen["scene"].pixels)
        assert np.array_equal(observation["image_wrist"], seen["wrist"].pixels)
        assert env.render().shape == (384, 384, 3)
    finally:
        env.close()


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_many_in_one_process_by_gymnasiums_own_vector_are_each_what_one_alone_is(simulator: str) -> None:
    seeds = [100_003, 100_004, 100_005]
    many = gymnasium.make_vec(ENV_ID, num_envs=3, vectorization_mode="sync", images=False, simulator=simulator)
    alone = TabletopEnv(images=False, simulator=simulator)
    try:
        observation, _ = many.reset(seed=seeds)
        rows, seen = observation["joint_position"].copy(), []
        for _ in range(6):
            rows += np.random.default_rng(0).uniform(-0.05, 0.05, rows.shape)
            observation, rewards, done, _, info = many.step(rows)
            seen.append((rows.copy(), observation, rewards, done, info))
        for k, seed in reversed(list(enumerate(seeds))):
            alone.reset(seed=seed)
            for targets, observations, rewards, done, infos in seen:
                observation, reward, terminated, _, info = alone.step(targets[k])
                assert (reward, terminated, info["reasons"]) == (rewards[k], done[k], infos["reasons"][k])
                assert observation["instruction"] == observations["instruction"][k]
                for name in ("joint_position", "joint_velocity"):
                    assert np.array_equal(observation[name], observations[name][k])
                assert np.array_equal(info["executed"], infos["executed"][k])
    finally:
        many.close()
        alone.close()


def test_it_is_truncated_when_nothing_is_done() -> None:
    env = gymnasium.make(ENV_ID, images=False)
    _, info = env.reset(seed=100_000)
    steps = 0
    truncated = False
    while not truncated:
        _, reward, terminated, truncated, info = env.step(info["executed"])
        steps += 1
        assert reward == 0.0 and not terminated
    assert steps == EPISODE_STEPS
    env.close()


def test_success_is_a_task_that_stays_done(env: TabletopEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    _, info = env.reset(seed=100_000)
    answers = iter([True] * (HOLD_STEPS - 1) + [False] + [True] * HOLD_STEPS)
    monkeypatch.setattr(Task, "success", lambda task, world: next(answers))
    rewards = [env.step(info["executed"])[1] for _ in range(2 * HOLD_STEPS)]
    assert rewards == [0.0] * (2 * HOLD_STEPS - 1) + [1.0]


def test_wild_actions_are_executed_inside_every_limit(env: TabletopEnv) -> None:
    profile = env.backend.world.profile
    lower, upper, speed = (profile.vector(name) for name in ("lower", "upper", "velocity"))
    rng = np.random.default_rng(0)
    _, info = env.reset(seed=100_000)
    for _ in range(40):
        before = info["executed"]
        _, _, _, _, info = env.step(rng.uniform(-6, 6, len(lower)))
        assert (info["executed"] >= lower - 1e-9).all() and (info["executed"] <= upper + 1e-9).all()
        assert (np.abs(info["executed"] - before) <= speed * 0.1 + 1e-9).all()
        assert info["reasons"]


@pytest.mark.parametrize("action", [np.full(8, np.nan), np.zeros(7), np.zeros((1, 8))], ids=["nan", "short", "2-d"])
def test_an_action_that_is_not_n_finite_numbers_is_an_error(env: TabletopEnv, action: np.ndarray) -> None:
    env.reset(seed=100_000)
    with pytest.raises(InvalidDataError, match="action"):
        env.step(action)
