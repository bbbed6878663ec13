"""What the exports of SmolVLA, pi0 and pi0.5 share: missing cameras, cases to measure parity over, the hand-over.

All three attend to a prefix of images and words that does not change while actions are denoised, and read of it keys
and values alone. `context.onnx` makes these once, `denoise.onnx` makes one step under them: no cache that grows, and
the same tensors for every step.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from tendon.core.errors import ConfigError, MismatchError
from tendon.policies.export.cases import random_observations
from tendon.policies.export.exported import CONTEXT_GRAPH, DENOISE_GRAPH, Report
from tendon.policies.export.lerobot.exported_policy import ExportedPolicy, TokenInput
from tendon.policies.export.lerobot.pixels import camera_inputs
from tendon.policies.export.lerobot.source import LeRobotSource
from tendon.policies.export.networks.vlm_files import bundle_tokenizer
from tendon.policies.export.source_graph import SourceGraph, export_all, verified_chunks
from tendon.policies.parity.chunk import CHUNK, NOISE
from tendon.policies.parity.graph import EXPORT_BOUND, Case, difference
from tendon.policies.spec.manifest import CameraInput
from tendon.policies.spec.sampling import Flow

TOKENIZER_FILE = "tokenizer.json"
TOKENIZER_STEP = "tokenizer_processor"
VELOCITY = "velocity"

Module = TypeVar("Module", bound=nn.Module)


class VlaContext(nn.Module):
    """A policy's prefix as a graph, and the source's own denoising step to compare with.

    Args:
        policy: LeRobot's.
        views: from `vla_views`.
        pixels: one a view, from what a camera gives to what LeRobot's preprocessor hands over.
        prompt: whose template an instruction is read in, see `tendon.policies.inference.prompt`.

    Attributes:
        policy: the same.
        prompt: likewise.
        inputs: names of what `forward` takes: an image (1, H, W, 3) uint8 a camera, `state` (1, S), `tokens` (1, L),
            `token_mask` (1, L).
        outputs: names of what `forward` answers.
        steps: how often the source denoises.
        vocabulary: how many tokens there are.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    steps: int
    vocabulary: int
    prompt: str

    def __init__(self, policy: Any, views: Mapping[str, CameraInput], pixels: Sequence[nn.Module], prompt: str) -> None:
        super().__init__()
        self.policy = policy
        self.prompt = prompt
        self.inputs = (*(f"image_{view.name}" for view in views.values()), "state", "tokens", "token_mask")
        self._keys = tuple(views)
        self._pixels = nn.ModuleList(pixels)

    def batch(self, images: Sequence[Tensor]) -> dict[str, Tensor]:
        """Returns the images as LeRobot's preprocessor hands them to the policy."""
        return {key: pixels(image) for key, pixels, image in zip(self._keys, self._pixels, images, strict=True)}

    def velocity(self, observed: Sequence[Tensor], x: Tensor, time: Tensor) -> Tensor:
        """Returns (1, T, M) as the source computes it, from the same inputs as `forward`."""
        raise NotImplementedError

    def chunk(self, observed: Sequence[Tensor], noise: Tensor) -> Tensor:
        """Returns (1, T, M), what the source denoises the noise to, all by itself."""
        raise NotImplementedError


def export_vla(
    source: LeRobotSource,
    views: Mapping[str, CameraInput],
    recorded: tuple[Case, ...],
    context: VlaContext,
    denoise: nn.Module,
    tokenizer: Any,
    report: Report,
    exporting: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> ExportedPolicy:
    """Returns the two graphs with all that a manifest says of them.

    Args:
        source: the policy's directory.
        views: from `vla_views`.
        recorded: inputs to measure parity over, beside random ones.
        context: what the first graph computes.
        denoise: the second: `x`, `time` and the first one's outputs to a velocity.
        tokenizer: from `read_tokenizer`.
        report: told of each step.
        exporting: entered while a graph is made.

    Raises:
        ConfigError: LeRobot would pad the words in another way, see also `export_graph`.
        MismatchError: the graphs do not answer what LeRobot's own modules answer.
    """
    config: Any = context.policy.config
    _check_padding(source, config)
    observations = (*recorded, *random_observations(tuple(views.values()), source.state_size))
    graphs = (
        SourceGraph(name=CONTEXT_GRAPH, module=context, inputs=context.inputs, outputs=context.outputs),
        SourceGraph(name=DENOISE_GRAPH, module=denoise, inputs=("x", "time", *context.outputs), outputs=(VELOCITY,)),
    )
    with exporting():
        made = export_all(graphs, vla_cases(context, config, observations), float64=False, report=report)
    report("the source's own steps, and a whole chunk of it")
    for case in made.cases:
        _check_source(context, case)
    cases = (_with_chunk(context, made.cases[0]), *made.cases[1:])
    schedule = flow_schedule(context.steps)
    made = verified_chunks(schedule, made, cases)
    return ExportedPolicy(
        source=source,
        views=views,
        made=replace(made, files={**made.files, TOKENIZER_FILE: bundle_tokenizer(tokenizer)}),
        rows=config.chunk_size,
        execute_rows=config.n_action_steps,
        model_components=config.max_action_dim,
        schedule=schedule,
        tokens=TokenInput(kind=context.prompt, tokenizer=TOKENIZER_FILE, length=config.tokenizer_max_length, mask=True),
    )


def vla_views(source: LeRobotSource, cameras: Mapping[str, str]) -> dict[str, CameraInput]:
    """Returns the policy's cameras by LeRobot's image key, in the policy's order.

    As many images as `empty_cameras` in its configuration says may go without a camera: to LeRobot they are padding
    that nothing attends to, to the graphs they do not exist.

    Args:
        source: the policy.
        cameras: see `camera_inputs`.

    Raises:
        ConfigError: see `camera_inputs`.
    """
    return camera_inputs(source, cameras, may_lack=source.count("empty_cameras", 0))


def vla_cases(context: VlaContext, config: Any, observations: Sequence[Case]) -> tuple[Case, ...]:
    """Returns observations with instructions of several lengths, noisy actions, and the times of several steps."""
    found = []
    length, shape = config.tokenizer_max_length, (1, config.chunk_size, config.max_action_dim)
    times = [1.0 - k / context.steps for k in range(context.steps)]
    for seed, observation in enumerate(observations):
        generator = np.random.default_rng(2000 + seed)
        words = generator.integers(1, length + 1)
        case = {
            "tokens": generator.integers(0, context.vocabulary, (1, length)),
            "token_mask": np.arange(length)[None] < words,
            "x": generator.standard_normal(shape, dtype=np.float32),
            "time": np.array([times[seed * (len(times) - 1) // max(len(observations) - 1, 1)]], np.float32),
        }
        found.append({**case, **observation})
    return tuple(found)


def _check_padding(source: LeRobotSource, config: Any) -> None:
    for step in source.preprocessor:
        if step.name == TOKENIZER_STEP:
            side, length = step.config.get("padding_side"), step.config.get("max_length")
            if (side, length) != ("right", config.tokenizer_max_length):
                raise ConfigError(
                    f"{source.folder}: {TOKENIZER_STEP} pads on the {side} to {length}, "
                    f"must be on the right to tokenizer_max_length {config.tokenizer_max_length}"
                )


@torch.no_grad()
def _check_source(context: VlaContext, case: Case) -> None:
    """Compares what the two graphs were made from with the source's own step, which no part was replaced in."""
    noisy = _tensors(case, ("x", "time"))
    answer = context.velocity(_tensors(case, context.inputs), *noisy)
    _, cosine, relative = difference(answer.numpy(), case[VELOCITY])
    if not relative <= EXPORT_BOUND:
        raise MismatchError(
            f"{VELOCITY} of the graphs differs from LeRobot's by {relative:.2g} (cosine {cosine:.6f}), "
            f"allowed {EXPORT_BOUND:g}; do not deploy it"
        )


@torch.no_grad()
def _with_chunk(context: VlaContext, case: Case) -> Case:
    """Returns the case with noise and what LeRobot denoises it to."""
    (noise,) = _tensors(case, ("x",))
    return {**case, NOISE: case["x"], CHUNK: context.chunk(_tensors(case, context.inputs), noise).numpy()}


def _tensors(case: Case, names: Sequence[str]) -> list[Tensor]:
    return [torch.from_numpy(np.array(case[name])) for name in names]


def flow_schedule(steps: int) -> Flow:
    """Returns LeRobot's Euler steps from time 1, noise, to 0."""
    return Flow(steps=steps, start=1.0, end=0.0)


def shared_copy(module: Module) -> Module:
    """Returns a copy whose parts can be replaced, over the same weights."""
    tensors = (*module.parameters(), *module.buffers())
    return copy.deepcopy(module, {id(tensor): tensor for tensor in tensors})
