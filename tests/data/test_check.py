"""`tendon data check` refuses what `tendon data convert` refuses, names each file, and goes on behind a bad one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from tendon.cli.root import run
from tendon.core.errors import InvalidDataError
from tendon.data.convert.to_mcap import write_recording
from tendon.data.episodes import open_episodes
from tendon.data.lerobot.reader import LeRobotDataset
from tendon.data.reading.recording import McapRecording, decode
from tendon.data.recording.episode import BEGIN, VERSION, EpisodeBegin, EpisodeEnd, from_metadata, to_metadata
from tendon.data.recording.schemas import typestore
from tendon.data.recording.writer import EpisodeWriter, Sample
from tendon.robots.profile import load_profile
from tests.data.episodes import make_dataset

IMAGE, JOINTS = "sensor_msgs/msg/Image", "sensor_msgs/msg/JointState"
Change = Callable[[list[Sample]], list[Sample]]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording with nothing wrong."""
    folder = tmp_path_factory.mktemp("good")
    dataset = LeRobotDataset(make_dataset(folder / "set", episodes=1, frames=6, codec="png"))
    write_recording(dataset, 0, load_profile("panda"), folder / "good.mcap")
    return folder / "good.mcap"


def rewritten(good: Path, path: Path, change: Change = list, **changed: Any) -> Path:
    """The recording with other messages, or another begin."""
    recording = McapRecording(good)
    assert recording.begin is not None
    writer = EpisodeWriter(path, replace(recording.begin, **changed))
    for sample in change(list(recording.samples())):
        writer.write(sample)
    return writer.finish(EpisodeEnd())


def without(*kinds: str) -> Change:
    return lambda samples: [sample for sample in samples if sample.kind not in kinds]


def _renamed(samples: list[Sample]) -> Iterator[Sample]:
    for sample in samples:
        if sample.kind == JOINTS:
            message = decode(sample)
            message.name[0] = "elbow"
            sample = replace(sample, data=bytes(typestore().serialize_cdr(message, JOINTS)))
        yield sample


def _stamps_back(samples: list[Sample]) -> list[Sample]:
    """The pictures and states in another order than their stamps."""
    times = [sample.log_ns for sample in samples]
    return [replace(sample, log_ns=at) for sample, at in zip(reversed(samples), times, strict=True)]


UNFIT: dict[str, Change] = {
    "no camera": without(IMAGE),
    "no command": without("trajectory_msgs/msg/JointTrajectory"),
    "no joints": without(JOINTS),
    "no message": lambda _: [],
    "unknown joint": lambda samples: list(_renamed(samples)),
    "stamps back": _stamps_back,
}


@pytest.mark.parametrize("name", UNFIT)
def test_what_cannot_be_converted_is_not_called_good(good: Path, tmp_path: Path, name: str) -> None:
    file = rewritten(good, tmp_path / "a.mcap", UNFIT[name])
    assert run(["data", "convert", str(file), "--out", str(tmp_path / "set")]) == 2
    assert run(["data", "check", str(file)]) == 1


def test_a_good_one_is_good(good: Path, tmp_path: Path) -> None:
    assert run(["data", "check", str(rewritten(good, tmp_path / "a.mcap"))]) == 0


def test_what_a_later_tendon_records_is_refused(good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = rewritten(good, tmp_path / "a.mcap", version=VERSION + 98)
    assert run(["data", "convert", str(file), "--out", str(tmp_path / "set")]) == 2
    assert f"{file} is a recording of version {VERSION + 98}" in capsys.readouterr().err
    assert run(["data", "check", str(file)]) == 1


def test_one_without_an_end_is_converted_only_where_bad_ones_are_wanted(
    good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tendon.data.recording.writer.END", "somebody's")
    file = rewritten(good, tmp_path / "a.mcap")
    words = ["data", "convert", str(file), "--out", str(tmp_path / "set")]
    assert run(words) == 2 and "it does not say how it ended" in capsys.readouterr().err
    assert run([*words, "--bad"]) == 0


def test_cut_recordings_are_not_left_out_without_a_word(
    good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    for name in ("0.mcap", "1.mcap.part", "2.mcap.part"):
        (folder / name).write_bytes(good.read_bytes()[: None if name == "0.mcap" else 5000])
    said = f"2 recordings were cut and are left out: `tendon data recover {folder}/1.mcap.part`, and so the others"
    for words in (["check", str(folder)], ["convert", str(folder), "--out", str(tmp_path / "set"), "--codec", "png"]):
        assert run(["data", *words]) == 0
        assert said in capsys.readouterr().out
    assert open_episodes(folder, load_profile("panda")).left_out == [said]


def test_a_bad_file_hides_no_other(good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    rewritten(good, folder / "z.mcap")
    rewritten(good, folder / "joints.mcap", UNFIT["unknown joint"])
    (folder / "text.mcap").write_text("hello\n")
    (folder / "empty.mcap").write_bytes(b"")
    (folder / "cut.mcap").write_bytes(good.read_bytes()[:9])
    assert run(["data", "check", str(folder), str(good)]) == 1
    said = capsys.readouterr().out
    for name in ("text", "empty", "cut", "joints"):
        assert f"{folder / name}.mcap: " in said
    assert "empty.mcap is no MCAP file: it is empty" in said and "()" not in said
    assert f"{good}: 0" in said and f"{folder / 'z.mcap'}: 0" in said
    assert run(["data", "convert", str(folder), "--out", str(tmp_path / "set")]) == 1
    said = capsys.readouterr().out
    for name in ("text", "empty", "cut", "joints"):
        assert f"refused: {folder / name}.mcap" in said, said
    assert "1 episodes with" in said


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("roles", {"cameras": 3}),
        ("roles", {"cameras": {"scene": 3}}),
        ("roles", [1]),
        ("roles", {"wheels": {}}),
        ("roles", {"joint_names": "abc"}),
        ("started_ns", "soon"),
        ("hashes", [1]),
        ("simulated", 1),
    ],
)
def test_metadata_of_another_form_are_refused(key: str, value: object) -> None:
    given = {**to_metadata(EpisodeBegin(robot="panda", started_ns=1)), key: json.dumps(value)}
    with pytest.raises(InvalidDataError, match=f"metadata of the recording: {key} is"):
        from_metadata(EpisodeBegin, given)


def test_metadata_come_back(good: Path) -> None:
    begin = McapRecording(good).begin
    assert begin is not None and BEGIN == "tendon.begin"
    again = from_metadata(EpisodeBegin, to_metadata(begin))
    assert asdict(again) == asdict(begin)
