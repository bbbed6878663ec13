"""Runs episodes through the same control code as on a robot, in lock-step, with a chosen inference delay."""

from __future__ import annotations

from collections.abc import Callable

from tendon.control.clearance.model import Clearance
from tendon.control.residual.bounded import BoundedResidual
from tendon.core.protocols import Policy
from tendon.core.types import ActionChunk
from tendon.evaluation.episode import Episode, Setting
from tendon.evaluation.rollout import Rollout
from tendon.robots.environment import Environment
from tendon.robots.profile import RobotProfile
from tendon.sim.backend import SimBackend
from tendon.sim.suite import Scene, World


class Runner:
    """Runs episodes in one world.

    Args:
        backend: a world of any suite.
        policy: any core `Policy`.
        environment: what the filter keeps clear of, besides the robot itself.
        residual: corrects the policy.
        profile: the robot as control has it, with its calibration; by default the world's.

    Attributes:
        profile: the same.
    """

    def __init__(
        self,
        backend: SimBackend[World],
        policy: Policy,
        environment: Environment | None = None,
        residual: BoundedResidual | None = None,
        profile: RobotProfile | None = None,
    ) -> None:
        self._backend, self._policy, self._residual = backend, policy, residual
        self.profile = backend.world.profile if profile is None else profile
        self._clearance = Clearance(self.profile, environment)

    def begin(self, scene: Scene, setting: Setting, heard: Callable[[ActionChunk], None] = lambda _: None) -> Rollout:
        """Returns an episode at its start.

        Args:
            scene: where it begins.
            setting: how policy and robot share time.
            heard: takes each chunk as it became part of the plan.

        Raises:
            ConfigError: the setting switches tasks, and the world cannot.
        """
        return Rollout(
            self._backend, self._policy, scene, setting, self._clearance, self._residual, self.profile, heard
        )

    def run(self, scene: Scene, setting: Setting, heard: Callable[[ActionChunk], None] = lambda _: None) -> Episode:
        """Runs one episode to its end, see `begin`."""
        rollout = self.begin(scene, setting, heard)
        while not rollout.over:
            rollout.tick()
        return rollout.episode()
