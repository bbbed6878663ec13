"""A Diffusion Policy of LeRobot, exported, answers what LeRobot itself answers, with each of its schedulers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tendon.policies.engines.loading import Engine, load_graph
from tendon.policies.export.lerobot.exported_policy import ExportedPolicy
from tendon.policies.export.lerobot.packages import lerobot_module
from tendon.policies.export.networks.diffusion import diffusion_schedule
from tendon.policies.parity.graph import difference
from tests.policies.export.lerobot.tiny_policies import (
    ACTION,
    CAMERAS,
    as_lerobot,
    denormalised,
    loaded,
    normalised,
    observation,
)

BOUND = 1e-5
SEED, ROWS = 3, 16
SCHEDULERS = [
    {"name": "DDPM", "prediction_type": "epsilon"},
    {"name": "DDPM", "prediction_type": "sample"},
    {"name": "DDIM", "prediction_type": "epsilon"},
    {"name": "DDIM", "prediction_type": "sample"},
    {"name": "DDIM", "prediction_type": "epsilon", "clip_sample": False},
]


class TorchNoise(np.random.Generator):
    """Draws what torch draws from the same seed."""

    def __init__(self) -> None:
        super().__init__(np.random.PCG64())
        self._torch = torch.Generator().manual_seed(SEED)

    def standard_normal(self, size: Any = None, *_: Any, **__: Any) -> Any:
        return torch.randn((1, *size), generator=self._torch)[0].numpy()


def _lerobot_chunk(
    policy: Any, before: Any, measured: list[dict[str, np.ndarray]], noise: torch.Tensor
) -> torch.Tensor:
    """Returns what LeRobot answers after these observations; the noise of each step is torch's from `SEED`."""
    policy.reset()
    for each in measured:
        batch = dict(before(as_lerobot(each)))
        batch.pop("action")  # as `select_action` does
        batch["observation.images"] = torch.stack([batch[key] for key in policy.config.image_features], dim=-4)
        policy._queues = lerobot_module("policies.utils").populate_queues(policy._queues, batch)
    torch.manual_seed(SEED)
    chunk: torch.Tensor = policy.predict_action_chunk(batch, noise=noise)
    return chunk


@pytest.mark.parametrize("settings", SCHEDULERS, ids=lambda s: "-".join(map(str, s.values())))
def test_the_graphs_answer_what_lerobot_answers_from_raw_observations_to_robot_units(
    diffusion_graphs: ExportedPolicy, diffusion_folder: Path, settings: dict[str, Any]
) -> None:
    policy, before, after = loaded("diffusion", "Diffusion", diffusion_folder)
    make = lerobot_module("policies.diffusion.modeling_diffusion")._make_noise_scheduler
    policy.diffusion.noise_scheduler = make(num_train_timesteps=20, beta_schedule="squaredcos_cap_v2", **settings)
    policy.config.noise_scheduler_type = settings["name"]
    measured = [observation(seed) for seed in range(2)]
    noise = np.random.default_rng(0).standard_normal((ROWS, ACTION), dtype=np.float32)
    wanted = after(_lerobot_chunk(policy, before, measured, torch.from_numpy(noise)[None])).numpy()[0]

    context = load_graph(diffusion_graphs.made.files, "context.onnx", Engine("cpu"))
    denoise = load_graph(diffusion_graphs.made.files, "denoise.onnx", Engine("cpu"))
    feeds = {f"image_{camera}": np.stack([each[name] for each in measured]) for name, camera in CAMERAS.items()}
    states = normalised(diffusion_graphs.source, np.stack([each["state"] for each in measured]))
    known = context.run({**feeds, "state": states})

    def predict(x: np.ndarray, time: float) -> np.ndarray:
        inputs = {"x": x[None].astype(np.float32), "time": np.array([time], np.float32)}
        return np.asarray(denoise.run({**inputs, **known})["prediction"][0])

    chunk = diffusion_schedule(policy.diffusion).sample(predict, noise, None, TorchNoise())
    found = denormalised(diffusion_graphs.source, chunk)
    assert difference(wanted, found[diffusion_graphs.first_row :][: diffusion_graphs.execute_rows])[2] < BOUND


@pytest.mark.parametrize("steps", [20, 10, 3])
def test_fewer_steps_are_those_that_lerobot_itself_would_take_with_ddim(diffusion_folder: Path, steps: int) -> None:
    network = loaded("diffusion", "Diffusion", diffusion_folder)[0].diffusion
    make = lerobot_module("policies.diffusion.modeling_diffusion")._make_noise_scheduler

    def schedule(name: str, count: int) -> Any:
        network.noise_scheduler = make(name, num_train_timesteps=20, beta_schedule="squaredcos_cap_v2")
        network.config.noise_scheduler_type, network.num_inference_steps = name, count
        return diffusion_schedule(network)

    assert schedule("DDPM", 20).in_steps(steps) == schedule("DDIM", steps)


def test_the_export_says_how_the_policy_is_run(diffusion_graphs: ExportedPolicy) -> None:
    assert (
        diffusion_graphs.rows,
        diffusion_graphs.first_row,
        diffusion_graphs.execute_rows,
    ) == (ROWS, 1, 8)
    assert diffusion_graphs.observation_steps == 2
    assert {row.output for row in diffusion_graphs.made.parity} == {"conditioning", "prediction", "chunk"}
    assert all(row.passed for row in diffusion_graphs.made.parity)
    times = [float(case["time"][0]) for case in diffusion_graphs.made.cases]
    assert times[0] == 18.0 and times[-1] == 0.0  # noisy and clean ends of ten of twenty steps


def test_the_conditioning_depends_on_every_camera_and_on_the_older_observation(
    diffusion_graphs: ExportedPolicy,
) -> None:
    context = load_graph(diffusion_graphs.made.files, "context.onnx", Engine("cpu"))
    case = diffusion_graphs.made.cases[0]
    feeds = {name: case[name] for name in context.inputs}
    for name in context.inputs:
        for step in range(2):
            changed = feeds[name].copy()
            changed[step] = changed[step] // 2 if changed.dtype == np.uint8 else changed[step] + 1
            answer = context.run({**feeds, name: changed})["conditioning"]
            assert difference(case["conditioning"], answer)[2] > 1e-3, (name, step)


def test_two_graphs_are_seven_stages(diffusion_export: tuple[ExportedPolicy, list[str]]) -> None:
    """As an import counts them."""
    assert len(diffusion_export[1]) == 7
