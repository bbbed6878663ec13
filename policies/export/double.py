"""A copy of a module that computes in float64, to tell rounding from a wrong graph."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

Module = TypeVar("Module", bound=nn.Module)


def double_of(module: Module) -> Module:
    """Returns the copy. Inner constants that the source fixes at float32 are widened where they meet a weight."""
    twin = copy.deepcopy(module).double()
    for part in twin.modules():
        if isinstance(part, nn.Linear | nn.Conv1d | nn.Conv2d):
            part.register_forward_pre_hook(_widen)
    return twin


def widened(values: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Returns inputs with their float tensors in float64."""
    return {name: value.double() if value.is_floating_point() else value for name, value in values.items()}


def _widen(module: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(a.double() if isinstance(a, Tensor) and a.dtype == torch.float32 else a for a in arguments)
