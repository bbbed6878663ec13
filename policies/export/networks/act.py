"""ACT (Zhao et al. 2023) of LeRobot as one graph: images and state in, the whole chunk out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from tendon.policies.adapter.matching import EMBEDDING
from tendon.policies.export.cases import random_observations
from tendon.policies.export.exported import POLICY_GRAPH, Report
from tendon.policies.export.lerobot.exported_policy import ExportedPolicy
from tendon.policies.export.lerobot.pixels import Pixels, camera_inputs
from tendon.policies.export.lerobot.policy import lerobot_policy
from tendon.policies.export.lerobot.source import STATE, LeRobotSource
from tendon.policies.export.source_graph import SourceGraph, export_all
from tendon.policies.parity.graph import Case


class ActGraph(nn.Module):
    """LeRobot's network behind the pixels' normalisation; the latent is 0, as in LeRobot's inference.

    The embedding is the mean of what its encoder makes of latent, state and patches: the memory that all actions are
    read from. LeRobot does not answer it.
    """

    def __init__(self, network: nn.Module, pixels: list[Pixels]) -> None:
        super().__init__()
        self.network = network
        self.pixels = nn.ModuleList(pixels)

    def forward(self, *inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Returns (1, T, C) normalised actions and (1, E) the embedding.

        Inputs: an image a camera, then the state, which not all see.
        """
        *images, state = inputs
        normalised = [pixels(image) for pixels, image in zip(self.pixels, images, strict=True)]
        memory: list[Tensor] = []

        def keep(encoder: nn.Module, given: Any, tokens: Tensor) -> None:
            memory.append(tokens)

        hook = self.network.encoder.register_forward_hook(keep)
        try:
            actions: Tensor = self.network({STATE: state, "observation.images": normalised})[0]
        finally:
            hook.remove()
        return actions, memory[0].mean(dim=0)


def export_act(
    source: LeRobotSource,
    cameras: Mapping[str, str],
    recorded: tuple[Case, ...] = (),
    report: Report = lambda _: None,
) -> ExportedPolicy:
    """Returns the graph `policy.onnx` of an ACT policy.

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
    graph = SourceGraph(
        name=POLICY_GRAPH,
        module=ActGraph(policy.model, pixels).eval(),
        inputs=(*(f"image_{view.name}" for view in views.values()), "state"),
        outputs=("actions", EMBEDDING),
    )
    observations = random_observations(tuple(views.values()), source.state_size)
    made = export_all((graph,), (*recorded, *observations), report=report)
    single = config.temporal_ensemble_coeff is not None
    return ExportedPolicy(
        source=source,
        views=views,
        made=made,
        rows=config.chunk_size,
        execute_rows=config.chunk_size if single else config.n_action_steps,
        model_components=source.action_size,
    )
