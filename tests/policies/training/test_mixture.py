"""Demonstrations, datasets and recordings, mixed by weights."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tendon.cli import main
from tendon.core.errors import ConfigError, InvalidDataError
from tendon.data.convert.to_mcap import write_recording
from tendon.data.lerobot.layout import Camera, Shape
from tendon.data.lerobot.reader import LeRobotDataset
from tendon.data.lerobot.writer import DatasetWriter, Frame
from tendon.policies.training.mixture import Mixture, Part
from tendon.policies.training.recover import recover_run
from tests.policies.training.recorded_episodes import BUNDLE, FPS, PROFILE, Memory, moving, recording

torch.set_num_threads(1)
BUNDLE_PATH = Path(__file__).resolve().parents[3] / "bundles" / "tabletop"


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """What the run that the shipped bundle was exported from says of itself."""
    folder = tmp_path_factory.mktemp("known")
    recover_run(BUNDLE, folder, recording(Memory([])).viewpoints)
    return json.loads((folder / "run.json").read_text())


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cameras = tuple(Camera(name=each.name, width=each.width, height=each.height) for each in PROFILE.cameras)
    root = tmp_path_factory.mktemp("dataset") / "set"
    shape = Shape(robot="panda", fps=FPS, joints=PROFILE.joint_names, cameras=cameras)
    for outcome in ("success", "failure", "success"):
        with DatasetWriter(root, shape) as writer:
            appender = writer.begin()
            for frame in moving(40, begin_s=1.0):
                appender.add(frame)
            appender.finish("some.mcap", outcome)
    return root


def test_a_frame_is_drawn_as_often_as_its_weight_says(known: dict[str, object]) -> None:
    """Of the second part there are twice as many frames, and each is drawn three times as often."""
    dark, bright = Memory([moving(40)]), Memory([[_bright(frame) for frame in moving(80)]])
    parts = [Part(source=recording(dark)), Part(source=recording(bright), weight=3.0)]
    batches = Mixture(parts, known).batches(64, np.random.default_rng(0))
    share = np.mean([(next(batches)["image_scene"][:, 0, 0, 0] == 255).float().mean() for _ in range(20)])
    assert share == pytest.approx(6 / 7, abs=0.03)


def _bright(frame: Frame) -> Frame:
    return replace(frame, images={name: np.full_like(pixels, 255) for name, pixels in frame.images.items()})


class Broken(Memory):
    """Episodes on a disk that fails."""

    def frames(self, episode: int) -> Iterator[Frame]:
        raise InvalidDataError("mine cannot be read")


def test_what_goes_wrong_while_reading_ends_the_training(known: dict[str, object]) -> None:
    """It is read in another thread; whoever waits for the next batch used to wait for ever."""
    with pytest.raises(InvalidDataError, match="mine cannot be read"):
        next(Mixture([Part(source=recording(Broken([moving(40)])))], known).batches(8, np.random.default_rng(0)))


def test_recordings_alone_do_not_say_what_a_new_policy_is_to_answer() -> None:
    with pytest.raises(ConfigError, match="go on from a bundle or a run"):
        Mixture([Part(source=recording(Memory([moving(40)])))], {})


def train(*arguments: object) -> int:
    return main(["policy", "train", *map(str, arguments), "--steps", "2", "--batch", "4"])


def test_a_bundle_is_finetuned_on_a_dataset_and_on_its_recordings(
    dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "files").mkdir()
    write_recording(LeRobotDataset(dataset), 0, PROFILE, tmp_path / "files" / "episode-000000.mcap")
    data = ["--data", f"{dataset}:2", "--data", tmp_path / "files"]
    assert train(*data, "--from", BUNDLE_PATH, "--out", tmp_path / "run") == 0
    said = capsys.readouterr().out
    assert f"left out: {dataset}: 1 of 3 episodes are failures" in said and f"{dataset}: 2 episodes, 80 frames" in said
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["step"] == 2 and record["frames"] == 120 and record["recipe"]["freeze_norm"]
    losses = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    assert all(np.isfinite(list(row.values())).all() for row in losses)


def nothing(dataset: Path, tmp_path: Path) -> Path:
    return tmp_path


def with_weight(weight: str) -> Callable[[Path, Path], str]:
    return lambda dataset, tmp_path: f"{dataset}:{weight}"


@pytest.mark.parametrize(
    ("data", "options", "said"),
    [
        (with_weight("0"), [], "weight of .* is 0.*must be"),
        (with_weight("-1"), [], "weight of .* is -1.*must be"),
        (with_weight("nan"), [], "weight of .* is nan"),
        (with_weight("x"), [], "set:x: weight is 'x', must be a number above 0"),
        (lambda dataset, tmp_path: f"{dataset}e:x", [], "there is no .*sete:x: name"),
        (lambda dataset, tmp_path: f"{dataset}e:2", [], "there is no .*sete: name"),
        (with_weight("1"), ["--robot", "ur5e_2f85"], "take data of this robot, or --robot for that one"),
        (nothing, [], "nothing to learn from at"),
    ],
)
def test_bad_data_are_one_clear_error(
    data: Callable[[Path, Path], object],
    options: list[str],
    said: str,
    dataset: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = ["--data", data(dataset, tmp_path), "--from", BUNDLE_PATH, *options]
    assert train(*given, "--out", tmp_path / "run") == 2
    errors = capsys.readouterr().err
    assert re.search(said, " ".join(errors.split())), errors


def test_data_without_an_instruction_are_refused_before_anything_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was said after a minute, by the first frame that was drawn."""
    cameras = tuple(Camera(name=each.name, width=each.width, height=each.height) for each in PROFILE.cameras)
    root, out = tmp_path / "set", tmp_path / "run"
    for number in range(2):
        with DatasetWriter(root, Shape(robot="panda", fps=FPS, joints=PROFILE.joint_names, cameras=cameras)) as writer:
            appender = writer.begin()
            for frame in moving(4, begin_s=1.0 + number, task=""):
                appender.add(frame)
            appender.finish(f"{number}.mcap")
    write_recording(LeRobotDataset(root), 0, PROFILE, tmp_path / "0.mcap")
    for place, count in ((root, 2), (tmp_path / "0.mcap", 1)):
        assert main(["policy", "train", "--data", str(place), "--from", str(BUNDLE_PATH), "--out", str(out)]) != 0
        said = capsys.readouterr().err
        assert f"{place}: {count} of {count} episodes have no instruction" in said and "--instruction" in said
    assert not out.exists()
