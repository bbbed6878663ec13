"""Success and smoothness for delayed inference: trained prefix, plain overwrite, and synchronous execution.

Every cell runs the same scenes. Acceleration must stay inside the limits in all of them; that is the filter's work.

Examples:
  python benchmarks/chunk_timing.py --bundle bundles/tabletop
  python benchmarks/chunk_timing.py --seeds 200000:200012 --delays 0 400
"""

from __future__ import annotations

import argparse
import json
import platform
from collections import defaultdict
from pathlib import Path

from rich.progress import track

from tendon.commands.demos import parse_seeds
from tendon.commands.eval import END_SEED, FIRST_SEED
from tendon.evaluation.episode import Episode, Setting, Timing
from tendon.evaluation.pool import Job, run_jobs
from tendon.evaluation.report import summarise


def main() -> None:
    """Runs the grid and prints a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", type=Path, default=Path("bundles/tabletop"))
    parser.add_argument("--seeds", default="200000:200048", help="scenes (%(default)s)")
    parser.add_argument("--delays", type=float, nargs="+", default=[0, 100, 200, 400], help="ms")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, help="JSON file")
    args = parser.parse_args()
    jobs = [
        Job(
            bundle=args.bundle,
            robot="panda",
            seed=seed,
            setting=Setting(timing=timing, delay_ns=round(delay * 1e6)),
        )
        for timing in Timing
        for delay in args.delays
        for seed in parse_seeds(args.seeds, FIRST_SEED, END_SEED)
    ]
    cells: dict[tuple[str, float], list[Episode]] = defaultdict(list)
    for job, episode in track(run_jobs(jobs, args.workers), total=len(jobs), description="episodes"):
        cells[job.setting.timing.value, job.setting.delay_ns / 1e6].append(episode)
    print(f"{platform.machine()} {platform.platform()}, {args.bundle}, scenes {args.seeds}")
    print("| timing | delay ms | success (95 % Wilson) | median s | peak acc / limit | rms jerk | jump mrad | idle |")
    print("|---|---|---|---|---|---|---|---|")
    records = []
    for (timing, delay), episodes in cells.items():
        summary = summarise(episodes)
        records.append({"timing": timing, "delay_ms": delay, **summary})
        part, seconds = summary["success"], summary["median_duration_s"]
        print(
            f"| {timing} | {delay:g} | {100 * part['successes'] / part['total']:.0f} % "
            f"[{100 * part['lower']:.0f}, {100 * part['upper']:.0f}] ({part['successes']}/{part['total']}) "
            f"| {'-' if seconds is None else f'{seconds:.1f}'} | {summary['peak_acceleration']:.3f} "
            f"| {summary['mean_rms_jerk']:.0f} | {1e3 * summary['mean_peak_jump_rad']:.1f} "
            f"| {100 * summary['mean_stopped_share']:.1f} % |"
        )
    if args.out:
        args.out.parent.mkdir(parents=True, exist_ok=True)
        args.out.write_text(json.dumps(records, indent=1))


if __name__ == "__main__":
    main()
