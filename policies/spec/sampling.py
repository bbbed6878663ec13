"""How normalised actions come out of a bundle's graphs: directly, or by denoising with the running plan in-painted.

In-painting needs no gradient of the network, which an inference engine has not. Each step of flow or diffusion implies
a clean chunk; that is what is blended with the running plan, by weights that are 1 where it is frozen, before the
step is made from it (RePaint, Lugmayr et al. 2022, in the clean space of DDNM, Wang et al. 2023). It is real-time
chunking (Black, Galliker and Levine 2025) with the identity in place of the denoiser's Jacobian, and full strength.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, Literal, Protocol

import numpy as np

from tendon.core.checks import check_count
from tendon.core.errors import ConfigError
from tendon.core.fields import Count, Positive, Range, Text, check_fields
from tendon.core.types import Array
from tendon.policies.spec.fields import positive, sequence
from tendon.policies.spec.prefix import Prefix

Predict = Callable[[Array, float], Array]
"""(T, M) noisy chunk and time to what the network predicts of it, (T, M)."""


class Schedule(Protocol):
    """How noise becomes a chunk."""

    def sample(self, predict: Predict, noise: Array, given: Prefix | None, rng: np.random.Generator) -> Array:
        """Returns (T, M) from (T, M) standard normal `noise`."""


@dataclass(frozen=True, kw_only=True)
class Flow:
    """Rectified flow in Euler steps (Liu et al. 2022); the network predicts the velocity d x / d time.

    Attributes:
        steps: Euler steps.
        start: time of pure noise: 1 in pi0 and SmolVLA, 0 elsewhere.
        end: time of the clean chunk.
    """

    steps: Count
    start: float
    end: float

    def __post_init__(self) -> None:
        check_fields(self, "denoiser schedule")
        if self.start == self.end:
            raise ConfigError(f"denoiser schedule starts and ends at time {self.start}: they must differ")

    def in_steps(self, steps: int) -> Flow:
        """Returns the same flow in other steps."""
        return replace(self, steps=steps)

    def sample(self, predict: Predict, noise: Array, given: Prefix | None, rng: np.random.Generator) -> Array:
        """See `Schedule`; nothing random but the noise."""
        times = [self.start + (self.end - self.start) * k / self.steps for k in range(self.steps + 1)]
        chunk = noise
        for now, then in pairwise(times):
            velocity = predict(chunk, now)
            if given is not None:
                velocity = (given.blend(chunk + (self.end - now) * velocity) - chunk) / (self.end - now)
            chunk = chunk + (then - now) * velocity
        return chunk if given is None else given.blend(chunk)


@dataclass(frozen=True, kw_only=True)
class Diffusion:
    """Denoising diffusion (DDPM, Ho et al. 2020; DDIM with eta 0, Song et al. 2021).

    Attributes:
        timesteps: (K,) what the network is told at each step, falling.
        alphas: (K,) cumulative products of alpha at those.
        stochastic: add the posterior's noise after each step but the last (DDPM), or none (DDIM).
        prediction: what the network predicts: `epsilon` or `sample`.
        clip: the clean chunk is kept within this, either side; `None` leaves it.
    """

    timesteps: tuple[int, ...]
    alphas: tuple[float, ...]
    stochastic: bool
    prediction: Literal["epsilon", "sample"]
    clip: Positive | None

    def __post_init__(self) -> None:
        check_fields(self, "denoiser schedule")
        timesteps = sequence("denoiser schedule timesteps", self.timesteps)
        for step in timesteps:
            check_count("denoiser schedule timesteps", step, least=0)
        alphas = positive("denoiser schedule alphas", self.alphas, len(timesteps))
        rising = all(a < b for a, b in pairwise((*alphas, 1.0)))
        falling = all(a > b for a, b in pairwise(timesteps))
        if not timesteps or not rising or not falling:
            raise ConfigError("denoiser schedule: timesteps must fall, and alphas rise with them and stay below 1")
        object.__setattr__(self, "timesteps", timesteps)
        object.__setattr__(self, "alphas", alphas)

    def in_steps(self, steps: int) -> Diffusion:
        """Returns DDIM in fewer of these steps, at the even distances that `diffusers` calls leading.

        Raises:
            ConfigError: it has fewer.
        """
        count = len(self.timesteps)
        if not 1 <= steps <= count:
            raise ConfigError(f"denoising in {steps} steps: the policy has {count}, and its graph knows no others")
        kept = [count - 1 - k * (count // steps) for k in reversed(range(steps))]
        return replace(
            self,
            timesteps=tuple(self.timesteps[k] for k in kept),
            alphas=tuple(self.alphas[k] for k in kept),
            stochastic=False,
        )

    def sample(self, predict: Predict, noise: Array, given: Prefix | None, rng: np.random.Generator) -> Array:
        """See `Schedule`; `rng` gives the noise of DDPM."""
        chunk = noise
        followers = (*self.alphas[1:], 1.0)
        for timestep, alpha, follower in zip(self.timesteps, self.alphas, followers, strict=True):
            clean = epsilon = predict(chunk, float(timestep))
            if self.prediction == "epsilon":
                clean = (chunk - np.sqrt(1.0 - alpha) * epsilon) / np.sqrt(alpha)
            else:  # of what was predicted, as the other one; not of what is left when it is clipped
                epsilon = (chunk - np.sqrt(alpha) * clean) / np.sqrt(1.0 - alpha)
            if self.clip is not None:
                clean = np.clip(clean, -self.clip, self.clip)
            if given is not None:
                clean = given.blend(clean)
            if self.stochastic:
                chunk = self._posterior(chunk, clean, alpha, follower, rng)
            else:
                if given is not None:
                    epsilon = (chunk - np.sqrt(alpha) * clean) / np.sqrt(1.0 - alpha)
                chunk = np.sqrt(follower) * clean + np.sqrt(1.0 - follower) * epsilon
        return chunk if given is None else given.blend(chunk)

    @staticmethod
    def _posterior(chunk: Array, clean: Array, alpha: float, follower: float, rng: np.random.Generator) -> Array:
        """Returns a draw of the step before, given the clean chunk (Ho et al. 2020, eq. 6 and 7)."""
        step = alpha / follower
        mean = (np.sqrt(follower) * (1.0 - step) * clean + np.sqrt(step) * (1.0 - follower) * chunk) / (1.0 - alpha)
        if follower == 1.0:
            return np.asarray(mean)
        deviation = np.sqrt((1.0 - follower) / (1.0 - alpha) * (1.0 - step))
        return np.asarray(mean + deviation * rng.standard_normal(chunk.shape))


SCHEDULES: dict[str, type[Flow] | type[Diffusion]] = {"flow": Flow, "diffusion": Diffusion}


@dataclass(frozen=True, kw_only=True)
class Denoiser:
    """The second graph of a bundle, and how it is used.

    Its inputs are `x` (1, T, `components`) and `time` (1,), float32, and outputs of the first graph by their names; its
    one output is `velocity` or `prediction`, like `x`.

    Attributes:
        graph: file of the graph.
        components: width of what it denoises: at least that of the action, whose components come first.
        noise: what it starts from: `gaussian`, drawn for each inference, or `zeros`, the centre, so that equal
            observations give equal chunks.
        kind: of the schedule: a key of `SCHEDULES`.
        schedule: how noise becomes a chunk.
        past_rows: leading rows of what it denoises that lie in the past, of a policy that sees several observations:
            T is as many more than the rows of an action.
    """

    graph: Text
    components: Count
    noise: Literal["gaussian", "zeros"]
    kind: Literal["flow", "diffusion"]
    schedule: Flow | Diffusion
    past_rows: Annotated[int, Range(least=0)] = 0

    def __post_init__(self) -> None:
        check_fields(self, "denoiser")

    @property
    def output(self) -> str:
        """Name of the graph's output."""
        return "velocity" if self.kind == "flow" else "prediction"
