"""Calibrate the failure detector of a bundle on successful episodes in simulation, and put it into the bundle.

Examples:
  tendon calibrate-detector bundles/tabletop
  tendon calibrate-detector bundles/tabletop --seeds 120000:120600 --alpha 0.02
  tendon calibrate-detector bundles/tabletop --dry-run --picture outputs/detector.png

It changes bundle.yaml, so a signature does not hold any more: sign the bundle again.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tendon.commands.demos import parse_seeds
from tendon.core.errors import ConfigError

if TYPE_CHECKING:
    from tendon.evaluation.tracing import Traced, TraceJob

FIRST_SEED, END_SEED = 100_000, 200_000
DELAYS_MS = (0.0, 50.0, 100.0)
"""Inference delays that the promise is to hold for, one drawn for each episode."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.epilog = __doc__.partition("\n\n")[2] if __doc__ else None
    parser.add_argument("bundle", type=Path, metavar="BUNDLE", help="folder of the policy; it gets the detector")
    parser.add_argument(
        "--seeds", default="100000:100360", help="scenes FIRST:END of 100000-199999, never reported ones (%(default)s)"
    )
    parser.add_argument(
        "--alpha", type=float, default=0.05, help="largest share of good episodes with an alarm (%(default)s)"
    )
    parser.add_argument(
        "--delay-ms",
        type=float,
        nargs="+",
        default=DELAYS_MS,
        help="inference delays as they will be, in simulated time; one is drawn for each episode (%(default)s)",
    )
    parser.add_argument("--robot", default="panda", help="robot profile (%(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="processes (%(default)s)")
    parser.add_argument(
        "--picture", type=Path, default=Path("outputs/detector.png"), help="of scores and thresholds (%(default)s)"
    )
    parser.add_argument("--dry-run", action="store_true", help="leave the bundle as it is")


def run(args: argparse.Namespace) -> int:
    """Calibrates, draws, writes, and says what was found."""
    from tendon.evaluation.detection_pictures import draw_calibration
    from tendon.evaluation.statistics import wilson
    from tendon.evaluation.tracing import TraceJob
    from tendon.policies.bundle import load_bundle, write_bundle
    from tendon.policies.conformal import calibrate, largest_scores
    from tendon.policies.detector_file import detector_files

    seeds = parse_seeds(args.seeds, FIRST_SEED, END_SEED)
    if args.workers < 1 or min(args.delay_ms) < 0:
        raise ConfigError(f"--workers is {args.workers} and --delay-ms {args.delay_ms}: need at least 1 and 0")
    if not 0 < args.alpha < 1:
        raise ConfigError(f"--alpha is {args.alpha}, must be between 0 and 1")
    bundle = load_bundle(args.bundle)
    rng = np.random.default_rng(seeds.start)
    delays_ns = (1e6 * rng.choice(args.delay_ms, len(seeds))).astype(int).tolist()
    jobs = [
        TraceJob(bundle=args.bundle, robot=args.robot, seed=seed, delay_ns=delay_ns)
        for seed, delay_ns in zip(seeds, delays_ns, strict=True)
    ]
    traced = sorted(_run_with_bar(jobs, args.workers), key=lambda one: one.job.seed)
    good = [one.trace for one in traced if one.episode.success]
    failed = [one.trace for one in traced if not one.episode.success]
    order = rng.permutation(len(good))
    calibration, largest = calibrate([good[k] for k in order], args.alpha)
    episodes = len(next(iter(largest.values())))
    failures = largest_scores(failed, calibration)
    draw_calibration(calibration, largest, failures, args.alpha, args.picture)

    print(f"{wilson(len(good), len(traced))} succeeded; {episodes} of them set the thresholds:")
    for name, threshold in calibration.thresholds.items():
        print(f"  {name:12s} {threshold:6.2f}   median of good episodes {np.median(largest[name]):.2f}")
    if failed:
        seen = np.any([failures[name] > calibration.thresholds[name] for name in failures], axis=0)
        print(f"failed episodes with an alarm: {wilson(int(seen.sum()), len(failed))}")
    print(f"picture: {args.picture}")
    if not args.dry_run:
        source = f"simulated scenes {args.seeds}, delays {', '.join(f'{delay:g}' for delay in args.delay_ms)} ms"
        files = detector_files(calibration, bundle, args.alpha, episodes, source)
        written = write_bundle(args.bundle, bundle.manifest, {**bundle.content, **files})
        size = sum(len(data) for data in files.values()) / 1e3
        print(f"{args.bundle}: detector of {size:.0f} kB written, digest {written.digest[:12]}")
        if bundle.signer is not None:
            print("its signature was removed: sign it again with `tendon bundle sign`")
    return 0


def _run_with_bar(jobs: list[TraceJob], workers: int) -> list[Traced]:
    from tendon.evaluation.tracing import run_traces

    columns = (
        TextColumn("calibrate"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    traced: list[Traced] = []
    with Progress(*columns) as bar:
        task = bar.add_task("calibrate", total=len(jobs), note="")
        for one in run_traces(jobs, workers):
            traced.append(one)
            bar.update(task, advance=1, note=f"{sum(t.episode.success for t in traced)} succeeded")
    return traced
