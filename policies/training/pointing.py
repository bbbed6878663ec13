"""Teaches attention where to look: the pixel at which a labelled point is seen, from the camera's nominal viewpoint."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

SPREAD_CELLS = 0.7
OUT_OF_VIEW = 2.0


def project(viewpoint: Mapping[str, Any], points: Tensor, state: Tensor) -> Tensor:
    """Returns where points are seen, (..., 2) in [-1, 1] from left to right and top to bottom; outside: not seen.

    Args:
        viewpoint: rotation, eye, on_tool and focal, as `tendon data demos` writes them to `about.json`.
        points: (B, ..., 3) [m, base frame].
        state: (B, S), the tools' positions [m] first.
    """
    eye = torch.tensor(viewpoint["eye"], device=points.device)
    if (tool := viewpoint["on_tool"]) is not None:
        eye = eye + state[:, 3 * tool : 3 * tool + 3].reshape(-1, *[1] * (points.ndim - 2), 3)
    seen = (points - eye) @ torch.tensor(viewpoint["rotation"], device=points.device).T
    depth = (-seen[..., 2:]).clamp_min(1e-3)
    flat = viewpoint["focal"] * seen[..., :2] / depth
    return flat * torch.tensor([1.0, -1.0], device=points.device)


def pointing_loss(logits: Tensor, where: Tensor) -> Tensor:
    """Returns the mean cross-entropy of attention against a narrow Gaussian at the point; a point out of view counts 0.

    Args:
        logits: (B, L, S, h * w) of a square grid.
        where: (B, L, S, 2) in [-1, 1]; NaN where nobody knows.
    """
    where = where.nan_to_num(nan=OUT_OF_VIEW)
    side = math.isqrt(logits.shape[-1])
    line = torch.linspace(-1, 1, side, device=logits.device)
    sharp = 0.5 * ((side - 1) / 2 / SPREAD_CELLS) ** 2
    x, y = (-sharp * (where[..., k : k + 1] - line).square() for k in (0, 1))
    wanted = (y[..., :, None] + x[..., None, :]).flatten(-2).softmax(-1)
    visible = (where.abs() < 1).all(-1).float()
    loss = -(wanted * logits.log_softmax(-1)).sum(-1)
    return (loss * visible).sum() / visible.sum().clamp_min(1)
