"""What an exporter hands over: graphs, sizes, statistics and reference values of a policy, before it is a bundle.

Graph inputs and outputs are named as in a bundle, so one flat mapping of names holds all tensors of an inference:

- `image_NAME` uint8 (n, H, W, 3) RGB of the robot's camera NAME, and `state` float32 (n, S), normalised by `state_mean`
  and `state_std`: the last n = `observation_steps` observations, oldest first, one action step apart. Nearly always
  n = 1, a batch of one.
- `tokens` int64 (1, L), and `token_mask` bool (1, L) if `tokens.mask`.
- direct: `policy.onnx` answers `actions` float32 (1, T, C), normalised.
- flow, diffusion: `context.onnx` answers tensors by any names; `denoise.onnx` reads those it needs by the same names,
  `x` float32 (1, T, C) and `time` float32 (1,), and answers `velocity` (flow) or `prediction` (diffusion), (1, T, C).

C is `model_components`; an action is the first `components` of it. Row `first_row` is due at the observation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tendon.policies.parity.graph import Case, Row
from tendon.policies.spec.manifest import CameraInput
from tendon.policies.spec.sampling import Diffusion, Flow

POLICY_GRAPH = "policy.onnx"
CONTEXT_GRAPH = "context.onnx"
DENOISE_GRAPH = "denoise.onnx"

Report = Callable[[str], None]
"""Told of each step of a long export before it begins."""


@dataclass(frozen=True, kw_only=True)
class TokenInput:
    """How an instruction becomes the token input.

    Attributes:
        kind: whose template, see `tendon.policies.inference.prompt`.
        tokenizer: which of the files turns the text into tokens.
        length: L.
        mask: whether the graph reads `token_mask` too.
    """

    kind: str
    tokenizer: str
    length: int
    mask: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class ExportedGraphs:
    """A policy as graphs, with all that a manifest says of it.

    Attributes:
        policy_type: LeRobot's, such as `act`.
        kind: how the graphs are run.
        files: graphs, their external tensor data and the tokenizer by file name.
        cameras: inputs in the policy's order, by the robot's names.
        image_keys: each camera's name in the source.
        state_size: S.
        state_mean: (S,) of the affine normalisation of the state.
        state_std: (S,), positive.
        observation_steps: n.
        rows: T.
        first_row: row of the newest observation; those before lie in the past.
        execute_rows: how many rows from there on the source executes.
        components: numbers of an action.
        model_components: C, at least `components`.
        action_mean: (components,) of the affine normalisation of an action.
        action_std: (components,), positive.
        schedule: of denoising; `None` for a direct policy.
        tokens: `None` for a policy without instruction.
        references: inferences in float32 of the source, over which parity is measured.
        parity: how far the graphs were from the source when they were made, see `parity.Row`.
        source: record of what it was made from, plain values.
    """

    policy_type: str
    kind: Literal["direct", "flow", "diffusion"]
    files: Mapping[str, bytes]
    cameras: tuple[CameraInput, ...]
    image_keys: Mapping[str, str]
    state_size: int
    state_mean: tuple[float, ...]
    state_std: tuple[float, ...]
    observation_steps: int = 1
    rows: int
    first_row: int = 0
    execute_rows: int
    components: int
    model_components: int
    action_mean: tuple[float, ...]
    action_std: tuple[float, ...]
    schedule: Flow | Diffusion | None
    tokens: TokenInput | None
    references: tuple[Case, ...]
    parity: tuple[Row, ...]
    source: Mapping[str, Any]
