"""Weights of networks before 2026-11-27, which did not set points beside the tool that they see."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor
from torch.nn import functional

WIDENED = ("locate.0.weight", "locate_directly.weight")
"""What was narrower: the columns of the tool's slot are the last ones."""


def widened(weights: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Returns weights with the columns that they lack, as zeros: what these multiply counts for nothing, yet.

    Args:
        weights: of a network, by name.
        wanted: those of a network of today.
    """
    return {
        name: functional.pad(weight, (0, max(0, wanted[name].shape[1] - weight.shape[1])))
        if name in WIDENED
        else weight
        for name, weight in weights.items()
    }
