"""Observations of a data set that LeRobot wrote are read frame for frame, as the policy's graph wants them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tendon.core.errors import ConfigError, IntegrityError, MismatchError
from tendon.policies.export.lerobot.packages import lerobot_module
from tendon.policies.export.lerobot.pixels import camera_inputs
from tendon.policies.export.lerobot.recorded import recorded_cases, recorded_rate
from tendon.policies.export.lerobot.source import LeRobotSource, read_source
from tests.policies.export.lerobot.tiny_policies import CAMERAS, HEIGHT, STATE, WIDTH

EPISODES, FRAMES, FPS = 2, 6, 10


def brightness(frame: int) -> int:
    """Each frame of the data set has its own, so that a wrong one is seen through the codec."""
    return 20 + 15 * frame


def write(folder: Path, videos: bool, width: int = WIDTH) -> Path:
    shape = (HEIGHT, width, 3)
    picture = {"dtype": "video" if videos else "image", "shape": shape, "names": ["height", "width", "channels"]}
    features: dict[str, Any] = {f"observation.images.{name}": picture for name in CAMERAS}
    features["observation.state"] = {"dtype": "float32", "shape": (STATE,), "names": None}
    features["action"] = {"dtype": "float32", "shape": (2,), "names": None}
    kind = lerobot_module("datasets.lerobot_dataset").LeRobotDataset
    data = kind.create("tendon/tiny", FPS, features, root=folder, use_videos=videos)
    for episode in range(EPISODES):
        for frame in range(FRAMES):
            index = episode * FRAMES + frame
            images = {f"observation.images.{name}": np.full(shape, brightness(index), np.uint8) for name in CAMERAS}
            images["observation.images.wrist"][:, :, 0] = 255  # red
            state = np.full(STATE, index, np.float32)
            data.add_frame({**images, "observation.state": state, "action": np.zeros(2, np.float32), "task": "reach"})
        data.save_episode()
    data.finalize()
    return folder


@pytest.fixture(scope="module", params=[False, True], ids=["pictures", "videos"])
def data(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("data") / "set", request.param)


@pytest.fixture(scope="module")
def source(act_folder: Path) -> LeRobotSource:
    return read_source(act_folder)


@pytest.mark.parametrize("history", [1, 3])
def test_every_frame_is_found_with_those_before_it_in_its_episode(
    data: Path, source: LeRobotSource, history: int
) -> None:
    cases = recorded_cases(source, camera_inputs(source, CAMERAS), data, history, count=EPISODES * FRAMES)
    assert len(cases) == EPISODES * FRAMES
    affine = source.normalisation("observation.state")
    for at, case in enumerate(cases):
        first = at - at % FRAMES
        seen = [max(at - k, first) for k in range(history - 1, -1, -1)]
        assert case["image_scene"].shape == (history, HEIGHT, WIDTH, 3) and case["image_scene"].dtype == np.uint8
        means = case["image_scene"].mean((1, 2, 3))
        assert np.abs(means - [brightness(index) for index in seen]).max() < 5.0
        assert case["image_wrist"][..., 0].min() > 200 and case["image_wrist"][..., 2].max() < 230  # RGB, not BGR
        states = case["state"].astype(np.float64) * affine.std + affine.mean
        np.testing.assert_allclose(states[:, 0], seen, rtol=1e-5, atol=1e-5)


def test_its_rate_is_known(data: Path) -> None:
    assert recorded_rate(data) == FPS


def test_a_few_are_spread_over_all_of_it(data: Path, source: LeRobotSource) -> None:
    cases = recorded_cases(source, camera_inputs(source, CAMERAS), data, count=3)
    assert [round(case["image_scene"].mean()) for case in cases] == pytest.approx(
        [brightness(0), brightness(6), brightness(11)], abs=5
    )


def test_images_of_another_size_are_refused(tmp_path: Path, source: LeRobotSource) -> None:
    folder = write(tmp_path / "set", videos=False, width=WIDTH + 16)
    with pytest.raises(MismatchError, match=r"camera scene are 80x48 px, the policy sees 64x48"):
        recorded_cases(source, camera_inputs(source, CAMERAS), folder)


def test_broken_data_sets_are_refused(tmp_path: Path, source: LeRobotSource) -> None:
    views = camera_inputs(source, CAMERAS)
    folder = write(tmp_path / "set", videos=False)
    info = folder / "meta" / "info.json"
    text = info.read_text()

    def refused(error: type[Exception], match: str) -> None:
        with pytest.raises(error, match=match):
            recorded_cases(source, views, folder)

    info.write_text(json.dumps({**json.loads(text), "codebase_version": "v2.1"}))
    refused(ConfigError, r"version 'v2.1', this reads v3.0")
    info.write_text("{")
    refused(ConfigError, "not valid JSON")
    info.unlink()
    refused(ConfigError, "no LeRobot data set")
    info.write_text(text.replace("observation.images.top", "observation.images.front"))
    table = next(folder.glob("data/*/*.parquet"))
    content = table.read_bytes()
    table.write_bytes(content[:-20])
    refused(IntegrityError, "cannot be read")
    table.write_bytes(content)
    table.unlink()
    refused(ConfigError, "holds no frames")
