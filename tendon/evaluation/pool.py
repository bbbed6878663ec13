"""Many episodes in several processes, each with its own simulator and policy."""

from __future__ import annotations

import functools
import multiprocessing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tendon.core.environment import load_environment
from tendon.core.profile import load_profile
from tendon.evaluation.episode import Episode, Runner, Setting, Timing
from tendon.policies.bundle import load_bundle
from tendon.policies.manifest import Continuation
from tendon.policies.policy import BundlePolicy
from tendon.sim.backend import SimBackend
from tendon.sim.scene import ENVIRONMENT, sample_scene
from tendon.sim.world import World

ANY_SEED = 100_000
"""The scene a world starts with; every episode loads its own."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """One episode to run: a policy on a scene under a setting."""

    bundle: Path
    robot: str
    seed: int
    setting: Setting


@functools.lru_cache(maxsize=1)
def _runner(bundle: Path, robot: str, timing: Timing) -> Runner:
    profile = load_profile(robot)
    continued = timing not in (Timing.OVERWRITE, Timing.SYNCHRONOUS)
    continuation = Continuation(timing.value) if continued else None
    policy = BundlePolicy(load_bundle(bundle), profile, threads=1, continuation=continuation)
    world = World(sample_scene(ANY_SEED), profile)
    return Runner(SimBackend(world), policy, load_environment(ENVIRONMENT))


def _run(job: Job) -> tuple[Job, Episode]:
    return job, _runner(job.bundle, job.robot, job.setting.timing).run(sample_scene(job.seed), job.setting)


def run_jobs(jobs: Sequence[Job], workers: int) -> Iterator[tuple[Job, Episode]]:
    """Yields each job with its episode as they end, in any order."""
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        yield from pool.imap_unordered(_run, jobs)
