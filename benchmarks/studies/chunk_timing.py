"""Success and smoothness for delayed inference: trained prefix, in-painting, weighted overlap, overwrite, synchronous.

Every cell runs the same scenes. Acceleration must stay inside the limits in all of them; that is the filter's work.
In-painting needs a denoiser: it runs the same weights as two graphs, which this makes from `--bundle` when missing
(needs `pip install "tendon-vla[train]"`). The others run `--bundle`. With `--out`, episodes are kept as they end and a
second run goes on where the first one stopped.

Examples:
  python benchmarks/studies/chunk_timing.py --seeds 200000:200030 --out outputs/chunk_timing.jsonl
  python benchmarks/studies/chunk_timing.py --seeds 200000:200012 --delays 0 400 --timings inpainting overlap
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # benchmarks

import harness
from harness import Number
from rich.progress import track

from tendon.cli.seeds import parse_seeds
from tendon.evaluation.episode import Episode, Setting, Timing
from tendon.evaluation.evaluate import END_SEED, FIRST_SEED
from tendon.evaluation.pool import Job, run_jobs
from tendon.evaluation.report import summarise
from tendon.evaluation.statistics import wilson
from tendon.policies.bundle.bundle import load_bundle
from tendon.robots.profile import load_profile
from tendon.sim.tabletop.layout import FAMILIES
from tendon.sim.viewpoints import labelled_viewpoints

Cell = tuple[str, float]


def make_denoised(bundle: Path, folder: Path) -> None:
    """Writes the two-graph form of a bundle that `tendon policy export` made as one."""
    from tendon.policies.export.bundle import export_bundle
    from tendon.policies.training.recover import recover_run

    run = folder.with_name(f"{folder.name}-run")
    recover_run(load_bundle(bundle), run, labelled_viewpoints(load_profile("panda")))
    export_bundle(run, folder, load_profile("panda"), folder.name, denoiser=True)


def kept(path: Path | None) -> Iterator[tuple[Cell, Episode]]:
    """Yields the episodes of an earlier run."""
    if path is not None and path.is_file():
        for line in path.read_text().splitlines():
            record = json.loads(line)
            yield (record["timing"], record["delay_ms"]), Episode(**record["episode"])


def print_table(bench: harness.Bench, cells: dict[Cell, list[Episode]]) -> None:
    """Prints one row a cell, in Markdown, and adds it."""
    print("| timing | delay ms | success (95 % Wilson) | median s | peak acc / limit | rms jerk | jump mrad | idle |")
    print("|---|---|---|---|---|---|---|---|")
    for (timing, delay), episodes in sorted(
        cells.items(), key=lambda cell: ([t.value for t in Timing].index(cell[0][0]), cell[0][1])
    ):
        summary = summarise(episodes, FAMILIES)
        part, seconds = summary["success"], summary["median_duration_s"]
        print(
            f"| {timing} | {delay:g} | {100 * part['successes'] / part['total']:.0f} % "
            f"[{100 * part['lower']:.0f}, {100 * part['upper']:.0f}] ({part['successes']}/{part['total']}) "
            f"| {'-' if seconds is None else f'{seconds:.1f}'} | {summary['peak_acceleration']:.3f} "
            f"| {summary['mean_rms_jerk']:.0f} | {1e3 * summary['mean_peak_jump_rad']:.1f} "
            f"| {100 * summary['mean_stopped_share']:.1f} % |"
        )
        values: dict[str, harness.Value] = {"success": wilson(part["successes"], part["total"])}
        if seconds is not None:
            values["median time"] = Number(seconds, "s")
        bench.add(
            {"timing": timing, "delay": f"{delay:g} ms"},
            values
            | {
                "peak acceleration / limit": Number(summary["peak_acceleration"]),
                "rms jerk": Number(summary["mean_rms_jerk"], "rad/s^3"),
                "jump": Number(1e3 * summary["mean_peak_jump_rad"], "mrad"),
                "idle": Number(100 * summary["mean_stopped_share"], "%"),
            },
        )


def main() -> None:
    """Runs the grid and prints a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", type=Path, default=Path("bundles/tabletop"))
    parser.add_argument("--denoised", type=Path, default=Path("outputs/bundles/tabletop-flow"), help="(%(default)s)")
    parser.add_argument("--seeds", default="200000:200030", help="scenes (%(default)s)")
    parser.add_argument("--delays", type=float, nargs="+", default=[0, 100, 200, 400], help="ms")
    parser.add_argument("--timings", nargs="+", choices=[t.value for t in Timing], default=[t.value for t in Timing])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, help="one JSON line an episode; those already there are not run again")
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, "chunk-timing/ways")
    timings = [Timing(name) for name in args.timings]
    if Timing.INPAINTING in timings and not args.denoised.is_dir():
        make_denoised(args.bundle, args.denoised)
    cells: dict[Cell, list[Episode]] = defaultdict(list)
    seeds = parse_seeds(args.seeds, FIRST_SEED, END_SEED)
    for cell, episode in kept(args.out):
        if episode.seed in seeds:
            cells[cell].append(episode)
    jobs = [
        Job(
            bundle=args.denoised if timing is Timing.INPAINTING else args.bundle,
            robot="panda",
            seed=seed,
            setting=Setting(timing=timing, delay_ns=round(delay * 1e6)),
        )
        for timing in timings
        for delay in args.delays
        for seed in seeds
        if not any(episode.seed == seed for episode in cells.get((timing.value, delay), ()))
    ]
    if args.out:
        args.out.parent.mkdir(parents=True, exist_ok=True)
    for job, episode in track(run_jobs(jobs, args.workers), total=len(jobs), description="episodes"):
        timing, delay = job.setting.timing.value, job.setting.delay_ns / 1e6
        cells[timing, delay].append(episode)
        if args.out:
            with args.out.open("a") as file:
                file.write(json.dumps({"timing": timing, "delay_ms": delay, "episode": asdict(episode)}) + "\n")
    print(f"{args.bundle}, scenes {args.seeds}")
    print_table(bench, cells)


if __name__ == "__main__":
    main()
