"""Datasets: whole on the disk after every episode and every kill, the same after a round trip, refused when broken."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from tendon.core.errors import ConfigError, InvalidDataError, MismatchError
from tendon.data.convert import from_mcap, parallel
from tendon.data.convert.from_mcap import Options, convert
from tendon.data.convert.parallel import convert_all
from tendon.data.convert.to_mcap import write_recording
from tendon.data.lerobot import statistics
from tendon.data.lerobot import writer as dataset_writer
from tendon.data.lerobot.check import problems
from tendon.data.lerobot.edit import copy_episodes, parse_episodes
from tendon.data.lerobot.layout import ACTION, STAMP, STATE, STATS, VIDEO, place, read_json
from tendon.data.lerobot.reader import LeRobotDataset
from tendon.data.lerobot.writer import DatasetWriter
from tendon.data.reading.observations import observations
from tendon.data.reading.recording import McapRecording
from tendon.data.recording.recover import recover
from tendon.robots.profile import load_profile
from tests.data.episodes import append, frames, make_dataset, shape
from tests.robots.calibrated import load_calibrated_panda

FRAMES = 8


@pytest.fixture(scope="module", params=["h264", "png"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_dataset(tmp_path_factory.mktemp("made") / "set", episodes=2, frames=FRAMES, codec=request.param)


@pytest.fixture
def dataset(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "set"))


def test_what_was_written_is_read_again(made: Path) -> None:
    dataset = LeRobotDataset(made)
    assert not list(problems(dataset))
    for number in range(2):
        for given, found in zip(frames(number, FRAMES), dataset.frames(number), strict=True):
            assert found.stamp_ns == given.stamp_ns and found.task == given.task
            assert np.array_equal(found.action, given.action.astype(np.float32))
            for name, pixels in given.images.items():
                error = np.abs(found.images[name].astype(int) - pixels).mean()
                assert error == 0.0 if dataset.shape.codec == "png" else error < 4.0


def test_mcap_to_dataset_to_mcap_to_dataset_is_stable(made: Path, tmp_path: Path) -> None:
    dataset, profile = LeRobotDataset(made), load_profile("panda")
    options = Options(codec=dataset.shape.codec)
    for number in range(2):
        write_recording(dataset, number, profile, tmp_path / f"{number}.mcap")
        convert(tmp_path / f"{number}.mcap", tmp_path / "again", options)
    again = LeRobotDataset(tmp_path / "again")
    for number in range(2):
        first, second = dataset.rows(number), again.rows(number)
        assert all(np.array_equal(first[name], second[name]) for name in second)
        if dataset.shape.codec == "png":
            pairs = zip(dataset.pictures(number, "scene"), again.pictures(number, "scene"), strict=True)
            assert all(np.array_equal(one, other) for one, other in pairs)


def test_a_dataset_has_joints_as_they_are_and_a_recording_as_the_robot_says_them(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset, mine, plain = LeRobotDataset(made), load_calibrated_panda(tmp_path), load_profile("panda")
    write_recording(dataset, 0, mine, tmp_path / "0.mcap")
    monkeypatch.setattr(from_mcap, "load_profile", lambda robot: mine)  # a recording says "panda", which is another one
    convert(tmp_path / "0.mcap", tmp_path / "again", Options(codec=dataset.shape.codec))
    again = LeRobotDataset(tmp_path / "again").rows(0)
    for name in (STATE, ACTION):
        np.testing.assert_allclose(np.stack(again[name]), np.stack(dataset.rows(0)[name]), atol=1e-6)
    first = next(observations(McapRecording(tmp_path / "0.mcap"), plain)).observation
    np.testing.assert_allclose(first.joint_position - np.asarray(dataset.rows(0)[STATE][0]), mine.zeros, atol=1e-6)


def test_a_dataset_made_by_several_processes_is_the_same(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the order of the files, what is refused named at its place, and gone on with where it was."""
    opened, real = list[Path](), parallel.DatasetWriter
    monkeypatch.setattr(parallel, "DatasetWriter", lambda root, shape: [opened.append(root), real(root, shape)][1])
    dataset, options = LeRobotDataset(made), Options(codec=LeRobotDataset(made).shape.codec)
    files = [tmp_path / f"{number}.mcap" for number in range(3)]
    for number, file in enumerate(files[:2]):
        write_recording(dataset, number, load_profile("panda"), file)
    files[2].write_bytes(files[0].read_bytes()[:5000])
    order = [files[0], files[2], files[1]]
    for jobs, root in ((1, tmp_path / "one"), (2, tmp_path / "two")):
        opened.clear()
        answers = list(convert_all(order, root, options, jobs))
        assert opened == [root], "each opening reads the whole dataset"
        assert [file for file, _ in answers] == order and isinstance(answers[1][1], InvalidDataError)
        again = [answer for _, answer in convert_all(order, root, options, jobs)]
        assert [getattr(answer, "episode", "refused") for answer in again] == [None, "refused", None]
    one, two = (LeRobotDataset(tmp_path / name) for name in ("one", "two"))
    assert (
        one.info == two.info and not list(problems(two)) and read_json(one.root / STATS) == read_json(two.root / STATS)
    )
    for number in range(2):
        pairs = zip(one.frames(number), two.frames(number), strict=True)
        for given, found in pairs:
            assert given.stamp_ns == found.stamp_ns and given.task == found.task
            assert all(np.array_equal(given.images[name], found.images[name]) for name in given.images)
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


class Killed(BaseException):
    """Stands for SIGKILL: nothing after it is done."""


def kills(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Yields after how many renames an append is killed."""
    for count in range(20):
        left = [count]

        def rename(*given: object, left: list[int] = left, real: object = None) -> None:
            if left[0] == 0:
                raise Killed
            left[0] -= 1
            real(*given)  # type: ignore[operator]

        with monkeypatch.context() as patch:
            for name in ("rename_durably", "replace_file"):
                real = getattr(dataset_writer, name)
                patch.setattr(dataset_writer, name, lambda *given, real=real: rename(*given, real=real))
            yield count


def test_an_append_that_is_killed_between_any_two_steps_leaves_a_whole_dataset(
    dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, count = LeRobotDataset(dataset), 0
    codec = before.shape.codec
    for count in kills(monkeypatch):  # noqa: B007, read below
        try:
            append(dataset, 2, FRAMES, codec)
            break
        except Killed:
            found = LeRobotDataset(dataset)
            assert len(found) == 2 and not list(problems(found, pictures=False))
    assert count > 4
    found = LeRobotDataset(dataset)
    assert len(found) == 3 and not list(problems(found))


def test_statistics_of_parts_are_those_of_the_whole() -> None:
    rows = np.random.default_rng(0).normal(size=(90, 3)) * [1.0, 10.0, 0.1] + 5.0
    whole, merged = statistics.of_rows(rows), statistics.merge([statistics.of_rows(r) for r in (rows[:20], rows[20:])])
    for name in ("min", "max", "mean", "std", "count"):
        assert np.allclose(whole[name], merged[name])


def test_another_robot_is_refused_and_the_dataset_stays(dataset: Path) -> None:
    info = (dataset / "meta/info.json").read_bytes()
    for changed in ({"robot": "ur5e"}, {"fps": 10}, {"joints": ("a",)}, {"cameras": ()}):
        codec = LeRobotDataset(dataset).shape.codec
        with pytest.raises(MismatchError, match=next(iter(changed))):
            DatasetWriter(dataset, shape(codec=codec, **changed))
    assert (dataset / "meta/info.json").read_bytes() == info
    other = dataset.parent / "other"
    other.mkdir()
    (other / "letter.txt").write_text("mine")
    with pytest.raises(ConfigError, match="holds something"):
        DatasetWriter(other, shape())
    assert (other / "letter.txt").exists()


def test_what_is_broken_is_one_clear_line(dataset: Path) -> None:
    codec = LeRobotDataset(dataset).shape.codec
    data = dataset / "data/chunk-000/file-001.parquet"
    whole = data.read_bytes()
    data.write_bytes(whole[:100])
    assert any("file-001.parquet cannot be read" in line for line in problems(LeRobotDataset(dataset)))
    pq.write_table(pq.read_table(dataset / "data/chunk-000/file-000.parquet"), data)
    assert any("0 frames of episode 1" in line for line in problems(LeRobotDataset(dataset)))
    data.write_bytes(whole)
    if codec != "png":
        video = dataset / VIDEO.format(video_key="observation.images.scene", **place(0))
        video.write_bytes(b"")
        assert [line for line in problems(LeRobotDataset(dataset)) if "no video that can be decoded" in line]
    info = json.loads((dataset / "meta/info.json").read_text())
    for version in ("v2.1", "v4.0", None):
        (dataset / "meta/info.json").write_text(json.dumps({**info, "codebase_version": version}))
        with pytest.raises(MismatchError, match=f"version {version}, must be v3.0"):
            LeRobotDataset(dataset)
    (dataset / "meta/info.json").write_text("{")
    with pytest.raises(InvalidDataError, match="no JSON"):
        LeRobotDataset(dataset)
    with pytest.raises(InvalidDataError, match="missing"):
        LeRobotDataset(dataset.parent)


def test_a_recording_that_does_not_fit_is_one_clear_error(tmp_path: Path) -> None:
    dataset = LeRobotDataset(make_dataset(tmp_path / "set", episodes=1, frames=4, codec="png"))
    path = tmp_path / "a.mcap"
    write_recording(dataset, 0, load_profile("panda"), path)
    content = path.read_bytes()
    (tmp_path / "cut.mcap").write_bytes(content[: len(content) * 2 // 3])
    with pytest.raises(InvalidDataError, match="tendon data recover"):
        convert(tmp_path / "cut.mcap", tmp_path / "new", Options())
    recover(tmp_path / "cut.mcap", tmp_path / "whole.mcap")
    with pytest.raises(InvalidDataError, match="is bad"):
        convert(tmp_path / "whole.mcap", tmp_path / "new", Options())
    with pytest.raises(MismatchError, match="codec is png, not h264"):
        convert(path, tmp_path / "set", Options(codec="h264"))
    with pytest.raises(MismatchError, match="panda_joint1"):
        write_recording(dataset, 0, load_profile("ur5e"), tmp_path / "b.mcap")
    assert not (tmp_path / "b.mcap").exists() and not (tmp_path / "new").exists()
    assert {ACTION, STATE, STAMP} <= set(dataset.rows(0))


def test_merged_and_split_and_thinned_it_is_the_same_to_the_last_pixel(made: Path, tmp_path: Path) -> None:
    """Videos are copied: no generation is lost."""
    dataset = LeRobotDataset(made)
    copy_episodes([(dataset, 1), (dataset, 0), (dataset, 1)], tmp_path / "three")
    three = LeRobotDataset(tmp_path / "three")
    copy_episodes([(three, 1), (three, 2)], tmp_path / "two")
    two = LeRobotDataset(tmp_path / "two")
    for found, numbers in ((three, (1, 0, 1)), (two, (0, 1))):
        assert not list(problems(found))
        for number, original in enumerate(numbers):
            for one, other in zip(found.frames(number), dataset.frames(original), strict=True):
                assert one.stamp_ns == other.stamp_ns and one.task == other.task
                assert np.array_equal(one.action, other.action)
                assert all(np.array_equal(one.images[name], other.images[name]) for name in one.images)
    one, other = (read_json(root / STATS)["action"] for root in (made, two.root))
    assert all(np.allclose(one[name], other[name]) for name in one)
    with pytest.raises(ConfigError, match="holds a dataset"):
        copy_episodes([(dataset, 0)], tmp_path / "two")
    with pytest.raises(ConfigError, match="no episode is left"):
        copy_episodes([], tmp_path / "none")
    for text, words in (("9", "no episode 9"), ("a", "must be numbers such as"), ("1:9", "no episode 2")):
        with pytest.raises(ConfigError, match=words):
            parse_episodes(text, 2)
