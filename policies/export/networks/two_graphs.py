"""The small policy as two graphs, so that its flow can be in-painted: observation to context, one step of the flow.

The flow is told that no row is given: without a plan, four steps answer what the one graph answers with no prefix.

The network normalises each row of a chunk by itself, a bundle each component: `net = scale * x + shift` per row and
component, where the chunk is clean. On the way from zeros it is `net = scale * x + time * shift`, which keeps straight
paths straight, so Euler's steps are the same in both, and `velocity = (net velocity - shift) / scale`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from tendon.policies.adapter.matching import EMBEDDING, POINTS
from tendon.policies.export.exported import CONTEXT_GRAPH, DENOISE_GRAPH, Exported, Report
from tendon.policies.export.source_graph import SourceGraph, export_all, verified_chunks
from tendon.policies.parity.chunk import CHUNK, NOISE
from tendon.policies.parity.graph import Case
from tendon.policies.spec.sampling import Denoiser, Flow
from tendon.policies.spec.spaces import ActionSpace
from tendon.policies.training.model import FLOW_STEPS, SmallVla

CONTEXT = "context"


def observe(model: SmallVla, *observation: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Returns context (1, K), points (1, 2, 3) [m, base frame] and embedding (1, E) of one observation.

    The observation is an image of each camera, in the order of the model's shape, then state and tokens. The embedding
    is the context of the flow, all that the actions depend on, then each camera's mean features.
    """
    *images, state, tokens = observation
    grids = model.look(dict(zip(model.shape.cameras, images, strict=True)))
    understood = model.understand(model.point(grids, tokens[:, None]), state)
    context = understood.context[:, 0]
    embedding = torch.cat([context, *(grid.mean((2, 3)) for grid in grids.values())], dim=-1)
    return context, understood.points[:, 0], embedding


def observed(model: SmallVla) -> tuple[str, ...]:
    """Returns the names of what `observe` takes."""
    return (*(f"image_{camera}" for camera in model.shape.cameras), "state", "tokens")


def row_conversion(statistics: Mapping[str, Sequence[Any]], action: ActionSpace) -> tuple[Tensor, Tensor]:
    """Returns scale and shift (T, C): the network's normalised rows are `scale * x + shift` of the bundle's."""
    row_mean, row_std = torch.tensor(statistics["action_mean"]), torch.tensor(statistics["action_std"])
    mean, std = torch.tensor(action.mean), torch.tensor(action.std)
    return std / row_std, (mean - row_mean) / row_std


class ContextGraph(nn.Module):
    """`observe` as a module."""

    def __init__(self, model: SmallVla) -> None:
        super().__init__()
        self.model = model

    def forward(self, *observation: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Inputs as in `tendon.policies.adapter.matching`."""
        return observe(self.model, *observation)


class DenoiseGraph(nn.Module):
    """One step of the flow, in the bundle's normalised numbers."""

    def __init__(self, model: SmallVla, scale: Tensor, shift: Tensor) -> None:
        super().__init__()
        self.flow = model.flow
        self.register_buffer("scale", scale)
        self.register_buffer("shift", shift)
        self.register_buffer("given", torch.zeros(1, model.shape.rows))

    def forward(self, x: Tensor, time: Tensor, context: Tensor) -> Tensor:
        """Returns the velocity (1, T, C) of x (1, T, C) at time (1,) under context (1, K)."""
        chunk = self.scale * x + time[:, None, None] * self.shift
        velocity: Tensor = (self.flow(chunk, self.given, time[:, None], context) - self.shift) / self.scale
        return velocity


def denoiser_settings(components: int) -> Denoiser:
    """Returns what the manifest says of the second graph."""
    schedule = Flow(steps=FLOW_STEPS, start=0.0, end=1.0)
    return Denoiser(graph=DENOISE_GRAPH, components=components, noise="zeros", kind="flow", schedule=schedule)


def export_two_graphs(
    model: SmallVla,
    statistics: Mapping[str, Sequence[Any]],
    action: ActionSpace,
    cases: Sequence[Case],
    report: Report = lambda _: None,
) -> Exported:
    """Returns `context.onnx` and `denoise.onnx`.

    Args:
        model: in evaluation mode.
        statistics: of its run.
        action: of the bundle.
        cases: images, state, tokens and noise by input name, over which the graphs are compared with torch.
        report: told of each step.

    Raises:
        MismatchError: a graph does not answer what torch answers, or a whole chunk is another.
    """
    scale, shift = row_conversion(statistics, action)
    context = SourceGraph(
        name=CONTEXT_GRAPH,
        module=ContextGraph(model).eval(),
        inputs=observed(model),
        outputs=(CONTEXT, POINTS, EMBEDDING),
    )
    denoise = SourceGraph(
        name=DENOISE_GRAPH,
        module=DenoiseGraph(model, scale, shift).eval(),
        inputs=("x", "time", CONTEXT),
        outputs=("velocity",),
    )
    known = [
        {name: case[name] for name in context.inputs}
        | {"x": case["noise"], "time": np.array([k % FLOW_STEPS / FLOW_STEPS], np.float32)}
        for k, case in enumerate(cases)
    ]
    made = export_all((context, denoise), known, float64=False, report=report)
    report("whole chunks, from noise on")
    whole = tuple(_with_chunk(model, scale, shift, case) for case in made.cases)
    return verified_chunks(denoiser_settings(len(action.components)).schedule, made, whole)


@torch.no_grad()
def _with_chunk(model: SmallVla, scale: Tensor, shift: Tensor, case: Case) -> Case:
    """Returns the case with noise and what the network itself makes of it, no row being given."""
    context, noise = (torch.from_numpy(np.array(case[name])) for name in (CONTEXT, "x"))
    given = torch.zeros(1, model.shape.rows)
    chunk = (model.sample(context, torch.zeros_like(noise), given, noise * scale) - shift) / scale
    return {**case, NOISE: case["x"], CHUNK: chunk.numpy()}
