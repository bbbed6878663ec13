"""`tendon data convert` on a full disk, beside another one, and of recordings that do not fit: a line and a code."""

from __future__ import annotations

import errno
import os
import resource
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tendon.cli.root import run
from tendon.core.types import Observation
from tendon.data.convert.from_mcap import nearest_to_grid, source_of
from tendon.data.convert.to_mcap import write_recording
from tendon.data.lerobot import writer
from tendon.data.lerobot.check import problems
from tendon.data.lerobot.reader import LeRobotDataset
from tendon.data.lerobot.writer import WORK, DatasetWriter
from tendon.data.reading.observations import require_begin
from tendon.data.reading.recording import McapRecording
from tendon.robots.profile import load_profile
from tests.data.episodes import append, frames, make_dataset, shape
from tests.data.samples import BEGIN, texts, write


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


@pytest.mark.parametrize("step", range(7))
def test_a_disk_that_is_full_at_the_end_of_the_first_episode_is_no_obstacle_to_the_next_run(
    recording: Path, tmp_path: Path, step: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was left of the episode was taken for something of somebody else, and another folder asked for."""
    root, left = tmp_path / "set", [step]

    def fails_at_the_step(real: Callable[..., None], *given: object) -> None:
        if left[0] == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(given[0]))
        left[0] -= 1
        real(*given)

    with monkeypatch.context() as patch:
        for name in ("rename_durably", "replace_file"):
            patch.setattr(writer, name, partial(fails_at_the_step, getattr(writer, name)))
        assert run(["data", "convert", str(recording), "--out", str(root)]) == 2
    assert os.strerror(errno.ENOSPC) in capsys.readouterr().err
    assert not root.exists()
    assert run(["data", "convert", str(recording), "--out", str(root)]) == 0
    assert len(LeRobotDataset(root)) == 1 and not list(problems(LeRobotDataset(root)))


def test_two_do_not_write_one_dataset(tmp_path: Path, recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The second would take the first one's unfinished episode for one that a kill has left over."""
    root = tmp_path / "set"
    with DatasetWriter(root, shape()) as dataset:
        appender = dataset.begin()
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
        (
            ["merge", str(source), f"{there}/../set", "--out", same],
            "set is named twice: its episodes",
        ),
        (["split", str(source), "--out", same, "--rest", f"{same}/../same"], "take a folder for each"),
        (["split", str(source), "--out", same, "--rest", str(there)], "holds a dataset"),
        (["quality", str(source), "--curate", "0.5", "--keep", str(there), "--out", page], "holds a dataset"),
    ):
        assert run(["data", *words]) == 2
        shown = capsys.readouterr()
        assert said in shown.err and len(shown.err.splitlines()) == 1 and not shown.out
    assert not (tmp_path / "same" / "meta").exists() and not Path(page).exists()


def test_no_more_frames_are_made_than_were_recorded(
    tmp_path: Path, recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their times are `frame_index / fps`: the motion would be faster than it was."""
    assert run(["data", "convert", str(recording), "--fps", "100000", "--out", str(tmp_path / "set")]) == 2
    assert "--fps is 100000, may be at most 20: what the slowest camera takes" in capsys.readouterr().err
    assert not (tmp_path / "set").exists()


def test_no_dataset_is_made_within_another(tmp_path: Path, recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    there = make_dataset(tmp_path / "set", episodes=2, frames=2, codec="png")
    inner = there / "videos" / "mine"
    back = ["convert", str(there), "--to", "mcap"]
    for words, out in (
        (["convert", str(recording)], inner),
        (["merge", str(there)], inner),
        (["delete", str(there), "--episodes", "0"], inner),
        (back, inner),
        (back, there),
    ):
        assert run(["data", *words, "--out", str(out)]) == 2
        said = capsys.readouterr().err.splitlines()[-1]
        assert "lies within the dataset" in said and str(there) in said
    assert not inner.exists() and not list(there.glob("*.mcap"))
    assert not list(problems(LeRobotDataset(there)))


def test_words_for_recordings_that_say_nothing_are_put_into_no_other(tmp_path: Path) -> None:
    """Frames before the first instruction, or after it was cleared, became frames of another task."""
    source = tmp_path / "source"
    with DatasetWriter(source, shape(codec="png")) as dataset:
        appender = dataset.begin()
        for number, frame in enumerate(frames(0, 6)):
            appender.add(replace(frame, task="task 1" if number < 3 else ""))
        appender.finish("mine")
    path = tmp_path / "episode-000000.mcap"
    write_recording(LeRobotDataset(source), 0, load_profile("panda"), path)
    assert run(["data", "convert", str(path), "--out", str(tmp_path / "set"), "--instruction", "task 2"]) == 0
    assert set(LeRobotDataset(tmp_path / "set").tasks.values()) <= {"task 1", ""}


def test_episodes_without_an_instruction_are_counted_and_given_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Training refused them after the work, and nobody had said a word."""
    source, bare, told = tmp_path / "source", tmp_path / "bare", tmp_path / "told"
    (tmp_path / "files").mkdir()
    for number, task in enumerate(("", "task 1")):
        with DatasetWriter(source, shape(codec="png")) as dataset:
            appender = dataset.begin()
            for frame in frames(number, 4):
                appender.add(replace(frame, task=task))
            appender.finish(f"{number}")
        write_recording(LeRobotDataset(source), number, load_profile("panda"), tmp_path / f"files/{number}.mcap")
    convert = ["data", "convert", str(tmp_path / "files"), "--codec", "png", "--out"]
    hint = "1 of 2 episodes have no instruction, and a policy learns to do what it is told: `tendon data convert RECORD"
    assert run([*convert, str(bare)]) == 0
    assert f"{bare}: {hint}" in capsys.readouterr().out
    for place in (bare, tmp_path / "files"):
        assert run(["data", "check", str(place)]) == 0
        assert f"{place}: {hint}" in capsys.readouterr().out
    assert run([*convert, str(told), "--instruction", "put it there"]) == 0
    assert run(["data", "check", str(told)]) == 0
    assert "instruction" not in capsys.readouterr().out
    assert [row["tasks"] for row in LeRobotDataset(told).episodes] == [["put it there"], ["task 1"]]


@pytest.mark.parametrize(("camera_hz", "fps"), [(30, 30), (30, 15), (60, 30), (50, 25), (30, 10), (30, 20)])
def test_frames_are_the_nearest_to_a_grid_whatever_the_jitter(camera_hz: int, fps: int) -> None:
    """Half the rate took frames by chance: steps of one, two and three pictures, and holes where nothing was lost."""
    rng = np.random.default_rng(0)
    stamps = np.cumsum(np.full(camera_hz * 30, 1e9 / camera_hz)) + rng.normal(0.0, 5e5, camera_hz * 30)
    still = np.zeros(1)
    seen = [Observation(stamp_ns=round(each), joint_position=still, joint_velocity=still) for each in stamps]
    kept = np.array([each.stamp_ns for each in nearest_to_grid(seen, 1e9 / fps)])
    assert abs(len(kept) - 30 * fps) <= 2
    grid = kept[0] + np.arange(len(kept)) * 1e9 / fps
    assert np.abs(kept - grid).max() <= 0.5e9 / camera_hz + 3e6
    steps = np.diff(kept) * fps / 1e9
    if camera_hz % fps == 0:
        assert steps.min() > 0.85 and steps.max() < 1.15
    cut = [each for each in seen if not 10e9 < each.stamp_ns < 12e9]
    after = [each.stamp_ns for each in nearest_to_grid(cut, 1e9 / fps) if each.stamp_ns >= 12e9]
    assert after[0] < 12e9 + 1e9 / camera_hz + 3e6, "the grid begins anew after a gap"


def test_recordings_are_told_apart_by_when_they_began(tmp_path: Path) -> None:
    """Those of Tuesday have the names of those of Monday: they were in the dataset already, it was said."""
    named = [
        McapRecording(write(tmp_path / day / "episode-000000.mcap", texts(3), begin=replace(BEGIN, started_ns=started)))
        for day, started in (("monday", 10**18), ("tuesday", 10**18 + 86_400 * 10**9))
        if (tmp_path / day).mkdir() is None
    ]
    assert len({source_of(each) for each in named}) == 2
    assert source_of(McapRecording(named[0].path)) == source_of(named[0])


@pytest.mark.parametrize("rate_hz", [30.0, 40.0])
def test_a_camera_that_is_faster_now_than_it_was_gives_no_wrong_times(
    rate_hz: float, recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its profile had been changed since, and the motion was half as long in the dataset."""
    panda = load_profile("panda")
    now = replace(panda, cameras=tuple(replace(camera, rate_hz=rate_hz) for camera in panda.cameras))
    monkeypatch.setattr("tendon.data.convert.from_mcap.load_profile", lambda name: now)
    line = ["data", "convert", str(recording), "--out", str(tmp_path / "set")]
    assert run(line) == 2
    assert f"its frames are 50 ms apart, at {rate_hz:.0f} a second" in (said := capsys.readouterr().err)
    assert "take --fps 20" in said and not (tmp_path / "set").exists()
    assert run([*line, "--fps", "20"]) == 0


@pytest.mark.parametrize(
    ("used", "told"), [({"profile": "p", "calibration": "c"}, True), ({"profile": "p"}, False), ({}, False)]
)
def test_a_recording_of_another_calibration_is_told(
    used: dict[str, str],
    told: bool,
    recording: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(
        "tendon.data.convert.from_mcap.require_begin", lambda recording: replace(require_begin(recording), hashes=used)
    )
    assert run(["data", "convert", str(recording), "--out", str(tmp_path / "set")]) == 0
    assert ("another calibration than the robot has now" in capsys.readouterr().out) is told
