"""A progress estimator learns how much of a demonstration is over, and says so in the bundle's own runtime."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tendon.cli import main
from tendon.core.errors import ConfigError
from tendon.data.lerobot.layout import Camera, Shape
from tendon.data.lerobot.writer import DatasetWriter, Frame
from tendon.policies.bundle.bundle import load_bundle, write_bundle
from tendon.policies.inference.policy import BundlePolicy
from tendon.policies.progress.estimator import ProgressEstimator, estimator_files, load_estimator
from tendon.policies.training.progress import Looked, look, moving_time, train_estimator
from tests.policies.training.recorded_episodes import BUNDLE, FPS, PROFILE, Memory, moving

torch.set_num_threads(1)
STEP_NS = 10**9 // FPS


def drawn(count: int, rng: np.random.Generator) -> list[Looked]:
    """Episodes in which two of eight numbers tell the progress, the rest nothing."""
    found = []
    for _ in range(count):
        progress = np.linspace(0.0, 1.0, 30).astype(np.float32)
        seen = rng.standard_normal((30, 8)).astype(np.float32)
        seen[:, 2], seen[:, 6] = 3.0 * progress - 1.0, np.sin(progress)
        found.append(Looked(seen=seen, progress=progress, embedding=4))
    return found


def test_it_learns_what_tells_and_its_graph_says_the_same() -> None:
    rng = np.random.default_rng(0)
    trained = train_estimator(drawn(24, rng))
    assert trained.error < 0.1 and trained.rank > 0.95
    estimator = ProgressEstimator(trained.graph, trained.seen)
    unseen = drawn(3, rng)
    told = [[estimator.estimate(row[:4], None, row[4:]) for row in each.seen] for each in unseen]
    assert np.abs(np.array(told) - [each.progress for each in unseen]).mean() < 0.12


def test_what_tells_nothing_is_said_to_tell_nothing() -> None:
    rng = np.random.default_rng(1)
    blind = [
        Looked(seen=rng.standard_normal((30, 8)).astype(np.float32), progress=each.progress, embedding=4)
        for each in drawn(40, rng)
    ]
    trained = train_estimator(blind)
    assert trained.error > 0.2 and abs(trained.rank) < 0.3


def test_time_counts_from_the_first_motion_to_the_last() -> None:
    stamps = STEP_NS * np.arange(40)
    rows = np.zeros((40, 3))
    rows[10:21, 1] = np.linspace(0.0, 0.5, 11)
    rows[21:, 1] = 0.5
    begin_ns, end_ns = moving_time(stamps, rows) or (0, 0)
    assert (begin_ns, end_ns) == (10 * STEP_NS, 20 * STEP_NS)
    assert moving_time(stamps, 0 * rows) is None
    assert moving_time(stamps[:0], rows[:0]) is None


def test_a_policy_looks_at_frames_and_tells_in_its_bundle(tmp_path: Path) -> None:
    policy = BundlePolicy(BUNDLE, PROFILE)
    episodes = Memory([moving(2 * FPS + number) for number in range(8)] + [moving(1)])
    looked = [look(policy, episodes, number) for number in range(9)]
    assert looked[8] == [], "one frame moves nothing"
    seen = [each for parts in looked for each in parts]
    assert all(10 <= len(each.seen) <= 12 and each.embedding == 512 for each in seen)
    assert all(each.progress[0] == 0.0 and each.progress[-1] > 0.85 for each in seen)
    trained = train_estimator(seen)
    files = estimator_files(BUNDLE, trained.graph, trained.seen, {"episodes": trained.episodes})
    made = write_bundle(tmp_path, BUNDLE.manifest, {**BUNDLE.content, **files})
    estimator = load_estimator(made)
    assert estimator is not None
    told = [estimator.estimate(row[:7], row[7:13], row[13:]) for row in seen[0].seen]
    assert told[0] < 0.3 and told[-1] > 0.7 and (np.diff(told) > -0.1).all()


def test_each_task_of_an_episode_has_its_own_progress() -> None:
    """Three in one recording were thirds of one: the first was done at 0.34."""
    policy, first, other = BundlePolicy(BUNDLE, PROFILE), moving(2 * FPS), moving(2 * FPS, task="open the drawer")
    rest = [replace(first[-1], stamp_ns=first[-1].stamp_ns + k * 10**9 // FPS) for k in range(1, 10)]
    later = [replace(each, stamp_ns=each.stamp_ns + rest[-1].stamp_ns) for each in other]
    looked = look(policy, Memory([[*first, *rest, *later]]), 0)
    assert [each.progress[0] for each in looked] == [0.0, 0.0] and all(each.progress[-1] > 0.85 for each in looked)
    at_once = [replace(each, stamp_ns=each.stamp_ns + 10**9) for each in other]
    (last,) = look(policy, Memory([[*first[:FPS], *at_once]]), 0)
    assert len(last.seen) < len(looked[0].seen) + 3, "one that was replaced in mid-motion is none"


def written(folder: Path, episodes: list[list[Frame]]) -> Path:
    cameras = tuple(Camera(name=each.name, width=each.width, height=each.height) for each in PROFILE.cameras)
    shape = Shape(robot=PROFILE.name, fps=FPS, joints=PROFILE.joint_names, cameras=cameras, codec="png")
    with DatasetWriter(folder, shape) as dataset:
        for frames in episodes:
            appender = dataset.begin()
            for frame in frames:
                appender.add(frame)
            appender.finish(source="made up")
    return folder


def test_the_command_replaces_what_does_not_fit_and_counts_each_episode_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = [moving(FPS + 3 * number) for number in range(8)]
    data = written(tmp_path / "data", [*good, moving(FPS, task="juggle the banana"), moving(1)])
    stale = estimator_files(BUNDLE, b"no graph", 9, {})
    folder = tmp_path / "bundle"
    write_bundle(folder, BUNDLE.manifest, {**BUNDLE.content, **stale})
    assert main(["policy", "train-progress", str(folder), "--data", str(data), "--data", str(data)]) == 0
    said = capsys.readouterr().out
    assert "8 episodes: off by" in said
    for reason in ("8 episodes: the same as another", "2 episodes: the robot never moves"):
        assert f"left out: {reason}" in said
    assert "left out: 2 episodes: instruction 'juggle the banana'" in said
    assert BundlePolicy(load_bundle(folder), PROFILE).estimates_progress


def test_a_seed_below_0_is_refused_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before the bundle is looked for."""
    for command in ("policy train-progress nowhere --data x", f"residual train nowhere --out {tmp_path / 'run'}"):
        assert main([*command.split(), "--seed", "-1"]) == 2
        assert "--seed" in capsys.readouterr().err


def test_too_few_episodes_are_refused() -> None:
    with pytest.raises(ConfigError, match="7 episodes are too few"):
        train_estimator(drawn(7, np.random.default_rng(0)))
