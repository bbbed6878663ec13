"""Cost of one step of the safety filter, against plain clamping and against a quadratic program alone.

Each sees the same random targets, a new one every quarter of a second; what each lets through is counted.

Example:
  python benchmarks/filter.py --steps 8000 --robots panda g1_arms
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial

import daqp
import harness
import numpy as np
from harness import Number

from tendon.control.clearance.model import Clearance
from tendon.control.filter import SafetyFilter
from tendon.core.types import Array
from tendon.robots.environment import load_environment
from tendon.robots.profile import RobotProfile, load_profile

HOLD_STEPS = 25
ROUNDING = 1e-6
DAMPER_M = 0.05
"""Clearance above its margin at which the program begins to slow an approach."""


class Clamp:
    """Clips the target's position, and its distance from the last command by the speed limit."""

    def __init__(self, profile: RobotProfile, period_s: float) -> None:
        self._lower, self._upper = profile.vector("lower"), profile.vector("upper")
        self._reach = profile.vector("velocity") * period_s
        self.position = profile.vector("home")

    def reset(self, position: Array) -> None:
        """Starts at a position."""
        self.position = position

    def step(self, target: Array) -> Array:
        """Returns the clamped target."""
        near = np.clip(target, self.position - self._reach, self.position + self._reach)
        self.position = np.clip(near, self._lower, self._upper)
        return self.position


class QuadraticProgram:
    """A program for the next velocity: speed and acceleration limits as bounds, dampers for the others.

    The usual form (Faverjon and Tournassoud 1987; Kanoun 2012), without a check of what comes out and without a stop.
    """

    def __init__(self, profile: RobotProfile, period_s: float, clearance: Clearance | None) -> None:
        self._period_s = period_s
        self._lower, self._upper = profile.vector("lower"), profile.vector("upper")
        self._speed, self._step = profile.vector("velocity"), profile.vector("acceleration") * period_s
        self._clearance = clearance
        self.infeasible = 0
        self.reset(profile.vector("home"))

    def reset(self, position: Array) -> None:
        """Starts at rest."""
        self.position, self._velocity = position, np.zeros_like(position)

    def step(self, target: Array) -> Array:
        """Returns the next position."""
        gain = 0.1 / self._period_s
        wanted = (target - self.position) * gain
        low = np.maximum(np.maximum(-self._speed, self._velocity - self._step), gain * (self._lower - self.position))
        high = np.minimum(np.minimum(self._speed, self._velocity + self._step), gain * (self._upper - self.position))
        count = len(wanted)
        gradients, floor = np.zeros((0, count)), np.zeros(0)
        if self._clearance is not None:
            room = self._clearance.distances(self.position) - self._clearance.margin
            near = np.flatnonzero(room < DAMPER_M)
            if len(near):
                gradients = np.ascontiguousarray(self._clearance.gradients(self.position, near.tolist()))
                floor = -gain * room[near]
        solution, _, status, _ = daqp.solve(
            np.eye(count),
            -wanted,
            gradients,
            np.concatenate([high, np.full(len(floor), 1e30)]),
            np.concatenate([low, floor]),
            np.zeros(count + len(floor), dtype=np.int32),
        )
        if status != 1:  # what most stacks do then: the target is clipped
            self.infeasible += 1
            solution = np.clip(wanted, -self._speed, self._speed)
        self._velocity = np.asarray(solution)
        self.position = self.position + self._period_s * self._velocity
        return self.position


def targets(profile: RobotProfile, steps: int, wide: float) -> Array:
    """Returns (steps, n) targets around home, `wide` of the joints' ranges: 1 is everywhere."""
    rng = np.random.default_rng(0)
    lower, upper, home = profile.vector("lower"), profile.vector("upper"), profile.vector("home")
    goals = rng.uniform(lower - 0.1 * wide, upper + 0.1 * wide, (steps // HOLD_STEPS + 1, len(lower)))
    return np.asarray(np.repeat(home + wide * (goals - home), HOLD_STEPS, axis=0)[:steps])


def looked_at(clearance: Clearance, q: Array) -> Array:
    """Asks for all distances of a configuration, and returns it."""
    clearance.distances(q)
    return q


def stepped(safety_filter: SafetyFilter, goal: Array) -> Array:
    """Returns the position after a step of the filter."""
    return safety_filter.step(goal).position


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
    parser.add_argument("--steps", type=int, default=20000, help="of each (%(default)s)")
    parser.add_argument("--robots", nargs="+", default=["panda", "g1_arms"], help="profiles (%(default)s)")
    parser.add_argument("--environment", default="tabletop", help="for the first robot only")
    harness.add_arguments(parser)
    arguments = parser.parse_args()
    bench = harness.begin(arguments, "filter/step-time", "filter/distances")
    print(f"{arguments.steps} steps each")
    failed = False
    for robot in arguments.robots:
        profile = load_profile(robot)
        environment = load_environment(arguments.environment) if robot == arguments.robots[0] else None
        clearance = Clearance(profile, environment)
        period_s = 1.0 / profile.control_hz
        print(f"\n{robot}, {len(profile.joints)} joints, {len(clearance.names)} clearances")
        times, _ = timed(partial(looked_at, clearance), targets(profile, arguments.steps, 1.0))
        bench.add(
            {"robot": robot, "clearances": str(len(clearance.names))},
            {"mean": Number(float(times.mean()), "us"), **harness.spread_of(times, "us")},
            claim="filter/distances",
        )
        print("| what | targets | mean us | p50 | p99 | max | times clamping | limits broken in steps |")
        print("|---|---|---|---|---|---|---|---|")
        for label, wide in (("near home", 0.15), ("everywhere", 1.0)):
            goals = targets(profile, arguments.steps, wide)
            clamp = Clamp(profile, period_s)
            plain, checked = SafetyFilter(profile), SafetyFilter(profile, clearance)
            steps: dict[str, tuple[Callable[[Array], Array], Clearance | None]] = {
                "plain clamping": (clamp.step, clearance),
                "program alone": (QuadraticProgram(profile, period_s, clearance).step, clearance),
                "filter, limits": (partial(stepped, plain), None),
                "filter, limits and clearances": (partial(stepped, checked), clearance),
            }
            base = 0.0
            for name, (step, watched) in steps.items():
                times, positions = timed(step, goals)
                base = base or float(times.mean())
                breaks = broken(profile, positions, period_s, watched)
                failed |= name.startswith("filter") and breaks != "none"
                spread = harness.spread_of(times, "us")
                print(
                    f"| {name} | {label} | {times.mean():.0f} | "
                    f"{' | '.join(f'{number.value:.0f}' for number in spread.values())} | "
                    f"{times.mean() / base:.0f} | {breaks} |",
                    flush=True,
                )
                bench.add(
                    {"robot": f"{robot} ({len(profile.joints)})", "what": name, "targets": label},
                    {"mean": Number(float(times.mean()), "us"), **spread, "limits broken in steps": breaks},
                    claim="filter/step-time",
                )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
