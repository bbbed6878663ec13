"""Collect demonstrations of the scripted expert in simulation, or expert labels for a learner's states (DAgger).

Examples:
  tendon demos --out outputs/demos/expert --seeds 0:6400
  tendon demos --out outputs/demos/dagger1 --seeds 20000:22000 --learner outputs/bundles/stage1
"""

from __future__ import annotations

import argparse
import multiprocessing
import multiprocessing.queues
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tendon.core.errors import ConfigError
from tendon.core.profile import load_profile

TRAINING_SEEDS = 100_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.epilog = __doc__.partition("\n\n")[2] if __doc__ else None
    parser.add_argument("--out", type=Path, required=True, help="folder of shards; finished shards are kept")
    parser.add_argument("--seeds", default="0:6400", help="training scenes FIRST:END, within 0:100000 (%(default)s)")
    parser.add_argument("--learner", type=Path, help="bundle that acts while the expert labels")
    parser.add_argument("--robot", default="panda", help="robot profile (%(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="processes (%(default)s)")


def _collect(job: tuple[str, Path, Path | None, list[int]], done: multiprocessing.queues.Queue[int]) -> None:
    from tendon.sim.demonstrations import Collector, collect_shard

    robot, out, learner, firsts = job
    profile = load_profile(robot)
    policy = None
    if learner:
        from tendon.policies.bundle import load_bundle
        from tendon.policies.policy import BundlePolicy

        policy = BundlePolicy(load_bundle(learner), profile, threads=1)
    collector = Collector(profile, policy)
    for first in firsts:
        done.put(collect_shard(collector, out, first))


def parse_seeds(text: str, low: int, high: int) -> range:
    """Returns FIRST:END as a range.

    Raises:
        ConfigError: not two numbers, empty, or outside [low, high].
    """
    first, _, end = text.partition(":")
    if not (first.isdigit() and end.isdigit()) or not low <= int(first) < int(end) <= high:
        raise ConfigError(f"--seeds is {text}, must be FIRST:END with {low} <= FIRST < END <= {high}")
    return range(int(first), int(end))


def run(args: argparse.Namespace) -> int:
    """Collects every shard that is missing."""
    from tendon.sim.demonstrations import SHARD_SEEDS

    seeds = parse_seeds(args.seeds, 0, TRAINING_SEEDS)
    if args.workers < 1:
        raise ConfigError(f"--workers is {args.workers}, must be at least 1")
    load_profile(args.robot)
    firsts = list(seeds[::SHARD_SEEDS])
    context = multiprocessing.get_context("spawn")
    done: multiprocessing.queues.Queue[int] = context.Queue()
    workers = [
        context.Process(
            target=_collect, args=((args.robot, args.out, args.learner, firsts[k :: args.workers]), done), daemon=True
        )
        for k in range(args.workers)
    ]
    for worker in workers:
        worker.start()
    columns = (
        TextColumn("demos"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    frames = 0
    with Progress(*columns) as bar:
        task = bar.add_task("demos", total=len(firsts) * SHARD_SEEDS, note="")
        for _ in firsts:
            while done.empty():
                failed = next((w for w in workers if w.exitcode not in (None, 0)), None)
                if failed is not None:
                    raise ConfigError(f"a collecting process ended with code {failed.exitcode}; its output is above")
                workers[0].join(0.2)
            frames += done.get()
            bar.update(task, advance=SHARD_SEEDS, note=f"{frames} frames")
    return 0
