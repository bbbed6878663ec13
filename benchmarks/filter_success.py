"""What the safety filter costs: task success with the whole filter, with joint limits only, and with plain clamping.

The same scenes, policy and inference delay in every row; only what stands between the target and the robot differs.

python benchmarks/filter_success.py [--bundle bundles/tabletop] [--seeds 200000:200060] [--delay-ms 50]
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
from pathlib import Path

import numpy as np
from filter_baselines import Unfiltered

from tendon.control import controller
from tendon.core.environment import load_environment
from tendon.core.profile import load_profile
from tendon.evaluation.episode import Episode, Runner, Setting
from tendon.evaluation.statistics import wilson
from tendon.policies.bundle import load_bundle
from tendon.policies.policy import BundlePolicy
from tendon.sim.backend import SimBackend
from tendon.sim.scene import sample_scene
from tendon.sim.world import World

VARIANTS = ("limits and clearances", "limits only", "plain clamping")
_runner: Runner | None = None


def prepare(variant: str, bundle: str) -> None:
    """Makes a worker's runner."""
    global _runner
    profile = load_profile("panda")
    if variant == "plain clamping":
        controller.SafetyFilter = Unfiltered  # type: ignore[misc]
    policy = BundlePolicy(load_bundle(Path(bundle)), profile, threads=1)
    backend = SimBackend(World(sample_scene(100_000), profile))
    if variant == VARIANTS[0]:
        _runner = Runner(backend, policy, load_environment("tabletop"))
    else:
        _runner = Runner(backend, policy)
        _runner._clearance = None  # type: ignore[assignment]


def work(job: tuple[int, Setting]) -> Episode:
    """Runs an episode."""
    seed, setting = job
    if _runner is None:
        raise RuntimeError("prepare was not called")
    return _runner.run(sample_scene(seed), setting)


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", default="bundles/tabletop")
    parser.add_argument("--seeds", default="200000:200060")
    parser.add_argument("--delay-ms", type=float, default=50.0)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    first, last = map(int, arguments.seeds.split(":"))
    setting = Setting(delay_ns=round(arguments.delay_ms * 1e6))
    print("| between target and robot | success (95 % Wilson) | median s | peak acc / limit | rms jerk | latched |")
    print("|---|---|---|---|---|---|")
    for variant in VARIANTS:
        spawn = multiprocessing.get_context("spawn")
        with spawn.Pool(arguments.workers, prepare, (variant, arguments.bundle)) as pool:
            episodes = pool.map(work, [(seed, setting) for seed in range(first, last)], chunksize=1)
        done = sum(episode.success for episode in episodes)
        seconds = np.median([e.duration_s for e in episodes if e.success] or [np.nan])
        print(
            f"| {variant} | {wilson(done, len(episodes))} | {seconds:.1f} | "
            f"{max(e.peak_acceleration for e in episodes):.2f} | "
            f"{np.mean([e.rms_jerk for e in episodes]):.0f} | {sum(bool(e.stop) for e in episodes)} |",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
