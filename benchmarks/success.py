"""How often the policy does what it is told, by family, with its control runs: without words, and replanned otherwise.

Scenes from 200 000 on are for reporting: nothing was trained or tuned on them. The period of replanning is chosen on
validation scenes. All times are simulated. `tendon eval run` measures any other policy in the same way.

Examples:
  python benchmarks/success.py
  python benchmarks/success.py --seeds 200000:200240 --blank-seeds "" --replan-seeds ""
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import harness
from harness import Number
from rich.progress import track

from tendon.cli.seeds import parse_seeds
from tendon.core.pace import Pace
from tendon.evaluation.episode import Episode, Setting
from tendon.evaluation.evaluate import END_SEED, FIRST_SEED
from tendon.evaluation.pool import Job, run_jobs
from tendon.evaluation.report import lines, summarise
from tendon.evaluation.statistics import wilson
from tendon.policies.bundle.bundle import load_bundle
from tendon.sim.tabletop.layout import FAMILIES

REPLAN_STEPS = (1, 2, 3, 4)


def episodes_of(bundle: Path, seeds: str, setting: Setting, workers: int, what: str) -> list[Episode]:
    """Runs a policy on scenes under a setting."""
    scenes = parse_seeds(seeds, FIRST_SEED, END_SEED)
    jobs = [Job(bundle=bundle, robot="panda", seed=seed, setting=setting) for seed in scenes]
    return [episode for _, episode in track(run_jobs(jobs, workers), what, total=len(jobs))]


def rate(episodes: Sequence[Episode]) -> harness.Value:
    """Returns how many succeeded."""
    return wilson(sum(episode.success for episode in episodes), len(episodes))


def families(bench: harness.Bench, scenes: str, episodes: Sequence[Episode]) -> None:
    """Prints and adds success by family and over all."""
    summary = summarise(episodes, FAMILIES)
    print("\n".join(lines(summary)))
    for family in summary["families"]:
        own = [episode for episode in episodes if episode.family == family]
        bench.add({"family": family, "scenes": scenes}, {"success": rate(own)}, claim="success/families")
    middle = summary["median_duration_s"]
    bench.add(
        {"family": "all", "scenes": scenes},
        {
            "success": rate(episodes),
            **({} if middle is None else {"median time": Number(middle, "s")}),
            "peak acceleration / limit": Number(summary["peak_acceleration"]),
            "rms jerk": Number(summary["mean_rms_jerk"], "rad/s^3"),
        },
        claim="success/families",
    )


def main() -> None:
    """Runs the episodes and prints what came of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", type=Path, default=Path("bundles/tabletop"), help="(%(default)s)")
    parser.add_argument("--seeds", default="200000:200240", help="scenes by family; empty for none (%(default)s)")
    parser.add_argument("--blank-seeds", default="200000:200060", help="scenes without words (%(default)s)")
    parser.add_argument("--replan-seeds", default="100000:100048", help="scenes of each period (%(default)s)")
    parser.add_argument("--delay-ms", type=float, default=50.0, help="of inference (%(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="processes (%(default)s)")
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, "success/families", "success/blank", "success/replan")
    delay_ns = round(args.delay_ms * 1e6)
    if args.seeds:
        found = episodes_of(args.bundle, args.seeds, Setting(delay_ns=delay_ns), args.workers, "by family")
        families(bench, args.seeds, found)
    if args.blank_seeds:
        setting = Setting(delay_ns=delay_ns, blank=True)
        found = episodes_of(args.bundle, args.blank_seeds, setting, args.workers, "without words")
        row = bench.add({"words": "none"}, {"success": rate(found)}, claim="success/blank", note=args.blank_seeds)
        print(f"without words: {row.values['success']}")
    for steps in REPLAN_STEPS if args.replan_seeds else ():
        period_s = steps * load_bundle(args.bundle).manifest.action.step_s
        setting = Setting(delay_ns=delay_ns, pace=Pace(replan_rows=steps))
        found = episodes_of(args.bundle, args.replan_seeds, setting, args.workers, f"replanned every {period_s:g} s")
        case, values = {"replanned every": f"{period_s:g} s"}, {"success": rate(found)}
        bench.add(case, values, claim="success/replan", note=f"scenes {args.replan_seeds}")
        print(f"replanned every {period_s:g} s: {values['success']}")


if __name__ == "__main__":
    main()
