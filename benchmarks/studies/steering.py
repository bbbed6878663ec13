"""Whether a steered policy moves faster and slower as it is told, within the filter's limits, and what that costs.

Its bundle is made from bundles/tabletop and docs/examples/speed.safetensors when it is missing. Each scene (from 200
000 on, which nobody has seen) is run at each value, so values are compared scene by scene. In transport means while
the tool is higher than 8 cm above the table. Episodes are added to the results file as they end; those in it are not
run again.

Example:
  python benchmarks/studies/steering.py --scenes 32 --values -2 -1 -0.5 0 0.5 1 2
"""

from __future__ import annotations

import argparse
import functools
import json
import multiprocessing
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # benchmarks

import harness
import numpy as np
from harness import Number
from harness.progress import progress_bar
from matplotlib.figure import Figure
from safetensors.numpy import load_file

from tendon.core.types import Array, Command
from tendon.evaluation.episode import Setting
from tendon.evaluation.runner import Runner
from tendon.evaluation.statistics import wilson
from tendon.policies.bundle.bundle import load_bundle
from tendon.policies.export.convert.steering import steer_bundle
from tendon.policies.inference.policy import BundlePolicy
from tendon.policies.spec.steering import SteeringInput
from tendon.robots.environment import load_environment
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import load_profile
from tendon.sim.backend import SimBackend
from tendon.sim.tabletop.scene import ENVIRONMENT, Scene, sample_scene
from tendon.sim.tabletop.world import World

DIRECTION = Path("docs/examples/speed.safetensors")
FIRST_SEED = 200_000
DELAY_NS = 50_000_000
TRANSPORT_Z = 0.08
RESAMPLES = 10_000


@dataclass(frozen=True, kw_only=True)
class Result:
    """One episode: lengths [m], times [s], speeds of the commanded tool [m/s]; accelerations over their limit."""

    seed: int
    value: float
    family: str
    success: bool
    duration_s: float
    mean_speed: float
    peak_speed: float
    peak_acceleration: float
    stop: str


class CommandedBackend(SimBackend[Any]):
    """Keeps what is commanded."""

    due: list[Array]

    def reset(self, scene: Scene) -> None:
        """Starts anew."""
        self.due = []
        super().reset(scene)

    def apply(self, command: Command) -> Command:
        """Keeps the point that is due now."""
        self.due.append(command.trajectory.position[0])
        return super().apply(command)


@functools.lru_cache(maxsize=1)
def tools(bundle: Path, robot: str) -> tuple[Runner, CommandedBackend, BundlePolicy, Kinematics]:
    """Returns the world of a process."""
    profile = load_profile(robot)
    backend = CommandedBackend(World(sample_scene(FIRST_SEED), profile))
    policy = BundlePolicy(load_bundle(bundle), profile, threads=1)
    return Runner(backend, policy, load_environment(ENVIRONMENT)), backend, policy, Kinematics(profile)


def run_episode(job: tuple[Path, str, str, int, float]) -> Result:
    """Runs one scene at one value."""
    bundle, robot, name, seed, value = job
    runner, backend, policy, kinematics = tools(bundle, robot)
    policy.steer(name, value)
    episode = runner.run(sample_scene(seed), Setting(delay_ns=DELAY_NS))
    tool = np.array([kinematics.tool_pose(position)[0] for position in backend.due])
    speed = np.linalg.norm(np.diff(tool, axis=0), axis=1) * load_profile(robot).control_hz
    transport = speed[tool[1:, 2] > TRANSPORT_Z]
    return Result(
        seed=seed,
        value=value,
        family=episode.family,
        success=episode.success,
        duration_s=episode.duration_s,
        mean_speed=float(transport.mean()),
        peak_speed=float(transport.max()),
        peak_acceleration=episode.peak_acceleration,
        stop=episode.stop,
    )


def slope(results: Sequence[Result]) -> tuple[float, float, float] | None:
    """Returns by how much the log of the mean speed rises for each unit, with a 95 % interval over scenes.

    There is none where no scene was run at two values.
    """
    scenes: dict[int, list[Result]] = {}
    for one in results:
        scenes.setdefault(one.seed, []).append(one)
    sums = []
    for group in scenes.values():  # of deviations from the scene's own mean: scenes differ in how far things are
        value, speed = np.array([one.value for one in group]), np.log([one.mean_speed for one in group])
        away = value - value.mean()
        sums.append((away @ (speed - speed.mean()), away @ away))
    parts = np.array([part for part in sums if part[1] > 0.0])
    if not len(parts):
        return None
    drawn = np.random.default_rng(0).integers(len(parts), size=(RESAMPLES, len(parts)))
    found = parts[drawn].sum(1)
    low, high = np.percentile(found[:, 0] / found[:, 1], (2.5, 97.5))
    whole = parts.sum(0)
    return float(whole[0] / whole[1]), float(low), float(high)


def report(bench: harness.Bench, results: Sequence[Result], name: str) -> Mapping[float, list[Result]]:
    """Prints and adds a row a value and the slope; returns the results by value."""
    values = sorted({one.value for one in results})
    groups = {value: [one for one in results if one.value == value] for value in values}
    print(
        f"\n| {name} | success | median time to success [s] | mean speed in transport [m/s] | median peak [m/s] "
        "| largest peak [m/s] | largest acceleration / limit | latched |\n|---|---|---|---|---|---|---|---|"
    )
    for value, group in groups.items():
        done = [one.duration_s for one in group if one.success]
        values_of: dict[str, harness.Value] = {
            "success": wilson(len(done), len(group)),
            **({"median time to success": Number(float(np.median(done)), "s")} if done else {}),
            "mean speed in transport": Number(float(np.mean([one.mean_speed for one in group])), "m/s"),
            "median peak": Number(float(np.median([one.peak_speed for one in group])), "m/s"),
            "largest peak": Number(max(one.peak_speed for one in group), "m/s"),
            "largest acceleration / limit": Number(max(one.peak_acceleration for one in group)),
            "latched": Number(sum(bool(one.stop) for one in group)),
        }
        bench.add({"input": name, "value": f"{value:+g}"}, values_of, claim="steering/values")
        print(
            f"| {value:+g} | {wilson(len(done), len(group))} | {np.median(done) if done else np.nan:.2f} "
            f"| {np.mean([one.mean_speed for one in group]):.3f} | {np.median([one.peak_speed for one in group]):.3f} "
            f"| {max(one.peak_speed for one in group):.3f} | {max(one.peak_acceleration for one in group):.4f} "
            f"| {sum(bool(one.stop) for one in group)} |"
        )
    print(f"\nmean speed in transport for each unit of {name}, 95 % bootstrap interval over scenes:")
    within = [one for one in results if abs(one.value) <= 1]
    cases = {"all episodes": results, "values from -1 to 1": within}
    cases |= {f"{case}, successes": [one for one in chosen if one.success] for case, chosen in list(cases.items())}
    for case, chosen in cases.items():
        found = slope(chosen)
        if found is None:
            print(f"  {case}: no scene at two values, {len(chosen)} episodes")
            continue
        middle, low, high = (100 * float(np.expm1(each)) for each in found)
        print(f"  {case}: {middle:+.1f} % [{low:+.1f}, {high:+.1f}], {len(chosen)} episodes")
        more = {"a unit more": Number(middle, "%", low, high), "episodes": Number(len(chosen))}
        bench.add({"input": name, "of": case}, more, claim="steering/slope")
    return groups


def draw(groups: Mapping[float, list[Result]], name: str, path: Path) -> None:
    """Writes speed and success against the value as PNG; bars are 95 % intervals."""
    values = list(groups)
    figure = Figure(figsize=(9.5, 3.8), dpi=130, facecolor="white", layout="constrained")
    left, right = figure.subplots(1, 2)
    speeds = [np.array([one.mean_speed for one in group]) for group in groups.values()]
    # One episode has no deviation to draw.
    spread = [1.96 * each.std(ddof=1) / np.sqrt(len(each)) if len(each) > 1 else 0.0 for each in speeds]
    left.errorbar(values, [each.mean() for each in speeds], spread, fmt="o-", color="#1f77b4", capsize=3)
    left.set(xlabel=name, ylabel="mean tool speed in transport [m/s]", ylim=(0, None))
    rates = [wilson(sum(one.success for one in group), len(group)) for group in groups.values()]
    below, above = [each.rate - each.lower for each in rates], [each.upper - each.rate for each in rates]
    right.errorbar(values, [each.rate for each in rates], [below, above], fmt="o-", color="#2a9d3f", capsize=3)
    right.set(xlabel=name, ylabel="success", ylim=(0, 1.02))
    for axis in (left, right):
        axis.grid(color="#e3e7eb")
        axis.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    print(f"picture: {path}")


def main() -> None:
    """Runs and reports."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", nargs="?", type=Path, default=Path("outputs/bundles/steered"), help="(%(default)s)")
    parser.add_argument("--name", default="speed", help="of the steering input (%(default)s)")
    parser.add_argument("--values", type=float, nargs="+", default=[-2, -1, 0, 1, 2], help="(%(default)s)")
    parser.add_argument("--scenes", type=int, default=40, help="how many (%(default)s)")
    parser.add_argument("--robot", default="panda", help="profile (%(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="processes (%(default)s)")
    parser.add_argument("--results", type=Path, default=Path("outputs/steering.jsonl"), help="(%(default)s)")
    parser.add_argument("--out", type=Path, default=Path("outputs/steering-speed.png"), help="picture (%(default)s)")
    harness.add_arguments(parser)
    options = parser.parse_args()
    bench = harness.begin(options, "steering/values", "steering/slope")
    if not options.bundle.is_dir():
        number = SteeringInput(
            name="speed", lower=-2, upper=2, default=0, meaning="log of the speed over 0.15, nominal"
        )
        steer_bundle(load_bundle("bundles/tabletop"), options.bundle, number, load_file(DIRECTION))
    lines = options.results.read_text().splitlines() if options.results.is_file() else []
    results = [Result(**json.loads(line)) for line in lines]
    ran = {(one.seed, one.value) for one in results}
    jobs = [
        (options.bundle, options.robot, options.name, seed, value)
        for seed in range(FIRST_SEED, FIRST_SEED + options.scenes)
        for value in options.values
        if (seed, value) not in ran
    ]
    options.results.parent.mkdir(parents=True, exist_ok=True)
    with (
        progress_bar() as bar,
        options.results.open("a") as file,
        multiprocessing.get_context("spawn").Pool(options.workers) as pool,
    ):
        for one in bar.track(pool.imap_unordered(run_episode, jobs), total=len(jobs)):
            results.append(one)
            print(json.dumps(asdict(one)), file=file, flush=True)
    draw(report(bench, results, options.name), options.name, options.out)


if __name__ == "__main__":
    main()
