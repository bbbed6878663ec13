"""Episodes in simulation of which the inputs of the policy's graphs are kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tendon.evaluation.episode import Episode, Runner, Setting, Timing
from tendon.policies.bundle.bundle import load_bundle
from tendon.policies.inference.policy import BundlePolicy
from tendon.policies.inference.recorder import Recorder
from tendon.policies.parity.graph import Case
from tendon.robots.environment import load_environment
from tendon.robots.profile import load_profile
from tendon.sim.backend import SimBackend
from tendon.sim.scene import ENVIRONMENT, sample_scene
from tendon.sim.world import World


def record_inputs(
    bundle: Path, robot: str, seeds: Sequence[int], each: int
) -> Iterator[tuple[Episode, Sequence[Case]]]:
    """Yields episodes and at most `each` of the inferences of one, evenly spread over it."""
    profile, recorder = load_profile(robot), Recorder()
    policy = BundlePolicy(load_bundle(bundle), profile, load=recorder.load)
    runner = Runner(SimBackend(World(sample_scene(seeds[0]), profile)), policy, load_environment(ENVIRONMENT))
    for seed in seeds:
        episode = runner.run(sample_scene(seed), Setting(timing=Timing(policy.continuation.value)))
        yield episode, recorder.take(each)
