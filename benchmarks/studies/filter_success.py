"""What the safety filter costs: task success with the whole filter, with joint limits only, and with plain clamping.

The same scenes, policy and inference delay in every row; only what stands between the target and the robot differs.

Example:
  python benchmarks/studies/filter_success.py --seeds 200000:200060 --delay-ms 50
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # benchmarks

import harness
import numpy as np
from harness import Number

from tendon.control import controller
from tendon.control.filter import SafetyFilter, Verdict
from tendon.control.stop import Stop
from tendon.core.types import Array
from tendon.evaluation.episode import Episode, Setting
from tendon.evaluation.runner import Runner
from tendon.evaluation.statistics import wilson
from tendon.policies.bundle.bundle import load_bundle
from tendon.policies.inference.policy import BundlePolicy
from tendon.robots.environment import load_environment
from tendon.robots.profile import load_profile
from tendon.sim.backend import SimBackend
from tendon.sim.tabletop.scene import sample_scene
from tendon.sim.tabletop.world import World

VARIANTS = ("limits and clearances", "limits only", "plain clamping")
_runner: Runner | None = None


class Unfiltered(SafetyFilter):
    """In the place of the filter, what clamping to the position limits does: to see what the filter costs."""

    def step(self, target: object, target_velocity: Array | None = None) -> Verdict:
        """Returns the target itself."""
        still = np.zeros_like(self._position)
        position, velocity = self._position, still
        if isinstance(target, np.ndarray):
            position = np.clip(target, *self._limits[:2])
            velocity = still if target_velocity is None else target_velocity
        change = (position - self._position) / self.period_s
        acceleration, self._rate = (change - getattr(self, "_rate", still)) / self.period_s, change
        self._position, self._velocity = position, velocity
        stop = Stop(
            ticks=np.array([0, 1]),
            position=np.array([position, position]),
            velocity=np.array([velocity, still]),
            acceleration=np.array([still, still]),
        )
        return Verdict(
            position=position,
            velocity=velocity,
            acceleration=acceleration,
            jerk=still,
            stop=stop,
            reasons=(),
            margin=1.0,
            binding="",
        )


def prepare(variant: str, bundle: str) -> None:
    """Makes a worker's runner."""
    global _runner
    profile = load_profile("panda")
    if variant == "plain clamping":
        controller.SafetyFilter = Unfiltered  # type: ignore[misc]
    policy = BundlePolicy(load_bundle(Path(bundle)), profile, threads=1)
    backend: SimBackend[Any] = SimBackend(World(sample_scene(100_000), profile))
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
    harness.add_arguments(parser)
    arguments = parser.parse_args()
    bench = harness.begin(arguments, "filter/success")
    first, last = map(int, arguments.seeds.split(":"))
    setting = Setting(delay_ns=round(arguments.delay_ms * 1e6))
    print("| between target and robot | success (95 % Wilson) | median s | peak acc / limit | rms jerk | latched |")
    print("|---|---|---|---|---|---|")
    for variant in VARIANTS:
        spawn = multiprocessing.get_context("spawn")
        with spawn.Pool(arguments.workers, prepare, (variant, arguments.bundle)) as pool:
            episodes = pool.map(work, [(seed, setting) for seed in range(first, last)], chunksize=1)
        seconds = [episode.duration_s for episode in episodes if episode.success]
        done, middle = wilson(len(seconds), len(episodes)), float(np.median(seconds or [np.nan]))
        peak, jerk = max(e.peak_acceleration for e in episodes), float(np.mean([e.rms_jerk for e in episodes]))
        latched = sum(bool(e.stop) for e in episodes)
        print(f"| {variant} | {done} | {middle:.1f} | {peak:.2f} | {jerk:.0f} | {latched} |", flush=True)
        bench.add(
            {"between target and robot": variant},
            {"success": done}
            | ({"median time": Number(middle, "s")} if seconds else {})
            | {
                "peak acceleration / limit": Number(peak),
                "rms jerk": Number(jerk, "rad/s^3"),
                "latched": Number(latched),
            },
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
