"""What augmentations act on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Generator, Tensor

Batch = dict[str, Tensor]
"""As `tendon.policies.training.data.Arrays` has it, pictures as uint8 or as float in 0 to 255. With `mask_NAME`
(B, H, W), true where a picture shows nothing but background, where that is known. Once something has moved a picture,
`warp_NAME` (B, 3, 3) is the homography from where things were seen to where they are seen, in [-1, 1]. Once something
has changed the state, `exposed` (B, S) is the one in which the pictures were taken."""


@dataclass(frozen=True, kw_only=True)
class Rig:
    """Who sees, and what the numbers of state and action are.

    Attributes:
        cameras: names of those of the policy.
        about: `spaces.ABOUT` of its data.
        masked: whether batches have `mask_NAME`.
    """

    cameras: tuple[str, ...]
    about: Mapping[str, Any]
    masked: bool


def uniform(rng: Generator, shape: Sequence[int], most: float) -> Tensor:
    """Returns numbers between -most and most."""
    return (2 * torch.rand(tuple(shape), generator=rng) - 1) * most
