"""Many episodes, in this process or in several, each with its own simulator and policy."""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import signal
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tendon.core.protocols import Policy
from tendon.evaluation.episode import Episode, Setting, Timing
from tendon.evaluation.expert_policy import ExpertPolicy
from tendon.evaluation.runner import Runner
from tendon.evaluation.suites import DEFAULT_SUITE, load_suite
from tendon.policies.bundle.bundle import load_bundle
from tendon.policies.bundle.places import EXPERT
from tendon.policies.inference.policy import BundlePolicy
from tendon.policies.spec.manifest import Continuation
from tendon.robots.profile import RobotProfile, load_profile
from tendon.sim.backend import SimBackend
from tendon.sim.simulators import AUTO
from tendon.sim.suite import Suite, World


@dataclass(frozen=True, kw_only=True)
class Job:
    """One episode to run: a policy, or `EXPERT`, on a scene of a suite under a setting."""

    bundle: Path | str
    robot: str
    seed: int
    setting: Setting
    suite: str = DEFAULT_SUITE
    simulator: str = AUTO


def run_here(
    suite: Suite, policy: Policy | Path | str, robot: str, seeds: Sequence[int], setting: Setting, simulator: str = AUTO
) -> list[Episode]:
    """Returns an episode for each scene, run one after the other in this process.

    Args:
        suite: whose scenes they are.
        policy: one that is loaded, the folder of a bundle, or `EXPERT`.
        robot: profile.
        seeds: of the scenes.
        setting: of all episodes.
        simulator: see `tendon.sim.simulators`.
    """
    profile = load_profile(robot)
    backend = SimBackend(suite.world(profile, simulator), draws=policy != EXPERT)
    try:
        if isinstance(policy, Path | str):
            policy = _load(policy, profile, setting.timing, suite, backend.world)
        runner = Runner(backend, policy, suite.load_environment())
        return [runner.run(suite.scene(profile, seed), setting) for seed in seeds]
    finally:
        backend.close()


def _load(bundle: Path | str, profile: RobotProfile, timing: Timing, suite: Suite, world: World) -> Policy:
    """Returns the policy of a bundle, which continues a plan as the timing says, or the expert."""
    if bundle == EXPERT:
        return ExpertPolicy(suite, profile, lambda: (world.scene, world.state()))
    continued = timing not in (Timing.OVERWRITE, Timing.SYNCHRONOUS)
    continuation = Continuation(timing.value) if continued else None
    return BundlePolicy(load_bundle(Path(bundle)), profile, threads=1, continuation=continuation)


@functools.lru_cache(maxsize=1)
def _runner(name: str, bundle: Path | str, robot: str, timing: Timing, simulator: str) -> tuple[Suite, Runner]:
    suite, profile = load_suite(name), load_profile(robot)
    backend = SimBackend(suite.world(profile, simulator), draws=bundle != EXPERT)
    return suite, Runner(backend, _load(bundle, profile, timing, suite, backend.world), suite.load_environment())


def _run(job: Job) -> tuple[Job, Episode]:
    suite, runner = _runner(job.suite, job.bundle, job.robot, job.setting.timing, job.simulator)
    return job, runner.run(suite.scene(runner.profile, job.seed), job.setting)


def run_jobs(jobs: Sequence[Job], workers: int) -> Iterator[tuple[Job, Episode]]:
    """Yields each job with its episode as they end, in any order."""
    with _deaf_to_interrupts():
        pool = multiprocessing.get_context("spawn").Pool(workers)
    with pool:
        yield from pool.imap_unordered(_run, jobs)


@contextlib.contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Has processes started meanwhile ignore Ctrl-C, from their first line on: the one that started them ends them."""
    if threading.current_thread() is not threading.main_thread():  # only it may set handlers
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
