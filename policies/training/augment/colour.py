"""Other light: brightness, contrast and white balance; geometry and the names of colours stay true."""

from __future__ import annotations

from torch import Generator

from tendon.policies.training.augment.batch import Batch, Rig, uniform

BALANCE, GAIN, OFFSET = 0.05, 0.2, 15.0
"""Most at strength 1: of a colour and of all colours as a part, and grey values."""


def colour(batch: Batch, strength: float, rng: Generator, rig: Rig) -> Batch:
    """Returns a batch whose pictures have another light each."""
    found = dict(batch)
    for name in rig.cameras:
        pixels = batch[f"image_{name}"]
        shape = (len(pixels), 1, 1)
        gain = (1 + strength * uniform(rng, (*shape, 3), BALANCE)) * (1 + strength * uniform(rng, (*shape, 1), GAIN))
        offset = strength * uniform(rng, (*shape, 1), OFFSET)
        changed = pixels.float() * gain.to(pixels.device) + offset.to(pixels.device)
        found[f"image_{name}"] = changed.clamp_(0, 255)
    return found
