"""Datasets and recordings as episodes to learn from: what is left out is said, and why."""

from __future__ import annotations

from pathlib import Path

import pytest

from tendon.core.errors import ConfigError, MismatchError
from tendon.data.convert.to_mcap import write_recording
from tendon.data.episodes import open_episodes
from tendon.data.lerobot.reader import LeRobotDataset
from tendon.data.lerobot.writer import DatasetWriter
from tendon.robots.profile import load_profile
from tests.data.episodes import PROFILE, frames, shape

FRAMES = 8


def dataset(root: Path, *outcomes: str) -> Path:
    """A dataset with an episode of each outcome."""
    for number, outcome in enumerate(outcomes):
        with DatasetWriter(root, shape()) as writer:
            appender = writer.begin()
            for frame in frames(number, FRAMES):
                appender.add(frame)
            appender.finish(outcome=outcome)
    return root


def test_failures_and_broken_files_are_left_out_and_named(tmp_path: Path) -> None:
    root = dataset(tmp_path / "set", "success", "failure", "")
    episodes, folder = open_episodes(root, PROFILE), tmp_path / "files"
    assert (len(episodes), episodes.count) == (2, 2 * FRAMES)
    assert episodes.left_out == [f"{root}: 1 of 3 episodes are failures"]
    folder.mkdir()
    for number in range(3):
        write_recording(LeRobotDataset(root), number, PROFILE, folder / f"{number}.mcap")
    (folder / "cut.mcap").write_bytes((folder / "0.mcap").read_bytes()[:5000])
    recorded = open_episodes(folder, PROFILE)
    assert (len(recorded), recorded.count) == (2, 2 * FRAMES)
    assert [line.split("/")[-1][:14] for line in recorded.left_out] == ["1.mcap is a fa", "cut.mcap is no"]
    assert recorded.cameras == episodes.cameras and recorded.fps == episodes.fps
    for number in range(2):
        stamps = [[frame.stamp_ns for frame in each.frames(number)] for each in (episodes, recorded)]
        assert stamps[0] == stamps[1]


def test_nothing_to_learn_from_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"set has no episode to learn from: .* 1 of 1 episodes are failures"):
        open_episodes(dataset(tmp_path / "set", "failure"), PROFILE)
    with pytest.raises(ConfigError, match=f"there is no {tmp_path}/nowhere: name a LeRobot dataset"):
        open_episodes(tmp_path / "nowhere", PROFILE)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match=f"nothing to learn from at {tmp_path}/empty: name a LeRobot dataset"):
        open_episodes(tmp_path / "empty", PROFILE)
    write_recording(LeRobotDataset(dataset(tmp_path / "two", "success")), 0, PROFILE, tmp_path / "one.mcap")
    with pytest.raises(MismatchError, match=r"one.mcap has joints panda_joint1.*; ur5e_2f85 has"):
        open_episodes(tmp_path / "one.mcap", load_profile("ur5e_2f85"))
