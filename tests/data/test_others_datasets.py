"""Datasets that somebody else's recorder made are edited without loss, or refused: other features, another packing."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tendon.cli.root import run
from tendon.core.errors import ConfigError, InvalidDataError, MismatchError
from tendon.data.lerobot.check import problems
from tendon.data.lerobot.edit import copy_episodes, parse_episodes
from tendon.data.lerobot.layout import DATA, EPISODES, INFO, VIDEO, place
from tendon.data.lerobot.reader import LeRobotDataset
from tendon.data.lerobot.writer import DatasetWriter
from tests.data.episodes import frames, make_dataset, shape

LENGTH = 6


def change_info(root: Path, change: Callable[[dict[str, Any]], object]) -> None:
    info = json.loads((root / INFO).read_text())
    change(info)
    (root / INFO).write_text(json.dumps(info))


def of_another_recorder(root: Path) -> Path:
    """Two episodes with a reward, without velocity and stamps."""
    make_dataset(root, episodes=2, frames=LENGTH)
    for number in range(2):
        file = root / DATA.format(**place(number))
        table = pq.read_table(file).drop_columns(["velocity", "stamp_ns"])
        pq.write_table(table.append_column("next.reward", pa.array(np.arange(LENGTH) * 0.5 + number)), file)

    def change(info: dict[str, Any]) -> None:
        for name in ("velocity", "stamp_ns"):
            del info["features"][name]
        info["features"]["next.reward"] = {"dtype": "float64", "shape": [1], "names": None}

    change_info(root, change)
    return root


def in_one_video(root: Path) -> Path:
    """Two episodes whose pictures are in one file a camera, and only the first of all is a key frame."""
    dataset = LeRobotDataset(make_dataset(root, episodes=2, frames=LENGTH))
    for camera in dataset.shape.cameras:
        pictures = [pixels for number in range(2) for pixels in dataset.pictures(number, camera.name)]
        file = root / VIDEO.format(video_key=camera.key, **place(0))
        with av.open(str(file), "w") as made:
            stream = made.add_stream("libx264", rate=dataset.shape.fps, options={"g": "1000", "sc_threshold": "0"})
            stream.width, stream.height, stream.pix_fmt = camera.width, camera.height, "yuv420p"
            for number, pixels in enumerate(pictures):
                frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
                frame.pts, frame.time_base = number, Fraction(1, dataset.shape.fps)
                made.mux(stream.encode(frame))
            made.mux(stream.encode(None))
        for number in range(2):
            rows = root / EPISODES.format(**place(number))
            (row,) = pq.read_table(rows).to_pylist()
            row |= {f"videos/{camera.key}/{name}": value for name, value in place(0).items()}
            begin_s = number * LENGTH / dataset.shape.fps
            row |= {f"videos/{camera.key}/from_timestamp": begin_s}
            row |= {f"videos/{camera.key}/to_timestamp": begin_s + LENGTH / dataset.shape.fps}
            pq.write_table(pa.Table.from_pylist([row]), rows)
    return root


def test_features_that_we_do_not_record_are_kept_and_none_is_invented(tmp_path: Path) -> None:
    """A reward was left out of info.json, and velocities that nobody recorded were put into it."""
    given = LeRobotDataset(of_another_recorder(tmp_path / "given"))
    copy_episodes([(given, 1)], tmp_path / "one")
    one = LeRobotDataset(tmp_path / "one")
    assert one.info["features"] == given.info["features"] and not list(problems(one))
    np.testing.assert_array_equal(one.rows(0)["next.reward"], np.arange(LENGTH) * 0.5 + 1)
    ours = LeRobotDataset(make_dataset(tmp_path / "ours", episodes=1, frames=LENGTH))
    for order in ((given, ours), (ours, given)):
        with pytest.raises(MismatchError, match=r"differ: only one has next.reward, stamp_ns, velocity"):
            copy_episodes([(each, 0) for each in order], tmp_path / "both")
    assert not (tmp_path / "both").exists()


def test_what_info_says_and_the_data_lack_is_found(tmp_path: Path) -> None:
    root = of_another_recorder(tmp_path / "given")
    change_info(root, lambda info: info["features"].pop("next.reward"))
    assert "episode 0: info.json and the data differ in next.reward" in list(problems(LeRobotDataset(root)))


def test_an_episode_that_begins_with_no_key_frame_can_be_seen_in_the_copy(tmp_path: Path) -> None:
    """Its packets were copied, and none of them could be decoded."""
    given = LeRobotDataset(in_one_video(tmp_path / "given"))
    assert not list(problems(given))
    copy_episodes([(given, 1)], tmp_path / "one")
    one = LeRobotDataset(tmp_path / "one")
    assert not list(problems(one))
    for camera in given.shape.cameras:
        for here, there in zip(one.pictures(0, camera.name), given.pictures(1, camera.name), strict=True):
            assert np.abs(here.astype(int) - there).mean() < 4.0


def test_statistics_without_quantiles_are_merged_without_them(tmp_path: Path) -> None:
    root = make_dataset(tmp_path / "given", episodes=2, frames=LENGTH)
    for number in range(2):
        file = root / EPISODES.format(**place(number))
        table = pq.read_table(file)
        pq.write_table(table.drop_columns([name for name in table.column_names if "/q" in name]), file)
    assert run(["data", "delete", str(root), "--episodes", "0", "--out", str(tmp_path / "one")]) == 0
    assert run(["data", "stats", str(tmp_path / "one")]) == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda info: info.update(fps=29.97), "fps 29.97, must be a whole number above 0"),
        (lambda info: info.update(fps=0), "fps 0, must be a whole number above 0"),
        (lambda info: info.update(total_episodes=None), "no dataset of a robot"),
        (
            lambda info: info["features"].update({"observation.image": info["features"]["observation.images.scene"]}),
            "observation.image, a camera must be called observation.images.NAME",
        ),
    ],
)
def test_an_info_that_cannot_be_right_is_one_error(
    change: Callable[[dict[str, Any]], object], said: str, tmp_path: Path
) -> None:
    change_info(root := make_dataset(tmp_path / "given", episodes=1, frames=2), change)
    with pytest.raises(InvalidDataError) as raised:
        LeRobotDataset(root)
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("3:2", "--episodes 3:2 names none"),
        ("2:2", "--episodes 2:2 names none"),
        ("0:100000000000", "there is no episode 6: the dataset has 0 to 5"),
        ("-1", "there is no episode -1"),
    ],
)
def test_numbers_that_name_no_episode_are_refused_at_once(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        parse_episodes(text, 6)


def test_what_a_killed_merge_left_is_removed_and_a_second_one_waits_for_nobody(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root, left = make_dataset(tmp_path / "given", episodes=1, frames=2), tmp_path / ".both.part"
    (left / "both" / "meta").mkdir(parents=True)
    merge = ["data", "merge", str(root), "--out", str(tmp_path / "both")]
    assert run(merge) == 0
    assert not left.exists() and not list(problems(LeRobotDataset(tmp_path / "both")))
    with DatasetWriter(tmp_path / ".other.part", shape()) as other:
        appender = other.begin()
        for frame in frames(0, 2):
            appender.add(frame)
        assert run([*merge[:-1], str(tmp_path / "other")]) == 2
        assert "is being written" in capsys.readouterr().err
        appender.abandon()


def test_datasets_of_a_split_lie_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = make_dataset(tmp_path / "given", episodes=2, frames=2)
    for out, rest in (("q", "q/rest"), ("z/rest", "z")):
        places = ["--out", str(tmp_path / out), "--rest", str(tmp_path / rest)]
        assert run(["data", "split", str(root), "--share", "0.5", *places]) == 2
        assert "take a folder beside it" in capsys.readouterr().err
    assert sorted(each.name for each in tmp_path.iterdir()) == ["given"]


def test_options_that_a_dataset_has_no_use_for_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = make_dataset(tmp_path / "given", episodes=1, frames=2)
    for option in (["--fps", "5"], ["--codec", "png"], ["--instruction", "pick it"], ["--proposed"], ["--bad"]):
        assert run(["data", "convert", str(root), "--to", "v2.1", "--out", str(tmp_path / "o"), *option]) == 2
        assert "--to v2.1 takes a dataset as it is" in capsys.readouterr().err
