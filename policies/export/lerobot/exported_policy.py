"""What an exporter of a LeRobot policy hands over, before it is a bundle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tendon.policies.export.exported import Exported
from tendon.policies.export.lerobot.source import LeRobotSource
from tendon.policies.spec.manifest import CameraInput
from tendon.policies.spec.sampling import Diffusion, Flow


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
class ExportedPolicy:
    """A policy as graphs, with what a manifest says of it beside its source's own statistics and sizes.

    C, the numbers of a row in the graphs, is `model_components`; an action is the first `source.action_size` of it.
    Row `first_row` is due at the observation.

    Attributes:
        source: what it was made from.
        views: cameras in the policy's order, by LeRobot's image key.
        made: the graphs; with the tokenizer's file, if there is one.
        observation_steps: n.
        rows: T.
        first_row: row of the newest observation; those before lie in the past.
        execute_rows: how many rows from there on LeRobot executes.
        model_components: C.
        schedule: of denoising; `None` for one graph that answers the chunk.
        tokens: `None` for a policy without instruction.
    """

    source: LeRobotSource
    views: Mapping[str, CameraInput]
    made: Exported
    observation_steps: int = 1
    rows: int
    first_row: int = 0
    execute_rows: int
    model_components: int
    schedule: Flow | Diffusion | None = None
    tokens: TokenInput | None = None
