"""`tendon data convert` on a full disk, beside another one, and of recordings that do not fit: a line and a code."""

from __future__ import annotations

import errno
import os
import resource
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tendon.cli.root import run
from tendon.data.convert.to_mcap import write_recording
from tendon.data.lerobot.reader import LeRobotDataset
from tendon.data.lerobot.writer import WORK, DatasetWriter
from tendon.robots.profile import load_profile
from tests.data.episodes import append, frames, make_dataset, shape


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An episode that can be converted."""
    folder = tmp_path_factory.mktemp("recorded")
    dataset = LeRobotDataset(make_dataset(folder / "set", episodes=1, frames=8, codec="png"))
    path = folder / "episode-000000.mcap"
    write_recording(dataset, 0, load_profile("panda"), path)
    return path


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No file can become longer than the trial that a command makes before its work; nor is bytecode left, cut."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("codec", ["h264", "av1", "png"])
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_disk_that_is_full_is_one_line_and_a_code(
    recording: Path, tmp_path: Path, codec: str, jobs: str, full: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not the 130 of Ctrl-C: what FFmpeg raises at the second close of a video is an EOFError."""
    root = tmp_path / "set"
    assert run(["data", "convert", str(recording), "--out", str(root), "--codec", codec, "--jobs", jobs]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert os.strerror(errno.EFBIG) in said and str(tmp_path) in said
    assert not (root / "meta/info.json").exists() and not (root / WORK).exists()


def test_two_do_not_write_one_dataset(tmp_path: Path, recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The second would take the first one's unfinished episode for one that a kill has left over."""
    root = tmp_path / "set"
    with DatasetWriter(root, shape()) as writer:
        appender = writer.begin()
        for frame in frames(0, 4):
            appender.add(frame)
        assert run(["data", "convert", str(recording), "--out", str(root)]) == 2
        assert f"{root}: is being written" in capsys.readouterr().err
        assert list((root / WORK).iterdir())
        appender.finish("mine")
    append(root, 1, 4)
    assert len(LeRobotDataset(root)) == 2


def test_what_is_wrong_with_the_options_is_said_once_and_before_the_work(
    tmp_path: Path, recording: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, there = make_dataset(tmp_path / "set", episodes=2, frames=2, codec="png"), tmp_path / "there"
    append(there, 0, 2, "png")
    monkeypatch.setattr("tendon.data.quality.measures.measure", None)  # not called
    same, page = str(tmp_path / "same"), str(tmp_path / "page.html")
    for words, said in (
        (
            ["convert", str(recording), str(recording.parent), "--codec", "gif", "--out", same],
            "codec is gif, must be one of",
        ),
        (["split", str(source), "--out", same, "--rest", f"{same}/../same"], "take a folder for each"),
        (["split", str(source), "--out", same, "--rest", str(there)], "holds a dataset"),
        (["quality", str(source), "--curate", "0.5", "--keep", str(there), "--out", page], "holds a dataset"),
    ):
        assert run(["data", *words]) == 2
        shown = capsys.readouterr()
        assert said in shown.err and len(shown.err.splitlines()) == 1 and not shown.out
    assert not (tmp_path / "same" / "meta").exists() and not Path(page).exists()
