"""Which augmentations there are, and what applies those that were asked for."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch

from tendon.core.checks import closest
from tendon.core.errors import ConfigError
from tendon.policies.training.augment.background import background, check_masks
from tendon.policies.training.augment.batch import Batch, Rig
from tendon.policies.training.augment.colour import colour
from tendon.policies.training.augment.correction import check_actions, noise
from tendon.policies.training.augment.warp import resample, shift, view

KINDS: dict[str, Callable[[Batch, float, torch.Generator, Rig], Batch]] = {
    "background": background,
    "noise": noise,
    "view": view,
    "shift": shift,
    "colour": colour,
}
"""In the order in which they are applied: masks are of pictures that nothing has moved."""
CHECKS: dict[str, Callable[[Rig], None]] = {"background": check_masks, "noise": check_actions}
"""What raises ConfigError where data lack what an augmentation takes."""
USUAL = "colour"
MOST = 3.0


def parse(text: str) -> dict[str, float]:
    """Returns the strengths that a text such as `colour,view=0.5` names; none where it is empty.

    Raises:
        ConfigError: a name is none, is there twice, or its strength is no number from 0 to `MOST`.
    """
    found: dict[str, float] = {}
    for word in filter(None, (each.strip() for each in text.split(","))):
        name, said, number = word.partition("=")
        if name not in KINDS:
            raise ConfigError(f"--augment {name}: unknown{closest(name, tuple(KINDS))}")
        if name in found:
            raise ConfigError(f"--augment names {name} twice: name it once")
        try:
            found[name] = float(number) if said else 1.0
        except ValueError:
            found[name] = math.nan
        if not 0.0 <= found[name] <= MOST:
            raise ConfigError(f"--augment {word}: the strength is {number!r}, must be a number from 0 to {MOST:g}")
    return found


class Augmenter:
    """Applies augmentations to batches; the same step of the same seed gets the same random numbers.

    Args:
        text: names and strengths, see `parse`.
        rig: of the data.
        seed: of the run.

    Raises:
        ConfigError: see `parse`; the data do not have what one of them takes.
    """

    def __init__(self, text: str, rig: Rig, seed: int) -> None:
        self._strengths, self._rig, self._seed = parse(text), rig, seed
        for name in self._strengths.keys() & CHECKS.keys():
            CHECKS[name](rig)

    def __call__(self, batch: Batch, step: int) -> Batch:
        """Returns a batch as it is after all of them: pictures that moved are drawn anew, from 0 to 255."""
        # A generator takes only the lower half of 64 bits, so that the two are mixed first.
        (mixed,) = np.random.SeedSequence([self._seed, step]).generate_state(1)
        rng = torch.Generator().manual_seed(int(mixed))
        for name, change in KINDS.items():
            if (strength := self._strengths.get(name, 0.0)) > 0:
                batch = change(batch, strength, rng, self._rig)
        drawn = {
            f"image_{name}": resample(batch[f"image_{name}"], batch[f"warp_{name}"])
            for name in self._rig.cameras
            if f"warp_{name}" in batch
        }
        return {**batch, **drawn}
