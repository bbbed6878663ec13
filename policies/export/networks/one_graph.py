"""The small policy as one graph, the steps of its flow unrolled: it continues a prefix as in training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from tendon.policies.adapter.matching import EMBEDDING, POINTS
from tendon.policies.export.networks.two_graphs import observe, observed, row_conversion
from tendon.policies.export.source_graph import SourceGraph
from tendon.policies.spec.manifest import MODEL_FILE
from tendon.policies.spec.spaces import ActionSpace
from tendon.policies.training.model import SmallVla


class PolicyGraph(nn.Module):
    """uint8 images and normalised numbers in, a whole chunk out.

    The network normalises each row of a chunk by itself, a bundle normalises each component; this converts.
    """

    def __init__(self, model: SmallVla, scale: Tensor, shift: Tensor) -> None:
        super().__init__()
        self.model = model
        self.register_buffer("scale", scale)
        self.register_buffer("shift", shift)

    def forward(self, *inputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Inputs and outputs as in `tendon.policies.adapter.matching`."""
        *observation, prefix, prefix_rows, noise = inputs
        context, points, embedding = observe(self.model, *observation)
        given = (torch.arange(self.model.shape.rows, device=prefix_rows.device) < prefix_rows[:, None]).float()
        chunk = self.model.sample(context, prefix * self.scale + self.shift, given, noise)
        return (chunk - self.shift) / self.scale, points, embedding


def policy_graph(model: SmallVla, statistics: Mapping[str, Sequence[Any]], action: ActionSpace) -> SourceGraph:
    """Returns the source of `policy.onnx`.

    Args:
        model: in evaluation mode.
        statistics: of its run.
        action: of the bundle.
    """
    return SourceGraph(
        name=MODEL_FILE,
        module=PolicyGraph(model, *row_conversion(statistics, action)).eval(),
        inputs=(*observed(model), "prefix", "prefix_rows", "noise"),
        outputs=("actions", POINTS, EMBEDDING),
    )
