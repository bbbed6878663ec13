"""The learner of a residual, where the best action is known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tendon.policies.residual.graph import ResidualGraph
from tendon.policies.training.projection import find_projection, load_projection
from tendon.policies.training.residual.export import actor_graph
from tendon.policies.training.residual.learner import Learner, Settings
from tendon.policies.training.residual.replay import Replay

torch.set_num_threads(1)
RNG = np.random.default_rng(0)
SEEN, ACTIONS = 6, 2
QUICK = Settings(width=32, critics=3, batch=64, rate=1e-3, actor_rate=1e-3, discount=0.9)


def sparse(steps: int, success: bool) -> np.ndarray:
    """Rewards of an episode that has one at its end, or none."""
    return np.append(np.zeros(steps - 1), float(success)).astype(np.float32)


def filled(episodes: int = 2000) -> Replay:
    """Episodes of three steps that succeed when the actions are near what is seen."""
    replay = Replay(2, QUICK.discount)
    for _ in range(episodes):
        seen = RNG.uniform(-0.5, 0.5, (4, SEEN)).astype(np.float32)
        actions = RNG.uniform(-1, 1, (3, ACTIONS)).astype(np.float32)
        away = np.abs(actions - seen[:3, :ACTIONS]).mean()
        success = bool(away < 0.45)
        replay.add(seen, np.zeros((4, 1), np.float32), actions, sparse(3, success), success)
    return replay


def test_a_batch_holds_returns_and_ends_as_the_episodes_had_them() -> None:
    replay = Replay(2, 0.5)
    for success in (True, False):
        value = np.full((4, 1), float(success), np.float32)
        seen, actions = np.arange(4, dtype=np.float32)[:, None], np.zeros((3, 1), np.float32)
        replay.add(seen, value, actions, sparse(3, success), success)
    batch = replay.sample(400, np.random.default_rng(0))
    won = batch.facts[:, 0] == 1
    assert won.float().mean() == 0.75, "half of it, and half of the rest"
    expected = {0.0: (0.0, 0.25), 1.0: (0.5, 0.0), 2.0: (1.0, 0.0)}
    rows = torch.stack([batch.seen[:, 0], batch.reward, batch.discount, batch.seen_after[:, 0]], dim=1)
    for at, reward, discount, after in rows[won].tolist():
        assert (reward, discount) == expected[at]
        assert after == min(at + 2, 3)
    assert not batch.reward[~won].any()


def test_rewards_on_the_way_are_returned_as_far_as_a_transition_goes() -> None:
    replay, rewards = Replay(2, 0.5), np.array([0.25, -0.5, 1.0], np.float32)
    replay.add(np.arange(4, dtype=np.float32)[:, None], np.zeros((4, 1)), np.zeros((3, 1)), rewards, True)
    batch = replay.sample(100, np.random.default_rng(0))
    expected = {0.0: (0.25 - 0.25, 0.25), 1.0: (-0.5 + 0.5, 0.0), 2.0: (1.0, 0.0)}
    for at, reward, discount in torch.stack([batch.seen[:, 0], batch.reward, batch.discount], dim=1).tolist():
        assert (reward, discount) == expected[at]


def test_it_begins_as_nothing_and_learns_what_succeeds() -> None:
    learner = Learner(filled(), SEEN, 1, ACTIONS, QUICK, seed=0)
    seen = torch.tensor(RNG.uniform(-0.5, 0.5, (200, SEEN)), dtype=torch.float32)

    def away() -> float:
        with torch.no_grad():
            return float((learner.actor(seen) - seen[:, :ACTIONS]).abs().mean())

    with torch.no_grad():
        assert learner.actor(seen).abs().max() < 0.05
    before = away()
    for k in range(1200):
        learner.update(actor=k >= 300)
    assert away() < 0.6 * before


def test_where_the_base_is_to_be_kept_it_stays_at_nothing() -> None:
    """Though the same would be gained there; where it is, the last number that is seen tells."""
    replay = Replay(2, QUICK.discount)
    for number in range(3000):
        kept = number % 2 == 1
        seen = RNG.uniform(-0.5, 0.5, (4, SEEN)).astype(np.float32)
        seen[:, -1] = 1.0 if kept else -1.0
        actions = RNG.uniform(-1, 1, (3, ACTIONS)).astype(np.float32)
        success = bool(np.abs(actions - 0.7).mean() < 0.45)
        replay.add(seen, np.zeros((4, 1), np.float32), actions, sparse(3, success), success, kept)
    learner = Learner(replay, SEEN, 1, ACTIONS, replace(QUICK, keep=10.0), seed=0)
    for k in range(1200):
        learner.update(actor=k >= 300)
    seen = torch.tensor(RNG.uniform(-0.5, 0.5, (200, SEEN)), dtype=torch.float32)
    with torch.no_grad():
        found = {last: learner.actor(seen.index_fill(1, torch.tensor(SEEN - 1), last)) for last in (-1.0, 1.0)}
    assert found[-1.0].mean() > 0.4 and found[1.0].abs().mean() < 0.1


def test_what_is_saved_goes_on_and_what_is_exported_answers_alike(tmp_path: Path) -> None:
    observations = (RNG.standard_normal((500, 12)) * np.linspace(0.01, 3, 12) + 1).astype(np.float32)
    projection = find_projection(observations, embedding=8, components=2)
    projection.save(tmp_path / "projection.safetensors")
    projection = load_projection(tmp_path / "projection.safetensors")
    assert np.abs(projection(observations).std(axis=0) - 1).max() < 0.05
    learner = Learner(filled(20), SEEN, 1, ACTIONS, QUICK, seed=0)
    for _ in range(20):
        learner.update()
    learner.save(tmp_path / "state.safetensors")
    other = Learner(filled(20), SEEN, 1, ACTIONS, QUICK, seed=1)
    other.load(tmp_path / "state.safetensors")
    graph = ResidualGraph(actor_graph(other.actor, projection))
    with torch.no_grad():
        expected = learner.actor(torch.from_numpy(projection(observations))).numpy()
    found = np.array([graph.act(row) for row in observations.astype(np.float64)])
    assert np.abs(found - expected).max() < 1e-5 and other.updates == 20


def test_a_projection_is_there_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed before it is on the disk, a run finds it anew."""

    def killed(path: Path, target: Path) -> Path:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        find_projection(RNG.standard_normal((50, 4)).astype(np.float32), 0, 2).save(tmp_path / "projection.safetensors")
    assert not (tmp_path / "projection.safetensors").exists()


def test_the_same_seed_learns_the_same() -> None:
    replay, logs = filled(50), []
    for _ in range(2):
        learner = Learner(replay, SEEN, 1, ACTIONS, QUICK, seed=3)
        logs.append([learner.update() for _ in range(5)])
    assert logs[0] == logs[1]
