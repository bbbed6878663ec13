"""Run a policy for numbers: success per family with 95 % Wilson intervals, on scenes it was not trained on.

Examples:
  tendon eval bundles/tabletop --seeds 200000:200240
  tendon eval bundles/tabletop --seeds 200000:200240 --blank
  tendon eval bundles/tabletop --seeds 200000:200060 --timing overwrite --delay-ms 200
"""

from __future__ import annotations

import argparse
import functools
import json
import multiprocessing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tendon.commands.demos import parse_seeds
from tendon.core.errors import ConfigError
from tendon.core.profile import load_profile

if TYPE_CHECKING:
    from tendon.evaluation.episode import Episode, Setting

FIRST_SEED, END_SEED = 100_000, 300_000
TIMINGS = ("prefix", "overwrite", "synchronous")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.epilog = __doc__.partition("\n\n")[2] if __doc__ else None
    parser.add_argument("bundle", type=Path, help="folder of the policy")
    parser.add_argument(
        "--seeds",
        default="100000:100060",
        help="scenes FIRST:END; 100000-199999 tune, 200000-299999 report (%(default)s)",
    )
    parser.add_argument("--timing", choices=TIMINGS, default="prefix", help="of inference (%(default)s)")
    parser.add_argument("--delay-ms", type=float, default=0.0, help="inference delay in simulated time (%(default)s)")
    parser.add_argument("--blank", action="store_true", help="leave the instruction empty: a control run")
    parser.add_argument("--robot", default="panda", help="robot profile (%(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="processes (%(default)s)")
    parser.add_argument("--out", type=Path, help="JSON file for the summary and every episode")


@functools.cache
def _runner(bundle: Path, robot: str):  # noqa: ANN202 - the type would import the simulator
    from tendon.evaluation.episode import Runner
    from tendon.policies.bundle import load_bundle
    from tendon.policies.policy import BundlePolicy
    from tendon.sim.backend import SimBackend
    from tendon.sim.scene import sample_scene
    from tendon.sim.world import World

    profile = load_profile(robot)
    policy = BundlePolicy(load_bundle(bundle), profile, threads=1)
    return Runner(SimBackend(World(sample_scene(FIRST_SEED), profile)), policy)


def _episode(job: tuple[Path, str, int, Setting]) -> Episode:
    from tendon.sim.scene import sample_scene

    bundle, robot, seed, setting = job
    return _runner(bundle, robot).run(sample_scene(seed), setting)


def run(args: argparse.Namespace) -> int:
    """Evaluates and prints the summary."""
    from tendon.evaluation.episode import Setting, Timing
    from tendon.evaluation.report import lines, summarise
    from tendon.policies.bundle import load_bundle

    seeds = parse_seeds(args.seeds, FIRST_SEED, END_SEED)
    if args.workers < 1 or args.delay_ms < 0:
        raise ConfigError(f"--workers is {args.workers} and --delay-ms {args.delay_ms}: need at least 1 and 0")
    digest = load_bundle(args.bundle).digest
    setting = Setting(timing=Timing(args.timing), delay_ns=round(args.delay_ms * 1e6), blank=args.blank)
    jobs = [(args.bundle, args.robot, seed, setting) for seed in seeds]
    columns = (
        TextColumn("eval"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    episodes: list[Episode] = []
    with multiprocessing.get_context("spawn").Pool(args.workers) as pool, Progress(*columns) as bar:
        task = bar.add_task("eval", total=len(jobs), note="")
        for episode in pool.imap_unordered(_episode, jobs):
            episodes.append(episode)
            bar.update(task, advance=1, note=f"{sum(e.success for e in episodes)} succeeded")
    summary = summarise(episodes)
    print(
        f"{args.bundle} ({digest[:12]}) on scenes {args.seeds}, {args.timing}, delay {args.delay_ms:g} ms"
        + (", instruction blanked" if args.blank else "")
    )
    print("\n".join(lines(summary)))
    if args.out:
        args.out.parent.mkdir(parents=True, exist_ok=True)
        record = {"bundle": digest, "timing": args.timing, "delay_ms": args.delay_ms, "blank": args.blank}
        rows = [asdict(e) for e in sorted(episodes, key=lambda e: e.seed)]
        args.out.write_text(json.dumps({**record, "summary": summary, "episodes": rows}, indent=1))
    return 0
