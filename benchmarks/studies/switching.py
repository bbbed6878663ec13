"""A new instruction in mid-motion: is it done, and does the motion stay smooth?

In each scene another task is asked for at a moment drawn between 0.5 and 2.5 s, in one of two ways: at once, while the
robot moves (what Tendon does), or after the robot has come to rest. Time counts from the moment of asking in both.
The same scenes and tasks, asked for from the start, are the reference: what the switch itself costs.

Examples:
  python benchmarks/studies/switching.py --seeds 200000:200060
  python benchmarks/studies/switching.py --seeds 200000:200012 --delay-ms 100
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # benchmarks

import harness
import numpy as np
from harness import Number
from rich.progress import track

from tendon.cli.seeds import parse_seeds
from tendon.evaluation.episode import ON_THE_WAY_S, Episode, Setting, Switch
from tendon.evaluation.evaluate import END_SEED, FIRST_SEED
from tendon.evaluation.pool import Job, run_jobs
from tendon.evaluation.statistics import wilson

WAYS = {"asked from the start": None, "in mid-motion": False, "after a stop": True}


def setting_of(seed: int, stop_first: bool | None, delay_ns: int) -> Setting:
    """Returns the setting of a scene in one of the ways."""
    if stop_first is None:
        return Setting(delay_ns=delay_ns, switch=Switch(at_ns=0))
    at_s = np.random.default_rng([seed, 19]).uniform(*ON_THE_WAY_S)
    return Setting(delay_ns=delay_ns, switch=Switch(at_ns=round(at_s * 1e9), stop_first=stop_first))


def row(bench: harness.Bench, name: str, episodes: Sequence[Episode]) -> str:
    """Returns a row of the table, and adds it."""
    if not episodes:
        return f"| {name} | - | - | - | - | - |"
    good = [episode.duration_s for episode in episodes if episode.success]
    done, latched = wilson(len(good), len(episodes)), sum(bool(e.stop) for e in episodes)
    peak, jump = max(e.peak_acceleration for e in episodes), median(e.peak_jump for e in episodes) * 1e3
    bench.add(
        {"second task": name},
        {
            "success": done,
            **({"median time": Number(median(good), "s")} if good else {}),
            "largest acceleration / limit": Number(peak),
            "median jump": Number(jump, "mrad"),
            "latched": Number(latched),
        },
    )
    return f"| {name} | {done} | {f'{median(good):.2f}' if good else '-'} | {peak:.4f} | {jump:.0f} | {latched} |"


def main() -> None:
    """Runs the episodes and prints a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", type=Path, default=Path("bundles/tabletop"))
    parser.add_argument("--seeds", default="200000:200060", help="scenes (%(default)s)")
    parser.add_argument("--delay-ms", type=float, default=50.0, help="of inference (%(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="processes (%(default)s)")
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, "switching/second-task")
    jobs = [
        (way, Job(bundle=args.bundle, robot="panda", seed=seed, setting=setting))
        for way, stop_first in WAYS.items()
        for seed in parse_seeds(args.seeds, FIRST_SEED, END_SEED)
        for setting in [setting_of(seed, stop_first, round(args.delay_ms * 1e6))]
    ]
    way_of = {job: way for way, job in jobs}
    found: dict[str, list[Episode]] = {way: [] for way in WAYS}
    for job, episode in track(run_jobs([job for _, job in jobs], args.workers), "episodes", total=len(jobs)):
        if episode.held is not None:  # else the first task was done before the second was asked for
            found[way_of[job]].append(episode)
    print("| second task | success | median s | largest acceleration / limit | median jump mrad | latched |")
    print("|---|---|---|---|---|---|")
    for way, episodes in found.items():
        print(row(bench, way, episodes))
        if way != "asked from the start":
            for holding in (False, True):
                part = [episode for episode in episodes if episode.held is holding]
                print(row(bench, f"{way}, {'an item' if holding else 'nothing'} in the gripper", part))


if __name__ == "__main__":
    main()
