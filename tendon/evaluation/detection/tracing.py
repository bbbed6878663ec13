"""Episodes in simulation of which everything is kept that a failure detector sees, perturbed on request."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tendon.core.errors import ConfigError
from tendon.core.types import ActionChunk, Array
from tendon.evaluation.episode import Episode, Setting, Switch
from tendon.evaluation.perturbed_policy import PerturbedPolicy
from tendon.evaluation.runner import Runner
from tendon.evaluation.suites import DEFAULT_SUITE, load_suite
from tendon.evaluation.workers import run_in_processes
from tendon.policies.bundle.bundle import load_bundle
from tendon.policies.detector.conformal import Trace
from tendon.policies.inference.identity import policy_digest
from tendon.policies.inference.policy import BundlePolicy
from tendon.policies.residual.bundle import load_residual
from tendon.robots.profile import load_profile
from tendon.sim.backend import SimBackend
from tendon.sim.perturbation import Perturbation
from tendon.sim.suite import Scene, Suite, TaskSwitching, World


@dataclass(frozen=True, kw_only=True)
class TraceJob:
    """One episode to trace.

    Attributes:
        bundle: of the policy.
        robot: profile.
        seed: of the scene.
        perturbation: of observations, or for scenes and worlds of this suite; `None` is the suite's own difficulty.
        delay_ns: of inference, in simulated time.
        suite: whose scenes they are.
        residual: corrects the policy; `None` is the policy alone.
        switch: another task is asked for; left out where the suite's world has one task a scene.
    """

    bundle: Path
    robot: str
    seed: int
    perturbation: Perturbation | None = None
    delay_ns: int = 0
    suite: str = DEFAULT_SUITE
    residual: Path | None = None
    switch: Switch | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Traced:
    """A traced episode.

    Attributes:
        job: what was run.
        episode: what came of it.
        asked_ns: when its last task was asked for, from the episode's start.
        trace: what the detector sees.
        observed_ns: (N,) when each inference looked, from the episode's start.
        estimates: (N,) of the policy's progress; NaN where its bundle has no estimator.
        final_state: everything that moves, at the end, as the world of its suite tells it.
    """

    job: TraceJob
    episode: Episode
    asked_ns: int
    trace: Trace
    observed_ns: Array
    estimates: Array
    final_state: Any


class TracingPolicy(PerturbedPolicy):
    """A policy that keeps what its detector sees.

    Args:
        policy: answers.
        world: where a perturbation moves things.
        arm: see `Difficulty`.
    """

    def __init__(self, policy: BundlePolicy, world: World, arm: int | None = None) -> None:
        super().__init__(policy, world, arm)
        self._bundle = policy
        self._forget()

    def begin(self, perturbation: Perturbation, scene: Scene) -> Scene:
        """Starts an episode; returns the scene to load."""
        self._forget()
        return super().begin(perturbation, scene)

    def _forget(self) -> None:
        self._rows: list[tuple[int, int, int, Array, Array, str]] = []
        self._estimates: list[float] = []
        self._step_ns = 1

    def keep(self, chunk: ActionChunk) -> None:
        """Keeps the last inference, with its rows when they are carried out: that may be later than was inferred."""
        last = self._bundle.last
        if last is None or last.embedding is None:
            raise ConfigError(
                f"policy {self._bundle.manifest.name} does not tell its embedding: give its graph an output "
                "embedding (1, E) float32, as `tendon policy export` does"
            )
        seen_ns, start_ns = chunk.observation_stamp_ns, chunk.start_ns
        self._rows.append((seen_ns, start_ns, last.given_rows, last.targets, last.embedding, last.instruction))
        self._estimates.append(np.nan if last.progress is None else last.progress)
        self._step_ns = chunk.step_ns

    def trace(self) -> tuple[Trace, Array, Array]:
        """Returns the trace of the episode, when each inference looked [ns], and the progress that it estimated."""
        seen_ns, start_ns, given, targets, embeddings, instructions = zip(*self._rows, strict=True)
        trace = Trace(
            start_ns=np.array(start_ns),
            step_ns=self._step_ns,
            targets=np.array(targets),
            given=np.array(given),
            embeddings=np.array(embeddings),
            instructions=instructions,
        )
        return trace, np.array(seen_ns), np.array(self._estimates)


@functools.lru_cache(maxsize=1)
def _tools(
    name: str, bundle: Path, robot: str, residual: Path | None
) -> tuple[Suite, Runner, TracingPolicy, SimBackend[World]]:
    suite, profile, loaded = load_suite(name), load_profile(robot), load_bundle(bundle)
    corrects = None if residual is None else load_residual(residual).open(profile, policy_digest(loaded.manifest))
    world = suite.world(profile.uncalibrated)
    policy = TracingPolicy(BundlePolicy(loaded, profile, threads=1), world, suite.difficulty.arm)
    backend = SimBackend(world, zeros=profile.zeros)
    return suite, Runner(backend, policy, suite.load_environment(), corrects, profile), policy, backend


def trace_episode(job: TraceJob) -> Traced:
    """Runs one episode and returns all of it."""
    suite, runner, policy, backend = _tools(job.suite, job.bundle, job.robot, job.residual)
    perturbation = suite.harder({}) if job.perturbation is None else job.perturbation
    scene = policy.begin(perturbation, suite.scene(runner.profile, job.seed))
    backend.joint_zero = policy.joint_zero
    switch = job.switch if isinstance(backend.world, TaskSwitching) else None
    episode = runner.run(scene, Setting(delay_ns=job.delay_ns, switch=switch).under(perturbation), policy.keep)
    trace, observed_ns, estimates = policy.trace()
    return Traced(
        job=job,
        episode=episode,
        asked_ns=backend.world.time_ns - round(1e9 * episode.duration_s),
        trace=trace,
        observed_ns=observed_ns,
        estimates=estimates,
        final_state=backend.world.state(),
    )


def run_traces(jobs: Sequence[TraceJob], workers: int) -> Iterator[Traced]:
    """Yields traced episodes as they end, in any order; see `run_in_processes`."""
    yield from run_in_processes(trace_episode, jobs, workers)
