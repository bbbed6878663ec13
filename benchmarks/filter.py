"""Cost of one step of the safety filter, against plain clamping and against a quadratic program alone.

Each sees the same random targets, a new one every quarter of a second; what each lets through is counted.

python benchmarks/filter.py [--steps 20000] [--robots panda g1_arms] [--environment tabletop]
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Callable

import numpy as np
from filter_baselines import Clamp, QuadraticProgram

from tendon.control.clearance import Clearance
from tendon.control.filter import SafetyFilter
from tendon.core.environment import load_environment
from tendon.core.profile import RobotProfile, load_profile
from tendon.core.types import Array

HOLD_STEPS = 25
ROUNDING = 1e-6


def targets(profile: RobotProfile, steps: int, wide: float) -> Array:
    """Returns (steps, n) targets around home, `wide` of the joints' ranges: 1 is everywhere."""
    rng = np.random.default_rng(0)
    lower, upper, home = profile.vector("lower"), profile.vector("upper"), profile.vector("home")
    goals = rng.uniform(lower - 0.1 * wide, upper + 0.1 * wide, (steps // HOLD_STEPS + 1, len(lower)))
    return np.asarray(np.repeat(home + wide * (goals - home), HOLD_STEPS, axis=0)[:steps])


def timed(step: Callable[[Array], Array], goals: Array) -> tuple[Array, Array]:
    """Returns (steps,) microseconds and (steps, n) positions."""
    times, positions = np.zeros(len(goals)), np.zeros_like(goals)
    for k, goal in enumerate(goals):
        begin_ns = time.perf_counter_ns()
        positions[k] = step(goal)
        times[k] = (time.perf_counter_ns() - begin_ns) * 1e-3
    return times, positions


def broken(profile: RobotProfile, positions: Array, period_s: float, clearance: Clearance | None) -> str:
    """Returns how many steps broke which limit, from positions alone."""
    velocity = np.diff(positions, axis=0) / period_s
    acceleration = np.diff(velocity, axis=0) / period_s
    found = {
        "position": (positions < profile.vector("lower") - ROUNDING) | (positions > profile.vector("upper") + ROUNDING),
        "velocity": np.abs(velocity) > profile.vector("velocity") * (1 + ROUNDING),
        "acceleration": np.abs(acceleration) > profile.vector("acceleration") * (1 + ROUNDING) + ROUNDING,
        "jerk": np.abs(np.diff(acceleration, axis=0) / period_s) > profile.vector("jerk") * (1 + ROUNDING) + 1e-2,
    }
    counts = {name: int(rows.any(axis=1).sum()) for name, rows in found.items()}
    if clearance is not None:
        counts["clearance"] = sum(bool((clearance.distances(q) < clearance.margin - 1e-6).any()) for q in positions)
    return ", ".join(f"{name} {count}" for name, count in counts.items() if count) or "none"


def main() -> int:
    """Prints the numbers; returns 1 when the filter broke a limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=20000)
    parser.add_argument("--robots", nargs="+", default=["panda", "g1_arms"])
    parser.add_argument("--environment", default="tabletop", help="for the first robot only")
    arguments = parser.parse_args()
    print(
        f"{os.cpu_count()} x {platform.machine()}, {platform.system()}, Python {platform.python_version()}, "
        f"numpy {np.__version__}, {arguments.steps} steps each"
    )
    failed = False
    for robot in arguments.robots:
        profile = load_profile(robot)
        environment = load_environment(arguments.environment) if robot == arguments.robots[0] else None
        clearance = Clearance(profile, environment)
        period_s = 1.0 / profile.control_hz
        print(f"\n{robot}, {len(profile.joints)} joints, {len(clearance.names)} clearances")
        print("| what | targets | mean us | p50 | p99 | max | times clamping | limits broken in steps |")
        print("|---|---|---|---|---|---|---|---|")
        for label, wide in (("near home", 0.15), ("everywhere", 1.0)):
            goals = targets(profile, arguments.steps, wide)
            clamp = Clamp(profile, period_s)
            plain, checked = SafetyFilter(profile), SafetyFilter(profile, clearance)
            steps: dict[str, tuple[Callable[[Array], Array], Clearance | None]] = {
                "plain clamping": (clamp.step, clearance),
                "program alone": (QuadraticProgram(profile, period_s, clearance).step, clearance),
                "filter, limits": (lambda goal, f=plain: f.step(goal).position, None),
                "filter, limits and clearances": (lambda goal, f=checked: f.step(goal).position, clearance),
            }
            base = 0.0
            for name, (step, watched) in steps.items():
                times, positions = timed(step, goals)
                base = base or float(times.mean())
                breaks = broken(profile, positions, period_s, watched)
                failed |= name.startswith("filter") and breaks != "none"
                p50, p99, most = np.percentile(times, [50, 99, 100])
                print(
                    f"| {name} | {label} | {times.mean():.0f} | {p50:.0f} | {p99:.0f} | {most:.0f} | "
                    f"{times.mean() / base:.0f} | {breaks} |",
                    flush=True,
                )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
