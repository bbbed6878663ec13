"""A dataset made here is loaded, iterated and trained from by LeRobot's own code.

Pictures in the parquet files (`--codec png`) are read by LeRobot alone. LeRobot 0.4.4 decodes videos by torchcodec or
by torchvision's VideoReader; the wheels that fit our torch for CPU have neither (torchvision 0.28 has dropped it,
torchcodec asks for CUDA's libraries), so for videos the decoder is PyAV's, and all around it is LeRobot's.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
import torch

from tendon.data.lerobot.reader import LeRobotDataset as Ours
from tendon.policies.export.lerobot.packages import lerobot_module
from tests.data.episodes import FPS, make_dataset

EPISODES, FRAMES = 3, 12


def decode(path: Path, timestamps: Sequence[float], tolerance_s: float, backend: str | None = None) -> torch.Tensor:
    """What LeRobot's `decode_video_frames` promises."""
    with av.open(str(path)) as container:
        found = [(float(f.time or 0.0), f.to_ndarray(format="rgb24")) for f in container.decode(video=0)]
    picked = [min(found, key=lambda each, at=at: abs(each[0] - at)) for at in timestamps]
    assert all(abs(each[0] - at) < tolerance_s for each, at in zip(picked, timestamps, strict=True))
    return torch.from_numpy(np.stack([each[1] for each in picked])).permute(0, 3, 1, 2).float() / 255


@pytest.fixture(scope="module", params=["png", "h264", "av1"])
def root(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_dataset(tmp_path_factory.mktemp("set") / request.param, EPISODES, FRAMES, request.param)


@pytest.fixture
def theirs(root: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    module = lerobot_module("datasets.lerobot_dataset")
    if root.name != "png":
        monkeypatch.setattr(module, "decode_video_frames", decode)
    steps = {"action": [k / FPS for k in range(4)]}
    return module.LeRobotDataset("tendon/test", root=root, delta_timestamps=steps)


def test_lerobot_reads_what_was_written(root: Path, theirs: Any) -> None:
    """Shapes, stamps, tasks, statistics, and pictures within the error of the codec."""
    ours = Ours(root)
    assert len(theirs) == EPISODES * FRAMES and theirs.fps == FPS
    assert theirs.meta.total_episodes == EPISODES and len(theirs.meta.tasks) == 2
    for index in (0, 1, FRAMES - 1, FRAMES, len(theirs) - 1):
        item, episode = theirs[index], index // FRAMES
        frame = list(ours.frames(episode))[index % FRAMES]
        assert item["task"] == frame.task and int(item["stamp_ns"]) == frame.stamp_ns
        assert np.array_equal(item["observation.state"].numpy(), frame.state)
        assert np.array_equal(item["action"][0].numpy(), frame.action)
        for name, pixels in frame.images.items():
            found = (item[f"observation.images.{name}"].permute(1, 2, 0).numpy() * 255).round()
            assert np.abs(found - pixels).mean() < 1.0, "the same decoder finds the same pictures"
    assert theirs.meta.stats["observation.images.scene"]["mean"].shape == (3, 1, 1)
    assert set(theirs.meta.stats["action"]) >= {"min", "max", "mean", "std", "count", "q01", "q99"}


def test_lerobot_trains_one_step_of_act_from_it(root: Path, theirs: Any) -> None:
    types = lerobot_module("configs.types")
    act, processors = lerobot_module("policies.act.modeling_act"), lerobot_module("policies.act.processor_act")
    features = lerobot_module("datasets.utils").dataset_to_policy_features(theirs.meta.features)
    outputs = {name: each for name, each in features.items() if each.type is types.FeatureType.ACTION}
    assert list(outputs) == ["action"]
    config = lerobot_module("policies.act.configuration_act").ACTConfig(
        input_features={name: each for name, each in features.items() if name not in outputs},
        output_features=outputs,
        chunk_size=4,
        n_action_steps=4,
        dim_model=32,
        n_heads=2,
        dim_feedforward=32,
        n_encoder_layers=1,
        n_vae_encoder_layers=1,
        pretrained_backbone_weights=None,
        device="cpu",
    )
    torch.manual_seed(0)
    policy = act.ACTPolicy(config)
    prepare, _ = processors.make_act_pre_post_processors(config, theirs.meta.stats)
    batch = next(iter(torch.utils.data.DataLoader(theirs, batch_size=4, shuffle=True)))
    before = [each.detach().clone() for each in policy.parameters()]
    loss, _ = policy.forward(prepare(batch))
    optimizer = torch.optim.AdamW(policy.get_optim_params(), lr=1e-3)
    loss.backward()
    optimizer.step()
    assert torch.isfinite(loss)
    moved = [not torch.equal(one, other) for one, other in zip(before, policy.parameters(), strict=True)]
    assert sum(moved) > len(moved) // 2
