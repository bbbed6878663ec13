"""Many episodes, in this process or in several, each with its own simulator and policy."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tendon.control.residual.bounded import BoundedResidual
from tendon.core.checks import closest
from tendon.core.errors import ConfigError, MismatchError, TendonError
from tendon.core.protocols import Policy
from tendon.core.types import Observation
from tendon.evaluation.episode import Episode, Setting, Timing
from tendon.evaluation.expert_policy import ExpertPolicy
from tendon.evaluation.perturbed_policy import PerturbedPolicy
from tendon.evaluation.ray_workers import require_ray, run_in_ray
from tendon.evaluation.rollout import Rollout
from tendon.evaluation.runner import Runner
from tendon.evaluation.suites import DEFAULT_SUITE, load_suite
from tendon.evaluation.workers import run_in_processes
from tendon.policies.bundle.bundle import load_bundle
from tendon.policies.bundle.places import EXPERT
from tendon.policies.inference.identity import policy_digest
from tendon.policies.inference.policy import BundlePolicy
from tendon.policies.residual.bundle import load_residual
from tendon.policies.spec.manifest import Continuation
from tendon.robots.profile import RobotProfile, load_profile
from tendon.sim.backend import SimBackend
from tendon.sim.simulators import AUTO
from tendon.sim.suite import Suite, World

ENGINES = PROCESSES, RAY = "processes", "ray"
"""What episodes are spread over: the processors of this machine, or a cluster."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """One episode to run: a policy, or `EXPERT`, on a scene of a suite under a setting; a residual may correct it."""

    bundle: Path | str
    robot: str
    seed: int
    setting: Setting
    suite: str = DEFAULT_SUITE
    simulator: str = AUTO
    residual: Path | None = None

    def __str__(self) -> str:
        return f"scene {self.seed} of {self.suite}"


def run_here(
    suite: Suite,
    policy: Policy | Path | str,
    robot: str,
    seeds: Sequence[int],
    setting: Setting,
    simulator: str = AUTO,
    residual: Path | None = None,
) -> list[Episode]:
    """Returns an episode for each scene, run one after the other in this process.

    Args:
        suite: whose scenes they are.
        policy: one that is loaded, the folder of a bundle, or `EXPERT`.
        robot: profile.
        seeds: of the scenes.
        setting: of all episodes.
        simulator: see `tendon.sim.simulators`.
        residual: folder of what corrects the policy of a bundle.
    """
    tools = Tools(suite, policy, robot, setting.timing, simulator, residual)
    try:
        return [tools.run(seed, setting) for seed in seeds]
    finally:
        tools.close()


class Tools:
    """A world, a policy and what runs it there."""

    def __init__(
        self,
        suite: Suite,
        policy: Policy | Path | str,
        robot: str,
        timing: Timing,
        simulator: str,
        residual: Path | None = None,
    ) -> None:
        self._suite, profile = suite, load_profile(robot)
        corrected = None if residual is None else _residual(residual, policy, profile)
        world = suite.world(profile.uncalibrated, simulator)
        self._backend = SimBackend(world, draws=policy != EXPERT, zeros=profile.zeros)
        try:
            if isinstance(policy, Path | str):
                policy = _load(policy, profile, timing, suite, world)
            self._policy = PerturbedPolicy(policy, world, suite.difficulty.arm)
            self._runner = Runner(self._backend, self._policy, suite.load_environment(), corrected, profile)
        except BaseException:
            self.close()
            raise

    @property
    def world(self) -> World:
        """Where it acts."""
        return self._backend.world

    def run(self, seed: int, setting: Setting) -> Episode:
        """Runs one episode."""
        rollout = self.begin(seed, setting)
        while not rollout.over:
            rollout.tick()
        return rollout.episode()

    def begin(self, seed: int, setting: Setting) -> Rollout:
        """Returns an episode at its start."""
        perturbation = self._suite.harder(dict(setting.perturbations))
        scene = self._policy.begin(perturbation, self._suite.scene(self._runner.profile, seed))
        self._backend.joint_zero = self._policy.joint_zero
        return self._runner.begin(scene, setting.under(perturbation))

    def look(self, instruction: str, rng: np.random.Generator) -> Observation:
        """Returns what the policy would see now; the episode goes on as if nobody had looked.

        Args:
            instruction: that is followed.
            rng: of the noise in it: the policy's own is left alone.
        """
        return self._policy.perceive(self._backend.observe(instruction), rng)

    def close(self) -> None:
        """Frees the world."""
        self._backend.close()


def _load(bundle: Path | str, profile: RobotProfile, timing: Timing, suite: Suite, world: World) -> Policy:
    """Returns the policy of a bundle, which continues a plan as the timing says, or the expert."""
    if bundle == EXPERT:
        return ExpertPolicy(suite, profile, lambda: (world.scene, world.state()))
    named = timing not in (Timing.AUTO, Timing.OVERWRITE, Timing.SYNCHRONOUS)
    continuation = Continuation(timing.value) if named else None
    return BundlePolicy(load_bundle(Path(bundle)), profile, threads=1, continuation=continuation)


def _residual(folder: Path, policy: Policy | Path | str, profile: RobotProfile) -> BoundedResidual:
    """Returns a residual of a bundle.

    Raises:
        MismatchError: what it is to correct is no bundle, or not its own.
    """
    if not isinstance(policy, Path):
        raise MismatchError(f"residual {folder} corrects the policy of a bundle, this is {policy}")
    return load_residual(folder).open(profile, policy_digest(load_bundle(policy).manifest))


@functools.lru_cache(maxsize=2)
def _tools(suite: str, policy: Path | str, robot: str, timing: Timing, simulator: str, residual: Path | None) -> Tools:
    return Tools(load_suite(suite), policy, robot, timing, simulator, residual)


class OpenTools:
    """Worlds and policies of jobs, one for all jobs that can share them, until it is left."""

    def __init__(self) -> None:
        self._open: dict[Job, Tools] = {}

    def __enter__(self) -> OpenTools:
        """Opens nothing yet."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes all that were opened."""
        while self._open:
            self._open.popitem()[1].close()

    def of(self, job: Job) -> Tools:
        """Returns what runs a job."""
        shared = replace(job, seed=0, setting=Setting(timing=job.setting.timing))
        if shared not in self._open:
            suite = load_suite(job.suite)
            self._open[shared] = Tools(suite, job.bundle, job.robot, job.setting.timing, job.simulator, job.residual)
        return self._open[shared]


def run_job(job: Job) -> tuple[Job, Episode]:
    """Runs a job in this process, with the world and policy of one before it where they are the same.

    Raises:
        TendonError: the scene cannot be played, or the policy's answer not be used; the scene is named.
    """
    tools = _tools(job.suite, job.bundle, job.robot, job.setting.timing, job.simulator, job.residual)
    try:
        return job, tools.run(job.seed, job.setting)
    except TendonError as error:
        raise type(error)(f"scene {job.seed} of {job.suite}: {error}") from error


def check_engine(engine: str) -> None:
    """Wants one of `ENGINES`, and what it needs.

    Raises:
        ConfigError: it is none.
        MissingDependencyError: it is not installed.
    """
    if engine not in ENGINES:
        raise ConfigError(f"engine is {engine!r}{closest(engine, ENGINES)}")
    if engine == RAY:
        require_ray()


def run_jobs(jobs: Sequence[Job], workers: int, engine: str = PROCESSES) -> Iterator[tuple[Job, Episode]]:
    """Yields each job with its episode as they end, in any order; which one is run where changes none of them.

    Args:
        jobs: to run.
        workers: how many at once.
        engine: one of `ENGINES`.

    Raises:
        ConfigError: there is no such engine.
        MissingDependencyError: it is not installed.
        WorkerError: a process of it was killed.
    """
    check_engine(engine)
    if engine == RAY:
        return run_in_ray(run_job, jobs, workers)
    return run_in_processes(run_job, jobs, workers)
