"""Cost of one step of the safety filter on random targets, against plain clamping, with every answer checked.

python benchmarks/filter.py [--steps 20000] [--robot panda]
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time

import numpy as np

from tendon.control.filter import SafetyFilter
from tendon.core.profile import load_profile
from tendon.core.types import Array


class Clamp:
    """The usual way: clip the target's position, and its distance from the last command by the speed limit."""

    def __init__(self, lower: Array, upper: Array, reach: Array, position: Array) -> None:
        self._lower, self._upper, self._reach, self._position = lower, upper, reach, position

    def step(self, target: Array) -> Array:
        """Returns the clamped target."""
        near = np.clip(target, self._position - self._reach, self._position + self._reach)
        self._position = np.clip(near, self._lower, self._upper)
        return self._position


def line(name: str, times_ns: Array) -> str:
    """Returns one line of percentiles in microseconds."""
    p50, p99, most = np.percentile(times_ns, [50, 99, 100]) * 1e-3
    return f"{name:28s} mean {times_ns.mean() * 1e-3:7.1f}  p50 {p50:7.1f}  p99 {p99:7.1f}  max {most:8.1f} us"


def main() -> int:
    """Prints the numbers; returns 1 when a step broke a limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=20000)
    parser.add_argument("--robot", default="panda")
    arguments = parser.parse_args()
    profile = load_profile(arguments.robot)
    lower, upper = profile.vector("lower"), profile.vector("upper")
    speed, acceleration = profile.vector("velocity"), profile.vector("acceleration")
    filter_ = SafetyFilter(profile)
    clamp = Clamp(lower, upper, speed * filter_.period_s, profile.vector("home"))
    rng = np.random.default_rng(0)
    filter_ns, clamp_ns = np.zeros(arguments.steps), np.zeros(arguments.steps)
    broken = clamp_broken = 0
    rate = clamp_rate = np.zeros(len(lower))
    clamped = profile.vector("home")
    target = profile.vector("home")
    for k in range(arguments.steps):
        if k % 25 == 0:
            target = rng.uniform(lower - 0.1, upper + 0.1)
        begin_ns = time.perf_counter_ns()
        verdict = filter_.step(target)
        middle_ns = time.perf_counter_ns()
        now = clamp.step(target)
        clamp_ns[k] = time.perf_counter_ns() - middle_ns
        filter_ns[k] = middle_ns - begin_ns
        change = np.abs(verdict.velocity - rate) / filter_.period_s
        rest = verdict.stop.position[-1]
        inside = (change <= acceleration + 1e-8) & (np.abs(verdict.velocity) <= speed + 1e-9)
        broken += not (inside & (rest >= lower - 1e-9) & (rest <= upper + 1e-9)).all()
        now_rate = (now - clamped) / filter_.period_s
        clamp_broken += bool((np.abs(now_rate - clamp_rate) / filter_.period_s > acceleration + 1e-8).any())
        rate, clamped, clamp_rate = verdict.velocity, now, now_rate
    print(
        f"{os.cpu_count()} x {platform.machine()}, {platform.system()}, Python {platform.python_version()}, "
        f"numpy {np.__version__}, {len(lower)} joints, {arguments.steps} steps"
    )
    print(line("filter step, stop included", filter_ns))
    print(line("plain clamping", clamp_ns))
    print(f"{'ratio of means':28s} {filter_ns.mean() / clamp_ns.mean():.1f}")
    print(f"steps that broke a limit: filter {broken}, clamping {clamp_broken} (acceleration)")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
