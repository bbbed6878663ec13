"""Diffusion Policy (Chi et al. 2023) of LeRobot as two graphs: observations to conditioning, and one denoising step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from tendon.policies.export.cases import random_observations
from tendon.policies.export.exported import CONTEXT_GRAPH, DENOISE_GRAPH, DiffusionSampler, ExportedGraphs
from tendon.policies.export.lerobot_policy import lerobot_policy
from tendon.policies.export.lerobot_source import STATE, LeRobotSource
from tendon.policies.export.pixels import Pixels, camera_inputs
from tendon.policies.export.source_graph import SourceGraph, export_all
from tendon.policies.parity import Case

CONDITIONING = "conditioning"


class ContextGraph(nn.Module):
    """LeRobot's global conditioning behind the pixels' normalisation."""

    def __init__(self, network: Any, pixels: list[Pixels]) -> None:
        super().__init__()
        self.network = network
        self.pixels = nn.ModuleList(pixels)

    def forward(self, *inputs: Tensor) -> Tensor:
        """Returns (1, G). Inputs: (n, H, W, 3) images of each camera, then (n, S) states, oldest first."""
        *images, state = inputs
        normalised = [pixels(image) for pixels, image in zip(self.pixels, images, strict=True)]
        batch = {STATE: state[None], "observation.images": torch.stack(normalised, dim=1)[None]}
        conditioning: Tensor = self.network._prepare_global_conditioning(batch)
        return conditioning


class DenoiseGraph(nn.Module):
    """LeRobot's U-Net; `time` is the timestep as a float, which its embedding takes as well."""

    def __init__(self, unet: nn.Module) -> None:
        super().__init__()
        self.unet = unet

    def forward(self, x: Tensor, time: Tensor, conditioning: Tensor) -> Tensor:
        """Returns the (1, T, C) prediction for noisy actions x."""
        prediction: Tensor = self.unet(x, time, global_cond=conditioning)
        return prediction


def export_diffusion(
    source: LeRobotSource, cameras: Mapping[str, str], recorded: tuple[Case, ...] = ()
) -> ExportedGraphs:
    """Returns the graphs `context.onnx` and `denoise.onnx` of a Diffusion Policy.

    Args:
        source: from `read_source`.
        cameras: see `camera_inputs`.
        recorded: inputs to measure parity over, beside random ones.

    Raises:
        TendonError: see `lerobot_policy`, `camera_inputs` and `export_graph`.
    """
    source.check_steps()
    views = camera_inputs(source, cameras)
    state, action = source.normalisation(STATE), source.action_normalisation()
    pixels = [Pixels(source.normalisation(key)) for key in views]
    policy = lerobot_policy(source)
    config: Any = policy.config
    sampler = diffusion_sampler(policy.diffusion)
    context = SourceGraph(
        name=CONTEXT_GRAPH,
        module=ContextGraph(policy.diffusion, pixels).eval(),
        inputs=(*(f"image_{view.name}" for view in views.values()), "state"),
        outputs=(CONDITIONING,),
    )
    denoise = SourceGraph(
        name=DENOISE_GRAPH,
        module=DenoiseGraph(policy.diffusion.unet).eval(),
        inputs=("x", "time", CONDITIONING),
        outputs=("prediction",),
    )
    observations = random_observations(tuple(views.values()), source.state_size, config.n_obs_steps)
    shape = (1, config.horizon, source.action_size)
    made = export_all((context, denoise), _with_noise((*recorded, *observations), sampler, shape))
    return ExportedGraphs(
        policy_type=source.type,
        kind="diffusion",
        files=made.files,
        cameras=tuple(views.values()),
        image_keys={view.name: key for key, view in views.items()},
        state_size=source.state_size,
        state_mean=state.mean,
        state_std=state.std,
        observation_steps=config.n_obs_steps,
        rows=config.horizon,
        first_row=config.n_obs_steps - 1,
        execute_rows=config.n_action_steps,
        components=source.action_size,
        model_components=source.action_size,
        action_mean=action.mean,
        action_std=action.std,
        sampler=sampler,
        tokens=None,
        references=made.cases,
        parity=made.parity,
        source=source.record(),
    )


def diffusion_sampler(network: Any) -> DiffusionSampler:
    """Returns the numbers of LeRobot's scheduler, as `diffusers` steps it."""
    scheduler = network.noise_scheduler
    settings = scheduler.config
    scheduler.set_timesteps(network.num_inference_steps)
    timesteps = tuple(int(t) for t in scheduler.timesteps)
    alphas = scheduler.alphas_cumprod.double()
    kind = network.config.noise_scheduler_type
    stride = settings.num_train_timesteps // network.num_inference_steps
    ends = [t - stride for t in timesteps] if kind == "DDIM" else [*timesteps[1:], -1]
    return DiffusionSampler(
        scheduler=kind,
        prediction=settings.prediction_type,
        timesteps=timesteps,
        alphas_cumprod=tuple(float(alphas[t]) for t in timesteps),
        alphas_cumprod_previous=tuple(float(alphas[t]) if t >= 0 else 1.0 for t in ends),
        clip=float(settings.clip_sample_range) if settings.clip_sample else None,
    )


def _with_noise(cases: tuple[Case, ...], sampler: DiffusionSampler, shape: tuple[int, ...]) -> tuple[Case, ...]:
    """Returns the cases with noisy actions, each at another of the sampler's steps, first and last among them."""
    found = []
    steps = np.linspace(0, len(sampler.timesteps) - 1, max(len(cases), 2)).round().astype(int)
    for seed, (case, step) in enumerate(zip(cases, steps, strict=False)):
        x = np.random.default_rng(1000 + seed).standard_normal(shape, dtype=np.float32)
        found.append({**case, "x": x, "time": np.array([sampler.timesteps[step]], np.float32)})
    return tuple(found)
