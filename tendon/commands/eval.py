"""Run a policy for numbers: success per family with 95 % Wilson intervals, on scenes it was not trained on.

Examples:
  tendon eval bundles/tabletop --seeds 200000:200240
  tendon eval bundles/tabletop --seeds 200000:200240 --blank
  tendon eval bundles/tabletop --seeds 200000:200060 --timing overwrite --delay-ms 200
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tendon.commands.demos import parse_seeds
from tendon.core.errors import ConfigError

if TYPE_CHECKING:
    from tendon.evaluation.episode import Episode

FIRST_SEED, END_SEED = 100_000, 300_000
TIMINGS = ("trained_prefix", "inpainting", "overlap", "overwrite", "synchronous")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.epilog = __doc__.partition("\n\n")[2] if __doc__ else None
    parser.add_argument("bundle", type=Path, help="folder of the policy")
    parser.add_argument(
        "--seeds",
        default="100000:100060",
        help="scenes FIRST:END; 100000-199999 tune, 200000-299999 report (%(default)s)",
    )
    parser.add_argument("--timing", choices=TIMINGS, default="trained_prefix", help="of inference (%(default)s)")
    parser.add_argument("--delay-ms", type=float, default=0.0, help="inference delay in simulated time (%(default)s)")
    parser.add_argument("--blank", action="store_true", help="leave the instruction empty: a control run")
    parser.add_argument("--robot", default="panda", help="robot profile (%(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="processes (%(default)s)")
    parser.add_argument("--out", type=Path, help="JSON file for the summary and every episode")


def run(args: argparse.Namespace) -> int:
    """Evaluates and prints the summary."""
    from tendon.evaluation.episode import Setting, Timing
    from tendon.evaluation.pool import Job, run_jobs
    from tendon.evaluation.report import lines, summarise
    from tendon.policies.bundle import load_bundle

    seeds = parse_seeds(args.seeds, FIRST_SEED, END_SEED)
    if args.workers < 1 or args.delay_ms < 0:
        raise ConfigError(f"--workers is {args.workers} and --delay-ms {args.delay_ms}: need at least 1 and 0")
    digest = load_bundle(args.bundle).digest
    setting = Setting(timing=Timing(args.timing), delay_ns=round(args.delay_ms * 1e6), blank=args.blank)
    jobs = [Job(bundle=args.bundle, robot=args.robot, seed=seed, setting=setting) for seed in seeds]
    columns = (
        TextColumn("eval"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    episodes: list[Episode] = []
    with Progress(*columns) as bar:
        task = bar.add_task("eval", total=len(jobs), note="")
        for _, episode in run_jobs(jobs, args.workers):
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
