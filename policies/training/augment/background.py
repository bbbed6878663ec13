"""Another background behind robot and things, by the masks that the simulator gives.

After RoboAgent (Bharadhwaj et al. 2023), which finds masks by a network and fills them with pictures that another one
makes. Here masks are exact, and what fills them is a pattern of smooth colours.
"""

from __future__ import annotations

import torch
from torch import Generator
from torch.nn import functional

from tendon.core.errors import ConfigError
from tendon.policies.training.augment.batch import Batch, Rig

CELLS = 5
"""Of the pattern, along each side."""


def check_masks(rig: Rig) -> None:
    """Raises ConfigError: nobody says what is background."""
    if not rig.masked:
        raise ConfigError(
            "--augment background takes data that say which pixels are background: demonstrations of the tabletop "
            "(`tendon data demos`) do, older ones and recordings do not; leave it out, or make them again"
        )


def background(batch: Batch, strength: float, rng: Generator, rig: Rig) -> Batch:
    """Returns a batch in whose pictures the background is partly a pattern: at strength 1 anything from 0 to all."""
    found = dict(batch)
    for name in rig.cameras:
        pixels, mask = batch[f"image_{name}"].float(), batch[f"mask_{name}"]
        count, height, width, _ = pixels.shape
        coarse = torch.rand(count, 3, CELLS, CELLS, generator=rng) * 255
        pattern = functional.interpolate(coarse, (height, width), mode="bilinear", align_corners=True)
        share = (strength * torch.rand(count, 1, 1, 1, generator=rng)).clamp_max(1).to(pixels.device)
        mixed = pixels + share * (pattern.permute(0, 2, 3, 1).to(pixels.device) - pixels)
        found[f"image_{name}"] = torch.where(mask[..., None], mixed, pixels)
    return found
