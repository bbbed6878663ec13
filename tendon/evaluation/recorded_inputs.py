"""Episodes in simulation of which the inputs of the policy's graphs are kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tendon.evaluation.episode import Episode, Setting, Timing
from tendon.evaluation.runner import Runner
from tendon.evaluation.suites import DEFAULT_SUITE, load_suite
from tendon.policies.bundle.bundle import load_bundle
from tendon.policies.inference.policy import BundlePolicy
from tendon.policies.inference.recorder import Recorder
from tendon.policies.parity.graph import Case
from tendon.robots.profile import load_profile
from tendon.sim.backend import SimBackend


def record_inputs(
    bundle: Path, robot: str, seeds: Sequence[int], each: int, suite: str = DEFAULT_SUITE
) -> Iterator[tuple[Episode, Sequence[Case]]]:
    """Yields episodes and at most `each` of the inferences of one, evenly spread over it."""
    profile, recorder, scenes = load_profile(robot), Recorder(), load_suite(suite)
    policy = BundlePolicy(load_bundle(bundle), profile, load=recorder.load)
    runner = Runner(SimBackend(scenes.world(profile)), policy, scenes.load_environment())
    for seed in seeds:
        episode = runner.run(scenes.scene(profile, seed), Setting(timing=Timing(policy.continuation.value)))
        yield episode, recorder.take(each)
