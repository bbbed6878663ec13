"""Ways to make a policy's life harder than its training, one at a time: for the failure detector and for robustness.

A `Perturbation` is a scene changed before the episode, an observation changed before each inference, or a world
changed in mid-motion. All are drawn from a generator of the episode's seed. Those of observations are here; those of
scenes and worlds are with their suite.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt

from tendon.core.checks import closest
from tendon.core.errors import ConfigError
from tendon.core.fields import Range, check_fields
from tendon.core.types import Array, Image, Observation
from tendon.robots.profile import RobotProfile

Pixels = npt.NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True)
class Perturbation:
    """Nothing out of the ordinary; the base of all.

    One that changes scenes or worlds is for those of one suite.

    Attributes:
        name: in tables.
        strength: 1 is what the class says, 0 is nothing, others are less or more of it.
    """

    name: str = "nominal"
    strength: Annotated[float, Range(least=0, most=3)] = 1.0
    graded: ClassVar[bool] = True
    """Less strength is less of it; otherwise any above 0 is all of it."""

    def __post_init__(self) -> None:
        check_fields(self, "perturbation")

    @property
    def key(self) -> str:
        """The name as options and files have it: its words joined by "_"."""
        return self.name.replace(" ", "_")

    def change(self, scene: Any, rng: np.random.Generator) -> Any:
        """Returns the scene to load."""
        return scene

    def observe(self, observation: Observation, rng: np.random.Generator) -> Observation:
        """Returns what the policy gets to see."""
        return observation

    def disturb(self, world: Any, rng: np.random.Generator) -> None:
        """Changes the world at an inference."""

    def joint_zero(self, profile: RobotProfile, rng: np.random.Generator) -> Array:
        """Returns (k,) how much larger each joint of the arm is said to be than it is [rad]."""
        return np.zeros(len(profile.group_indices("arm")))

    @property
    def delay_ns(self) -> int:
        """By how much later an answer comes, in simulated time."""
        return 0


NOMINAL = Perturbation()


@dataclass(frozen=True, kw_only=True)
class Together(Perturbation):
    """Several at once.

    Attributes:
        parts: in the order in which they act.
    """

    name: str = "together"
    parts: tuple[Perturbation, ...] = ()

    def change(self, scene: Any, rng: np.random.Generator) -> Any:
        """Changes the scene by each."""
        return functools.reduce(lambda changed, part: part.change(changed, rng), self.parts, scene)

    def observe(self, observation: Observation, rng: np.random.Generator) -> Observation:
        """Changes the observation by each."""
        return functools.reduce(lambda changed, part: part.observe(changed, rng), self.parts, observation)

    def disturb(self, world: Any, rng: np.random.Generator) -> None:
        """Changes the world by each."""
        for part in self.parts:
            part.disturb(world, rng)

    def joint_zero(self, profile: RobotProfile, rng: np.random.Generator) -> Array:
        """Adds them up."""
        nothing = super().joint_zero(profile, rng)
        return sum((part.joint_zero(profile, rng) for part in self.parts), nothing)

    @property
    def delay_ns(self) -> int:
        """Adds them up."""
        return sum(part.delay_ns for part in self.parts)


def together(known: Sequence[Perturbation], strengths: Mapping[str, float]) -> Perturbation:
    """Returns perturbations at their strengths as one.

    Args:
        known: that there are.
        strengths: of those that are wanted, by name; words of a name may be joined by "_".

    Raises:
        ConfigError: there is none of a name, or no such strength.
    """
    by_key = {each.key: each for each in known}
    parts = []
    for name, strength in strengths.items():
        key = name.strip().replace(" ", "_")
        if key not in by_key:
            raise ConfigError(f"perturbation is {name!r}{closest(key, tuple(by_key))}")
        parts.append(replace(by_key[key], strength=strength))
    return Together(parts=tuple(parts)) if parts else NOMINAL


@dataclass(frozen=True, kw_only=True)
class BadImage(Perturbation):
    """Changes the pictures of some cameras on their way to the policy.

    Attributes:
        cameras: which; empty is all of them.
    """

    cameras: tuple[str, ...] = ()

    def observe(self, observation: Observation, rng: np.random.Generator) -> Observation:
        """Replaces the pictures, where there are any.

        Raises:
            ConfigError: there is no such camera.
        """
        images = dict(observation.images)
        for name in images and (self.cameras or tuple(images)):
            old = _picture(observation, name)
            images[name] = Image(stamp_ns=old.stamp_ns, pixels=self.spoil(np.array(old.pixels), rng))
        return replace(observation, images=images)

    def spoil(self, pixels: Pixels, rng: np.random.Generator) -> Pixels:
        """Returns the bad picture (height, width, 3)."""
        return pixels


def _picture(observation: Observation, camera: str) -> Image:
    if camera not in observation.images:
        raise ConfigError(
            f"a perturbation changes pictures of camera {camera!r}; there are {', '.join(observation.images)}"
        )
    return observation.images[camera]


@dataclass(frozen=True, kw_only=True)
class Blur(BadImage):
    """Out of focus: a Gaussian of 2.5 px."""

    name: str = "blur"

    def spoil(self, pixels: Pixels, rng: np.random.Generator) -> Pixels:
        """Blurs."""
        if not self.strength:
            return pixels
        import cv2  # half a second, which the Tab key would wait for

        return np.asarray(cv2.GaussianBlur(pixels, (0, 0), 2.5 * self.strength), dtype=np.uint8)


@dataclass(frozen=True, kw_only=True)
class Noise(BadImage):
    """Pixel noise of standard deviation 30."""

    name: str = "pixel noise"

    def spoil(self, pixels: Pixels, rng: np.random.Generator) -> Pixels:
        """Adds noise."""
        return np.clip(pixels + rng.normal(0, 30 * self.strength, pixels.shape), 0, 255).astype(np.uint8)


@dataclass(frozen=True, kw_only=True)
class Occlusion(BadImage):
    """Something grey covers the middle of the picture, a fifth of it."""

    name: str = "occlusion"

    def spoil(self, pixels: Pixels, rng: np.random.Generator) -> Pixels:
        """Covers."""
        height, width, _ = pixels.shape
        half = min(0.225 * math.sqrt(self.strength), 0.475)
        low, high = 0.525 - half, 0.525 + half
        pixels[int(low * height) : int(high * height), int(low * width) : int(high * width)] = 90
        return pixels


@dataclass(frozen=True, kw_only=True)
class SwappedCameras(Perturbation):
    """Each camera's plug is in the other's socket, at any strength above 0.

    Attributes:
        cameras: the two.
    """

    name: str = "cameras swapped"
    graded: ClassVar[bool] = False
    cameras: tuple[str, str]

    def observe(self, observation: Observation, rng: np.random.Generator) -> Observation:
        """Swaps the pictures, resized as a camera driver would, where there are any.

        Raises:
            ConfigError: there is no such camera.
        """
        if not self.strength or not observation.images:
            return observation
        import cv2

        first, second = self.cameras
        images = dict(observation.images)
        for name, other in ((first, second), (second, first)):
            old, new = _picture(observation, name), _picture(observation, other)
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
        offset[[1, 3]] = 0.06 * self.strength
        return replace(observation, joint_position=observation.joint_position + offset)


@dataclass(frozen=True, kw_only=True)
class BadZero(Perturbation):
    """The zero of each joint of the arm is off by 0.01 rad (standard deviation), another one in each scene.

    The arm is then about 1 cm from where it says and from where it is sent, and not quite upright.
    """

    name: str = "joint zero"

    def joint_zero(self, profile: RobotProfile, rng: np.random.Generator) -> Array:
        """Draws them."""
        return 0.01 * self.strength * rng.standard_normal(len(profile.group_indices("arm")))


@dataclass(frozen=True, kw_only=True)
class BentTool(Perturbation):
    """The tool is 1 cm beside where the kinematics say, in a direction of each scene's own, and not turned.

    Zeros of joints put it there, exactly so at home and nearly so around it: to who commands joints and looks through
    cameras that is what a bent or wrongly mounted tool is.
    """

    name: str = "tool offset"

    def joint_zero(self, profile: RobotProfile, rng: np.random.Generator) -> Array:
        """Solves for them at home."""
        way = rng.normal(size=3)
        arm = profile.group_indices("arm")
        if not self.strength:
            return np.zeros(len(arm))
        from tendon.robots.kinematics import Kinematics  # loads a model, which a list of names has no need of

        offset = 0.01 * self.strength * way / np.linalg.norm(way)
        return Kinematics(profile).joint_change(profile.vector("home"), offset)[arm]


@dataclass(frozen=True, kw_only=True)
class Late(Perturbation):
    """Every answer of the policy comes 100 ms later than it would."""

    name: str = "delay"

    @property
    def delay_ns(self) -> int:
        """So much later."""
        return round(100_000_000 * self.strength)


PERTURBATIONS: tuple[Perturbation, ...] = (Blur(), Noise(), Occlusion(), WrongJoints(), BadZero(), BentTool(), Late())
"""Those of any suite."""
