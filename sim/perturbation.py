"""Ways to make a policy's life harder than its training, one at a time: for the failure detector and for robustness.

A `Perturbation` is a scene changed before the episode, an observation changed before each inference, or a world
changed in mid-motion. All are drawn from a generator of the episode's seed. Those of observations are here; those of
scenes and worlds are with their suite.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from tendon.core.types import Image, Observation

Pixels = npt.NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True)
class Perturbation:
    """Nothing out of the ordinary; the base of all.

    One that changes scenes or worlds is for those of one suite.

    Attributes:
        name: in tables.
    """

    name: str = "nominal"

    def change(self, scene: Any, rng: np.random.Generator) -> Any:
        """Returns the scene to load."""
        return scene

    def observe(self, observation: Observation, rng: np.random.Generator) -> Observation:
        """Returns what the policy gets to see."""
        return observation

    def disturb(self, world: Any, rng: np.random.Generator) -> None:
        """Changes the world at an inference."""


NOMINAL = Perturbation()


@dataclass(frozen=True, kw_only=True)
class BadImage(Perturbation):
    """Changes the pictures of some cameras on their way to the policy.

    Attributes:
        cameras: which; empty is all of them.
    """

    cameras: tuple[str, ...] = ()

    def observe(self, observation: Observation, rng: np.random.Generator) -> Observation:
        """Replaces the pictures."""
        images = dict(observation.images)
        for name in self.cameras or tuple(images):
            old = images[name]
            images[name] = Image(stamp_ns=old.stamp_ns, pixels=self.spoil(np.array(old.pixels), rng))
        return replace(observation, images=images)

    def spoil(self, pixels: Pixels, rng: np.random.Generator) -> Pixels:
        """Returns the bad picture (height, width, 3)."""
        return pixels


@dataclass(frozen=True, kw_only=True)
class Blur(BadImage):
    """Out of focus: a Gaussian of 2.5 px."""

    name: str = "blur"

    def spoil(self, pixels: Pixels, rng: np.random.Generator) -> Pixels:
        """Blurs."""
        return np.asarray(cv2.GaussianBlur(pixels, (0, 0), 2.5), dtype=np.uint8)


@dataclass(frozen=True, kw_only=True)
class Noise(BadImage):
    """Pixel noise of standard deviation 30."""

    name: str = "pixel noise"

    def spoil(self, pixels: Pixels, rng: np.random.Generator) -> Pixels:
        """Adds noise."""
        return np.clip(pixels + rng.normal(0, 30, pixels.shape), 0, 255).astype(np.uint8)


@dataclass(frozen=True, kw_only=True)
class Occlusion(BadImage):
    """Something grey covers the middle of the picture, a fifth of it."""

    name: str = "occlusion"

    def spoil(self, pixels: Pixels, rng: np.random.Generator) -> Pixels:
        """Covers."""
        height, width, _ = pixels.shape
        pixels[int(0.3 * height) : int(0.75 * height), int(0.3 * width) : int(0.75 * width)] = 90
        return pixels


@dataclass(frozen=True, kw_only=True)
class SwappedCameras(Perturbation):
    """Each camera's plug is in the other's socket.

    Attributes:
        cameras: the two.
    """

    name: str = "cameras swapped"
    cameras: tuple[str, str]

    def observe(self, observation: Observation, rng: np.random.Generator) -> Observation:
        """Swaps the pictures, resized as a camera driver would."""
        first, second = self.cameras
        images = dict(observation.images)
        for name, other in ((first, second), (second, first)):
            old, new = observation.images[name], observation.images[other]
            height, width, _ = old.pixels.shape
            resized = np.asarray(cv2.resize(new.pixels, (width, height), interpolation=cv2.INTER_AREA), dtype=np.uint8)
            images[name] = Image(stamp_ns=old.stamp_ns, pixels=resized)
        return replace(observation, images=images)


@dataclass(frozen=True, kw_only=True)
class WrongJoints(Perturbation):
    """The policy is told joint angles that are 0.06 rad off at the second and fourth joint: a bad zero."""

    name: str = "joint offset"

    def observe(self, observation: Observation, rng: np.random.Generator) -> Observation:
        """Adds the offset."""
        offset = np.zeros(len(observation.joint_position))
        offset[[1, 3]] = 0.06
        return replace(observation, joint_position=observation.joint_position + offset)
