"""A policy that sees its world through a perturbation."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from tendon.core.pace import Pace
from tendon.core.protocols import Policy, Remembering
from tendon.core.types import ActionChunk, Observation
from tendon.sim.perturbation import NOMINAL, Perturbation
from tendon.sim.suite import Scene, World, changed_scene, drawn_zeros


@runtime_checkable
class Drawing(Protocol):
    """A policy whose answers have noise in them."""

    def reseed(self, seed: int) -> None:
        """Draws it from this seed from here on."""


class PerturbedPolicy:
    """A core `Policy` of another one; nothing is perturbed before `begin`.

    Args:
        policy: answers.
        world: where a perturbation moves things.
        arm: see `Difficulty`.

    Attributes:
        joint_zero: (n,) of this episode, for the backend: see `SimBackend`.
    """

    def __init__(self, policy: Policy, world: World, arm: int | None = None) -> None:
        self._policy, self._world, self._arm = policy, world, arm
        self._perturbation, self._rng = NOMINAL, np.random.default_rng(0)
        self.joint_zero = np.zeros(len(world.profile.joint_names))

    def begin(self, perturbation: Perturbation, scene: Scene) -> Scene:
        """Starts an episode, which depends on none before it; returns the scene to load."""
        self._perturbation, self._rng = perturbation, np.random.default_rng([scene.seed % 2**63, 17])
        self.joint_zero = drawn_zeros(perturbation, self._world.profile, scene, self._arm)
        if isinstance(self._policy, Drawing):
            self._policy.reseed(scene.seed % 2**63)
        changed: Scene = changed_scene(perturbation, scene)
        return changed

    @property
    def step_ns(self) -> int:
        """As the policy."""
        return self._policy.step_ns

    @property
    def prefix_rows(self) -> int:
        """As the policy."""
        return self._policy.prefix_rows

    @property
    def overlap_rows(self) -> int:
        """As the policy."""
        return self._policy.overlap_rows

    @property
    def pace(self) -> Pace:
        """As the policy."""
        return self._policy.pace

    @property
    def sees_past(self) -> bool:
        """As the policy."""
        return isinstance(self._policy, Remembering) and self._policy.sees_past

    def observe(self, observation: Observation) -> None:
        """Perturbs what is not inferred from, for a policy that sees its past."""
        if isinstance(self._policy, Remembering):
            self._policy.observe(self.perceive(observation, self._rng))

    def perceive(self, observation: Observation, rng: np.random.Generator) -> Observation:
        """Returns what the policy gets to see of an observation; what is drawn for it is drawn from `rng`."""
        return self._perturbation.observe(observation, rng)

    def infer(
        self, observation: Observation, prefix: ActionChunk | None = None, frozen: int | None = None
    ) -> ActionChunk:
        """Perturbs and answers."""
        self._perturbation.disturb(self._world, self._rng)
        return self._policy.infer(self.perceive(observation, self._rng), prefix, frozen)
