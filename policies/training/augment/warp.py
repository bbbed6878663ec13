"""Moves what is seen: a crop that is shifted, and another place of the camera.

From another place the table is seen by a homography of the picture (Hartley and Zisserman, Multiple View Geometry,
section 13.1); what stands on it up to some centimetres follows nearly, what is far above it does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Generator, Tensor
from torch.nn import functional

from tendon.policies.training.augment.batch import Batch, Rig, uniform
from tendon.policies.training.model import TABLE_POINT_Z

SHIFT, ZOOM = 0.06, 0.06
"""Most at strength 1: in halves of a picture, and as a part of its size."""
EYE_M, TURN_RAD = 0.015, 0.015
"""Likewise, of a camera along and about each axis."""
LEAST_HEIGHT_M = 0.05
"""A camera that is lower over the things than this does not see the table as a plane."""


def shift(batch: Batch, strength: float, rng: Generator, rig: Rig) -> Batch:
    """Returns a batch whose pictures are cut out a little aside, and larger or smaller."""
    found = dict(batch)
    for name in rig.cameras:
        count = len(batch["state"])
        warp = torch.eye(3).repeat(count, 1, 1)
        warp[:, :2, :2] *= 1 + strength * uniform(rng, (count, 1, 1), ZOOM)
        warp[:, :2, 2] = strength * uniform(rng, (count, 2), SHIFT)
        found = moved(found, name, warp)
    return found


def view(batch: Batch, strength: float, rng: Generator, rig: Rig) -> Batch:
    """Returns a batch whose cameras are a little beside where they are, and turned."""
    found = dict(batch)
    for name in rig.cameras:
        count = len(batch["state"])
        eye, turn = (strength * uniform(rng, (count, 3), most) for most in (EYE_M, TURN_RAD))
        found = moved(found, name, seen_from(rig.about["cameras"][name], batch["state"].cpu(), eye, turn))
    return found


def moved(batch: Batch, camera: str, warp: Tensor) -> Batch:
    """Returns a batch in which a picture is moved further by a homography (B, 3, 3)."""
    key = f"warp_{camera}"
    warp = warp.to(batch["state"].device)
    return {**batch, key: warp @ batch[key] if key in batch else warp}


def seen_from(viewpoint: Mapping[str, Any], state: Tensor, eye: Tensor, turn: Tensor) -> Tensor:
    """Returns the homography (B, 3, 3) from what a camera sees of the table to what it sees from another place.

    Args:
        viewpoint: as `pointing.project` takes it; the picture is square.
        state: (B, S), the tools' positions [m] first.
        eye: (B, 3) by which it is elsewhere [m, base frame].
        turn: (B, 3) by which it is turned about its own axes [rad].
    """
    rotation = torch.tensor(viewpoint["rotation"]).expand(len(state), 3, 3)
    place = torch.tensor(viewpoint["eye"]).expand(len(state), 3)
    if (tool := viewpoint["on_tool"]) is not None:
        place = place + state[:, 3 * tool : 3 * tool + 3]
    x, y, z = turn.unbind(-1)
    none = torch.zeros_like(x)
    about = torch.stack([none, -z, y, z, none, -x, -y, x, none], dim=-1).reshape(-1, 3, 3)
    before = _table(rotation, place, viewpoint["focal"])
    after = _table(torch.linalg.matrix_exp(about) @ rotation, place + eye, viewpoint["focal"])
    low = torch.minimum(place[:, 2], place[:, 2] + eye[:, 2]) < TABLE_POINT_Z + LEAST_HEIGHT_M
    before, after = (torch.where(low[:, None, None], torch.eye(3), each) for each in (before, after))
    return after @ torch.linalg.inv(before)


def _table(rotation: Tensor, eye: Tensor, focal: float) -> Tensor:
    """Returns (B, 3, 3) from (x, y, 1) in the plane of the things' middles to where a camera sees it."""
    down = eye - torch.tensor([0.0, 0.0, TABLE_POINT_Z])
    columns = torch.stack([rotation[:, :, 0], rotation[:, :, 1], -(rotation @ down[..., None])[..., 0]], dim=-1)
    return torch.tensor([focal, -focal, -1.0])[:, None] * columns


def follow(warp: Tensor, where: Tensor) -> Tensor:
    """Returns where in [-1, 1] (B, ..., 2) a homography (B, 3, 3) takes points of a picture."""
    flat = where.reshape(len(where), -1, 2)
    out = torch.cat([flat, torch.ones_like(flat[..., :1])], dim=-1) @ warp.transpose(1, 2)
    return (out[..., :2] / out[..., 2:]).reshape(where.shape)


def resample(pixels: Tensor, warp: Tensor) -> Tensor:
    """Returns pictures (B, H, W, 3), float, as a homography (B, 3, 3) moves them; edges are drawn out."""
    _, height, width, _ = pixels.shape
    y, x = (
        (torch.arange(size, device=pixels.device, dtype=torch.float32) * 2 + 1) / size - 1 for size in (height, width)
    )
    grid = torch.stack(torch.meshgrid(x, y, indexing="xy"), dim=-1).expand(len(pixels), height, width, 2)
    source = follow(torch.linalg.inv(warp), grid)
    planes = pixels.permute(0, 3, 1, 2).float()
    drawn = functional.grid_sample(planes, source, mode="bilinear", padding_mode="border", align_corners=False)
    return drawn.permute(0, 2, 3, 1)
