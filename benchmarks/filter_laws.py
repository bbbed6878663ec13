"""Millions of hostile steps through the safety filter, every one judged by a checker that shares no code with it.

Targets are random, jumping, bang-bang, huge, not finite, late, of the wrong size, or missing; speeds are scaled and
released; starts are anywhere, in some runs outside a limit. The checker rebuilds the motion from the points on the
wire alone, as one cubic a period, and takes exact extrema of position, velocity, acceleration and jerk; the stop of
every tenth step likewise. With clearances it also looks at them in the middle and at the end of each step, by coal.

Examples:
  python benchmarks/filter_laws.py --steps 1000000
  python benchmarks/filter_laws.py --steps 60000 --robots ur5e --clearances
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

import harness
import numpy as np
import pinocchio as pin
from harness import Number

from tendon.control.clearance.model import Clearance
from tendon.control.clearance.pair_distances import geometry_data, read_distances
from tendon.control.filter import SafetyFilter
from tendon.core.types import Array
from tendon.robots.environment import load_environment
from tendon.robots.profile import RobotProfile, load_profile

ROBOTS = ("panda", "fr3", "ur5e", "so101", "g1_arms")
KINDS = ("hold", "hold", "jumps", "bang", "walk", "sine", "huge", "outside", "garbage")
RUN_STEPS = 1000
ROUNDING = 1e-5
"""Of differences of positions, as a part of the limit they are held against."""
LENGTH_M = 1e-6
OUTSIDE_SHARE = 0.1


@dataclass
class Findings:
    """What one run found."""

    steps: int = 0
    refused: int = 0
    moving: int = 0
    violations: Counter[str] = field(default_factory=Counter)
    worst: dict[str, float] = field(default_factory=dict)

    def add(self, other: Findings) -> None:
        """Takes in another run."""
        self.steps, self.refused = self.steps + other.steps, self.refused + other.refused
        self.moving += other.moving
        self.violations += other.violations
        for law, value in other.worst.items():
            self.worst[law] = max(self.worst.get(law, -np.inf), value)

    def judge(self, law: str, used: Array, allowed: float) -> None:
        """Counts the rows of (k, ...) `used` that are above what is allowed, or not a number."""
        if not len(used):
            return
        self.worst[law] = max(self.worst.get(law, -np.inf), float(np.max(used)))
        self.violations[law] += int((~(used <= allowed)).reshape(len(used), -1).any(axis=1).sum())


def judge_motion(found: Findings, profile: RobotProfile, q: Array, v: Array, h: Array, outside: bool) -> None:
    """Judges the cubics through (k, n) points; `h` is (k - 1, 1) seconds."""
    slope = np.diff(q, axis=0) / h
    begin, end = (6.0 * slope - 4.0 * v[:-1] - 2.0 * v[1:]) / h, (4.0 * v[1:] + 2.0 * v[:-1] - 6.0 * slope) / h
    jerk = (end - begin) / h
    limit = profile.vector("acceleration")
    found.judge("acceleration", np.maximum(np.abs(begin), np.abs(end)) / limit, 1 + ROUNDING)
    found.judge("jump of acceleration", np.abs(begin[1:] - end[:-1]) / limit, ROUNDING)
    found.judge("jerk", np.abs(jerk) / profile.vector("jerk"), 1 + ROUNDING)
    with np.errstate(all="ignore"):
        root = np.sqrt(np.maximum(begin**2 - 2.0 * jerk * v[:-1], 0.0))
        moments = [
            np.nan_to_num(moment, nan=0.0, posinf=0.0, neginf=0.0).clip(0.0, h)
            for moment in (-begin / jerk, (-begin - root) / jerk, (-begin + root) / jerk, -v[:-1] / begin)
        ]
    speed = np.max([np.abs(v[:-1] + begin * t + 0.5 * jerk * t**2) for t in [*moments, h]], axis=0)
    found.judge("velocity", speed / profile.vector("velocity"), 1 + ROUNDING)
    places = np.array([q[:-1] + v[:-1] * t + 0.5 * begin * t**2 + jerk * t**3 / 6.0 for t in [*moments, h]])
    lower, upper = profile.vector("lower"), profile.vector("upper")
    if outside:  # never farther out than at the start
        lower, upper = np.minimum(lower, q[0]), np.maximum(upper, q[0])
    found.judge("position", np.max(np.maximum(places - upper, lower - places), axis=0), 1e-9)


def hostile(rng: np.random.Generator, profile: RobotProfile, steps: int) -> list[tuple[object, object, float]]:
    """Returns targets, target velocities and speeds of many kinds, a new kind every few steps."""
    lower, upper, n = profile.vector("lower"), profile.vector("upper"), len(profile.joints)
    stream: list[tuple[object, object, float]] = []
    point, speed = rng.uniform(lower, upper), 1.0
    while len(stream) < steps:
        kind = rng.choice(
            ["hold", "jumps", "bang", "walk", "sine", "huge", "outside", "garbage"], p=[0.2, *[0.8 / 7] * 7]
        )
        length = int(rng.integers(5, 80))
        speed = float(rng.choice([speed, 1.0, rng.uniform(0.05, 1.0)]))
        phase, goal = rng.uniform(0, 6), rng.uniform(lower, upper)
        for k in range(length):
            velocity: object = rng.choice([0.0, 1.0, 1e3, np.nan, 1e300]) * rng.standard_normal(n)
            target: object = goal
            if kind == "jumps":
                target = rng.uniform(lower, upper)
            elif kind == "bang":
                target = np.where(rng.random(n) < 0.5, lower, upper) if k % int(rng.integers(1, 9)) == 0 else goal
            elif kind == "walk":
                point = point + 0.03 * rng.standard_normal(n)
                target, velocity = point, None
            elif kind == "sine":
                target, velocity = goal + 0.3 * np.sin(0.1 * k + phase), np.full(n, 3.0 * np.cos(0.1 * k + phase))
            elif kind == "huge":
                target = rng.choice([-1e308, 1e308, 1e-308], n)
            elif kind == "outside":
                target = np.where(rng.random(n) < 0.5, lower - rng.random(n), upper + rng.random(n))
            elif kind == "garbage":
                wrong = [None, "up", np.zeros(n - 1), np.full(n, np.nan), np.full(n, -np.inf), 3.0, np.zeros((n, 1))]
                target = wrong[int(rng.integers(len(wrong)))]
            stream.append((target, velocity, speed))
    return stream[:steps]


def start_of(rng: np.random.Generator, profile: RobotProfile, clearance: Clearance | None, outside: bool) -> Array:
    """Returns where a run starts: anywhere free, or a little outside of limits."""
    lower, upper = profile.vector("lower"), profile.vector("upper")
    for _ in range(10000):
        start = rng.uniform(lower, upper)
        if clearance is None or (clearance.distances(start) > clearance.margin).all():
            break
    if outside:
        joint = int(rng.integers(len(lower)))
        start[joint] = rng.choice([lower[joint] - 0.1 * rng.random(), upper[joint] + 0.1 * rng.random()])
    return np.asarray(start)


def run(job: tuple[str, bool, int]) -> Findings:
    """Runs one stream."""
    robot, with_clearances, seed = job
    profile = load_profile(robot)
    clearance = None
    if with_clearances:
        clearance = Clearance(profile, load_environment("tabletop") if robot in ("panda", "fr3") else None)
    rng = np.random.default_rng(seed)
    outside = clearance is None and rng.random() < OUTSIDE_SHARE
    start = start_of(rng, profile, clearance, outside)
    safety_filter = SafetyFilter(profile, clearance)
    safety_filter.reset(start)
    h, found = safety_filter.period_s, Findings(steps=RUN_STEPS)
    q, v = [start], [np.zeros_like(start)]
    for k, (target, velocity, speed) in enumerate(hostile(rng, profile, RUN_STEPS)):
        safety_filter.speed = speed
        verdict = safety_filter.step(target, velocity)  # type: ignore[arg-type]
        q.append(verdict.position)
        v.append(verdict.velocity)
        found.refused += verdict.refused
        found.moving += bool(np.abs(verdict.velocity).max() > 0.01)
        if k % 10 == 0:
            stop = verdict.stop
            found.judge("stop at rest", np.abs(stop.velocity[-1:]), 0.0)
            judge_motion(found, profile, stop.position, stop.velocity, np.diff(stop.ticks)[:, None] * h, outside)
    motion, rates = np.array(q), np.array(v)
    judge_motion(found, profile, motion, rates, np.full((RUN_STEPS, 1), h), outside)
    if clearance is not None:
        middle = 0.5 * (motion[1:] + motion[:-1]) + (h / 8.0) * (rates[:-1] - rates[1:])
        by_coal = ByCoal(clearance)
        for points in (motion, middle):
            lacking = [clearance.margin - by_coal.distances(point) for point in points]
            found.judge("clearance", np.array(lacking), LENGTH_M)
    return found


class ByCoal:
    """Distances of a robot as coal has them: the filter computes its own (ADR 43)."""

    def __init__(self, clearance: Clearance) -> None:
        self._clearance, self._data = clearance, clearance._model.createData()
        self._geometry_data = geometry_data(clearance._geometry)

    def distances(self, q: Array) -> Array:
        """Returns the (m,) distances; those of the tool to its workspace are the filter's."""
        whole, found = self._clearance, np.array(self._clearance.distances(q))
        full = whole._home + whole._spread @ q
        pin.computeDistances(whole._model, self._data, whole._geometry, self._geometry_data, full)
        shapes, first = read_distances(self._geometry_data.distanceResults), whole._shapes_of[:-1]
        found[: len(first)] = np.minimum.reduceat(shapes, first)
        return found


def main() -> int:
    """Prints a row a robot; returns 1 when a law was broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=1_000_000, help="of each robot")
    parser.add_argument("--robots", nargs="+", default=ROBOTS)
    parser.add_argument("--clearances", action="store_true", help="with each robot's collision model")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    harness.add_arguments(parser)
    arguments = parser.parse_args()
    bench = harness.begin(arguments, "filter/laws")
    kept = "limits and clearances" if arguments.clearances else "limits"
    runs = -(-arguments.steps // RUN_STEPS)
    print("| robot | steps | in motion | stop played | violations | worst use of a limit | seconds |")
    print("|---|---|---|---|---|---|---|")
    broken = 0
    with (
        multiprocessing.get_context("spawn").Pool(arguments.workers) as pool,
        harness.progress_bar() as bar,
    ):
        for robot in arguments.robots:
            total, begin = Findings(), time.monotonic()
            jobs = [(robot, arguments.clearances, arguments.seed + k) for k in range(runs)]
            for found in bar.track(pool.imap_unordered(run, jobs), total=runs, description=robot):
                total.add(found)
            violations = {law: count for law, count in total.violations.items() if count}
            broken += sum(violations.values())
            limits = ("velocity", "acceleration", "jerk")
            used = ", ".join(f"{law} {100 * total.worst[law]:.4f} %" for law in limits)
            bar.console.print(
                f"| {robot} | {total.steps} | {100 * total.moving / total.steps:.0f} % | "
                f"{100 * total.refused / total.steps:.2f} % | {violations or 0} | {used} | "
                f"{time.monotonic() - begin:.0f} |",
                soft_wrap=True,
            )
            bench.add(
                {"robot": robot, "laws": kept},
                {
                    "steps": Number(total.steps),
                    "in motion": Number(100 * total.moving / total.steps, "%"),
                    "stop played": Number(100 * total.refused / total.steps, "%"),
                    "violations": Number(sum(violations.values())),
                    "worst use of a limit": used,
                },
                note=", ".join(f"{law} {count}" for law, count in violations.items()),
            )
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
