"""Actor and critics of a residual."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

FIRST_WEIGHTS = 1e-3
"""Scale of the actor's last layer at the start: it begins as no residual at all."""


class Actor(nn.Module):
    """(B, Z) what is seen -> (B, A) an action, each -1 to 1."""

    def __init__(self, seen: int, actions: int, width: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(seen, width), nn.Linear(width, width), nn.Linear(width, actions)])
        last = self.layers[-1]
        nn.init.uniform_(last.weight, -FIRST_WEIGHTS, FIRST_WEIGHTS)
        nn.init.zeros_(last.bias)

    def forward(self, seen: Tensor) -> Tensor:
        """Returns the action."""
        hidden = seen
        for layer in self.layers[:-1]:
            hidden = functional.relu(layer(hidden))
        return torch.tanh(self.layers[-1](hidden))


class Critics(nn.Module):
    """(B, K) what is seen, known and done -> (C, B) the value by each of C critics.

    All are computed at once. Layer norm keeps their values in bounds where no data is (Ball et al. 2023, RLPD).
    """

    def __init__(self, inputs: int, width: int, count: int, norm: bool = True) -> None:
        super().__init__()
        sizes = (inputs, width, width, 1)
        self.weights, self.biases = nn.ParameterList(), nn.ParameterList()
        for fan_in, fan_out in pairwise(sizes):
            bound = fan_in**-0.5
            self.weights.append(nn.Parameter(torch.empty(count, fan_in, fan_out).uniform_(-bound, bound)))
            self.biases.append(nn.Parameter(torch.zeros(count, 1, fan_out)))
        self.scales = nn.ParameterList([nn.Parameter(torch.ones(count, 1, width)) for _ in sizes[1:-1]])
        self.norm, self.count = norm, count

    def forward(self, inputs: Tensor) -> Tensor:
        """Returns the values."""
        hidden = inputs.expand(self.count, *inputs.shape)
        for k, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            hidden = torch.baddbmm(bias, hidden, weight)
            if k < len(self.scales):
                if self.norm:
                    hidden = functional.layer_norm(hidden, hidden.shape[-1:]) * self.scales[k]
                hidden = functional.relu(hidden)
        return hidden[..., 0]
