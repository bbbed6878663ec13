"""A residual's world as a Gymnasium environment: base policy, executor, filter and robot are inside.

A step is one action of a residual (`ResidualSpace`), carried out by the same `Rollout` that evaluates policies: the
base answers with its delay and continues its plan, and the action goes through residual slot, filter and trajectory
controller as on the robot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from tendon.control.residual.learned import learned_residual
from tendon.control.residual.space import ResidualSpace
from tendon.core.errors import ConfigError, InvalidDataError
from tendon.core.types import Array, freeze
from tendon.evaluation.episode import Setting, Switch, usual_switch
from tendon.evaluation.evaluate import FIRST_SEED
from tendon.evaluation.perturbed_policy import PerturbedPolicy
from tendon.evaluation.rollout import Rollout
from tendon.evaluation.runner import Runner
from tendon.policies.inference.policy import BundlePolicy
from tendon.robots.profile import RobotProfile
from tendon.sim.backend import SimBackend
from tendon.sim.simulators import AUTO
from tendon.sim.suite import Scene, Suite, TaskSwitching, Telling, World

FACTS = "facts"
"""Key of `info`: (F,) what only the simulator knows, and last the share of the time that is over."""
DONE, CHECKS = 0.9, 2
"""A task counts as done when its estimated progress is that high so many steps in a row."""


class Asked:
    """An actor that is somebody else: it keeps what it is asked, and answers what it was told to."""

    def __init__(self, actions: int) -> None:
        self.observation: Array | None = None
        self.action: Array = np.zeros(actions)

    def ask(self, observation: Array) -> None:
        """Keeps an observation."""
        self.observation = observation

    def answer(self) -> Array:
        """Returns the action."""
        return self.action


class ResidualEnv(gymnasium.Env[Array, Array]):
    """One task in one scene a time; the reward is 1 when it is done and 0 before.

    Without an oracle, as on a robot, the reward is what the base's own estimate of its progress gained, up to 1 when
    that says for `CHECKS` steps that the task is done, and `info` tells nothing that only a simulator knows.

    An episode ends with its task done, is truncated at the task's time limit, and ends without reward where the robot
    was stopped. Between two actions of a plan that waits (starved, held) time passes unseen.

    Args:
        suite: scenes and tasks, with its difficulty.
        profile: the robot.
        base: makes the frozen policy for the suite's world.
        space: of actions and observations.
        setting: how the base and the robot share time.
        simulator: see `tendon.sim.simulators`.
        oracle: the simulator tells what is done.
        switches: in up to two thirds of the episodes the task is a second one, see `usual_switch`: the base has had
            another before it, done or on the way. Else a residual meets such a robot first where it is deployed, and
            leads it astray.

    Raises:
        ConfigError: there is no oracle, and the base has no progress estimator.
    """

    def __init__(
        self,
        suite: Suite,
        profile: RobotProfile,
        base: Callable[[World], BundlePolicy],
        space: ResidualSpace,
        setting: Setting | None = None,
        simulator: str = AUTO,
        oracle: bool = True,
        switches: bool = False,
    ) -> None:
        self._suite, self._profile = suite, profile
        setting = setting or Setting(delay_ns=round(suite.difficulty.delay_s * 1e9))
        self._perturbation = suite.harder(dict(setting.perturbations))
        self._setting = setting.under(self._perturbation)
        self._backend: SimBackend[World] = SimBackend(suite.world(profile.uncalibrated, simulator), zeros=profile.zeros)
        policy = base(self._backend.world)
        if not (oracle or policy.estimates_progress):
            self._backend.close()
            raise ConfigError(
                f"policy {policy.name} does not estimate its progress, which is to be the reward: "
                "`tendon policy train-progress` teaches it to"
            )
        self._oracle, self._estimates = oracle, list[float]()
        self._switches = switches and isinstance(self._backend.world, TaskSwitching)
        self._policy = PerturbedPolicy(policy, self._backend.world, suite.difficulty.arm)
        self._actor = Asked(space.actions)
        residual = learned_residual(profile, space, self._actor, policy.digest)
        self._runner = Runner(self._backend, self._policy, suite.load_environment(), residual, profile)
        self._rollout: Rollout | None = None
        self.observation_space = spaces.Box(-np.inf, np.inf, (space.observations,), np.float64)
        self.action_space = spaces.Box(-1.0, 1.0, (space.actions,), np.float64)

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Loads a scene and waits for the base's first chunk.

        Args:
            seed: of the scene; by default a random one of training.
            options: has no meaning here.
        """
        super().reset(seed=seed)
        number = int(self.np_random.integers(FIRST_SEED)) if seed is None else seed
        switch = usual_switch(np.random.default_rng([number, 43])) if self._switches else None
        self._rollout = rollout = self._begin(number, switch)
        while not rollout.switched and not rollout.over:
            rollout.tick()
        # a suite of some families is of a base that knows these
        known = rollout.scene.task.family in self._suite.families
        if not (rollout.switched and known):  # or the base did not come so far
            self._rollout = rollout = self._begin(number, None)
        while not self._oracle and rollout.estimate is None and not rollout.over:
            rollout.tick()  # what was estimated last was of the task before
        self._actor.observation, self._estimates = None, []
        observation = self._play()
        self._estimates.append(rollout.estimate or 0.0)
        return observation, self._info()

    def _begin(self, number: int, switch: Switch | None) -> Rollout:
        """Returns an episode of a scene at its start, where the residual does nothing."""
        drawn: Scene = self._suite.scene(self._profile, number)
        scene = self._policy.begin(self._perturbation, drawn)
        self._backend.joint_zero = self._policy.joint_zero
        self._actor.action = np.zeros_like(self._actor.action)
        return self._runner.begin(scene, replace(self._setting, switch=switch))

    def step(self, action: npt.ArrayLike) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Carries out an action until the next one is due.

        Raises:
            InvalidDataError: the action is not A finite numbers, or there was no `reset`.
        """
        if self._rollout is None:
            raise InvalidDataError("step without an episode: call reset first")
        self._actor.action = np.clip(freeze("action", action, self._actor.action.shape), -1.0, 1.0)
        observation = self._play()
        self._estimates.append(self._rollout.estimate or 0.0)
        success, stopped = self._success, self._rollout.stopped
        reward = float(success)
        if not self._oracle:
            reached = 1.0 if success else 0.0 if stopped else self._estimates[-1]
            reward = reached - self._estimates[-2]
        truncated = self._over and not success and not stopped
        return observation, reward, success or stopped, truncated, self._info()

    def close(self) -> None:
        """Frees the world."""
        self._backend.close()

    @property
    def done(self) -> bool:
        """Whether the task is done, as only a simulator knows."""
        return self._rollout is not None and self._rollout.success

    @property
    def _success(self) -> bool:
        """Whether the task is done, as far as may be known."""
        if self._oracle:
            return self.done
        return len(self._estimates) > CHECKS and min(self._estimates[-CHECKS:]) >= DONE

    @property
    def _over(self) -> bool:
        """Whether the task is done, or its time is up, as far as may be known."""
        return self._rollout is not None and (self._success or self._rollout.passed >= 1.0)

    def _play(self) -> Array:
        """Runs on to the next observation that is asked about, or to the end; returns it, or the last one."""
        rollout, before = self._rollout, self._actor.observation
        self._actor.observation = None
        while rollout is not None and self._actor.observation is None and not self._over and not rollout.stopped:
            rollout.tick()
        if self._actor.observation is None:
            self._actor.observation = before
        if self._actor.observation is None:
            raise InvalidDataError("the base policy moved nothing in a whole episode")
        return self._actor.observation

    def _info(self) -> dict[str, Any]:
        world, rollout = self._backend.world, self._rollout
        if rollout is None:
            return {}
        told = world.facts() if isinstance(world, Telling) and self._oracle else np.zeros(0)
        return {
            FACTS: np.append(told, rollout.passed),
            "seed": rollout.scene.seed,
            "family": rollout.scene.task.family,
            "success": self._success,
        }
