"""Diffusion Policy (Chi et al. 2023) of LeRobot as two graphs: observations to conditioning, and one denoising step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from tendon.policies.export.cases import random_observations
from tendon.policies.export.exported import CONTEXT_GRAPH, DENOISE_GRAPH, Report
from tendon.policies.export.lerobot.exported_policy import ExportedPolicy
from tendon.policies.export.lerobot.pixels import Pixels, camera_inputs
from tendon.policies.export.lerobot.policy import lerobot_policy
from tendon.policies.export.lerobot.source import STATE, LeRobotSource
from tendon.policies.export.source_graph import SourceGraph, export_all, verified_chunks
from tendon.policies.parity.chunk import CHUNK, NOISE, STEP_NOISE
from tendon.policies.parity.graph import Case
from tendon.policies.spec.sampling import Diffusion

CONDITIONING = "conditioning"
CHUNKS = 2
"""How many cases are denoised from beginning to end."""


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
    source: LeRobotSource,
    cameras: Mapping[str, str],
    recorded: tuple[Case, ...] = (),
    report: Report = lambda _: None,
) -> ExportedPolicy:
    """Returns the graphs `context.onnx` and `denoise.onnx` of a Diffusion Policy.

    Args:
        source: from `read_source`.
        cameras: see `camera_inputs`.
        recorded: inputs to measure parity over, beside random ones.
        report: told of each step.

    Raises:
        TendonError: see `lerobot_policy`, `camera_inputs` and `export_graph`.
    """
    source.check_steps()
    views = camera_inputs(source, cameras)
    pixels = [Pixels(source.normalisation(key)) for key in views]
    policy = lerobot_policy(source)
    config: Any = policy.config
    schedule = diffusion_schedule(policy.diffusion)
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
    inputs = _with_noise((*recorded, *observations), schedule, shape)
    made = export_all((context, denoise), inputs, report=report)
    report(f"{CHUNKS} whole chunks, from noise on")
    cases = (*(_with_chunk(policy.diffusion, case, schedule) for case in made.cases[:CHUNKS]), *made.cases[CHUNKS:])
    return ExportedPolicy(
        source=source,
        views=views,
        made=verified_chunks(schedule, made, cases),
        observation_steps=config.n_obs_steps,
        rows=config.horizon,
        first_row=config.n_obs_steps - 1,
        execute_rows=config.n_action_steps,
        model_components=source.action_size,
        schedule=schedule,
    )


def diffusion_schedule(network: Any) -> Diffusion:
    """Returns the numbers of LeRobot's scheduler, as `diffusers` steps it."""
    scheduler = network.noise_scheduler
    scheduler.set_timesteps(network.num_inference_steps)
    timesteps = tuple(int(t) for t in scheduler.timesteps)
    alphas = scheduler.alphas_cumprod.double()
    return Diffusion(
        timesteps=timesteps,
        alphas=tuple(float(alphas[t]) for t in timesteps),
        stochastic=network.config.noise_scheduler_type == "DDPM",
        prediction=scheduler.config.prediction_type,
        clip=float(scheduler.config.clip_sample_range) if scheduler.config.clip_sample else None,
    )


def _with_noise(cases: tuple[Case, ...], schedule: Diffusion, shape: tuple[int, ...]) -> tuple[Case, ...]:
    """Returns the cases with noisy actions, each at another of the schedule's steps, first and last among them."""
    found = []
    steps = np.linspace(0, len(schedule.timesteps) - 1, max(len(cases), 2)).round().astype(int)
    for seed, (case, step) in enumerate(zip(cases, steps, strict=False)):
        x = np.random.default_rng(1000 + seed).standard_normal(shape, dtype=np.float32)
        found.append({**case, "x": x, "time": np.array([schedule.timesteps[step]], np.float32)})
    return tuple(found)


@torch.no_grad()
def _with_chunk(network: Any, case: Case, schedule: Diffusion) -> Case:
    """Returns the case with noise and what LeRobot denoises it to. The noise of its steps is drawn twice, equally."""
    noise = torch.from_numpy(np.array(case["x"]))
    drawn = torch.Generator().manual_seed(0)
    steps = [torch.randn(noise.shape, generator=drawn)[0].numpy() for _ in schedule.timesteps[1:]]
    conditioning = torch.from_numpy(np.array(case[CONDITIONING]))
    chunk = network.conditional_sample(1, conditioning, generator=torch.Generator().manual_seed(0), noise=noise)
    stored = {STEP_NOISE: np.stack(steps)} if schedule.stochastic and steps else {}
    return {**case, NOISE: noise.numpy(), **stored, CHUNK: chunk.numpy()}
