"""LeRobot's own trainer trains from a dataset made here, goes on where it was cut, and leaves what is imported."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tendon.policies.export.lerobot.source import LeRobotSource, read_source
from tests.data.episodes import make_dataset

SCRIPT = Path(__file__).resolve().parents[4] / "recipes" / "lerobot_train.py"
SMALL = {
    "act": "--policy.chunk_size 4 --policy.n_action_steps 4 --policy.dim_model 32 --policy.n_heads 2 "
    "--policy.dim_feedforward 32 --policy.n_encoder_layers 1 --policy.n_vae_encoder_layers 1",
    "diffusion": "--policy.n_obs_steps 1 --policy.horizon 4 --policy.n_action_steps 2 --policy.drop_n_last_frames 2 "
    "--policy.down_dims [16,32] --policy.diffusion_step_embed_dim 16",
}
INPUTS = """{"observation.state": {"type": "STATE", "shape": [8]},
"observation.images.scene": {"type": "VISUAL", "shape": [3, 128, 128]}}"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_dataset(tmp_path_factory.mktemp("set") / "png", 2, 12, "png")


@pytest.fixture
def train(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def run(*options: str) -> None:
        monkeypatch.setattr(sys, "argv", [str(SCRIPT), *options])
        runpy.run_path(str(SCRIPT), run_name="__main__")

    return run


@pytest.mark.parametrize("policy", SMALL)
def test_the_trainer_starts_resumes_and_leaves_what_is_read(
    policy: str, root: Path, tmp_path: Path, train: Callable[..., None]
) -> None:
    out = tmp_path / policy
    same = f"--dataset.repo_id tendon/test --dataset.root {root} --output_dir {out} --dataset.use_imagenet_stats false"
    same += f" --policy.type {policy} --policy.device cpu --policy.push_to_hub false --num_workers 0 --batch_size 2"
    weights = ("--policy.pretrained_backbone_weights", "null", "--policy.input_features", INPUTS)
    train(*same.split(), *weights, *SMALL[policy].split(), "--steps", "1", "--save_freq", "1", "--eval_freq", "0")
    first = trained(out)
    train(f"--config_path={first.folder / 'train_config.json'}", "--resume=true", "--steps", "2")
    second = trained(out)
    assert (out / "checkpoints" / "000002").is_dir()
    assert second.type == policy and list(second.images) == ["observation.images.scene"]
    assert second.digests["model.safetensors"] != first.digests["model.safetensors"]
    assert second.normalisation("observation.state") == first.normalisation("observation.state")


def trained(out: Path) -> LeRobotSource:
    return read_source(out / "checkpoints" / "last" / "pretrained_model")
