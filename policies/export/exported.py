"""What an exporter makes: graphs and reference values of a policy, before it is a bundle.

Graph inputs and outputs are named as in a bundle, so one flat mapping of names holds all tensors of an inference:

- `image_NAME` uint8 (n, H, W, 3) RGB of the robot's camera NAME, and `state` float32 (n, S), normalised: the last n
  observations, oldest first, one action step apart. Nearly always n = 1, a batch of one.
- `tokens` int64 (1, L), and `token_mask` bool (1, L) for a language model's tokenizer.
- one graph: `policy.onnx` answers `actions` float32 (1, T, C), normalised.
- flow, diffusion: `context.onnx` answers tensors by any names; `denoise.onnx` reads those it needs by the same names,
  `x` float32 (1, T, C) and `time` float32 (1,), and answers `velocity` (flow) or `prediction` (diffusion), (1, T, C).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tendon.policies.parity.graph import Case, Row

POLICY_GRAPH = "policy.onnx"
CONTEXT_GRAPH = "context.onnx"
DENOISE_GRAPH = "denoise.onnx"

Report = Callable[[str], None]
"""Told of each step of a long export before it begins."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Exported:
    """Graphs that were compared with their source.

    Attributes:
        files: graphs, their external tensor data and what else the policy needs, by file name.
        cases: inferences in float32 of the source, over which parity was measured.
        parity: how far the graphs were from the source, see `Row`.
    """

    files: Mapping[str, bytes]
    cases: tuple[Case, ...]
    parity: tuple[Row, ...]
