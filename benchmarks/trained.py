"""How often policies that the recipes train on other robots do what they are told, by family, in each simulator.

The bundles are not in the repository (20 MB each): `recipes/other_robot.sh` and `recipes/two_hands.sh` make them.
Scenes from 200 000 on are for reporting: nothing was trained or tuned on them. All times are simulated.

Examples:
  python benchmarks/trained.py outputs/bundles/ur5e --robot ur5e_2f85 --recipe "recipes/other_robot.sh ur5e_2f85"
  python benchmarks/trained.py outputs/bundles/two_hands --robot panda_pair --recipe recipes/two_hands.sh
"""

from __future__ import annotations

import argparse
from pathlib import Path

import harness
from harness import Number
from rich.progress import track

from tendon.cli.seeds import parse_seeds
from tendon.evaluation.episode import Setting
from tendon.evaluation.evaluate import END_SEED, FIRST_SEED
from tendon.evaluation.pool import Job, run_jobs
from tendon.evaluation.statistics import wilson
from tendon.evaluation.suites import load_suite, suite_for
from tendon.policies.bundle.bundle import load_bundle
from tendon.robots.profile import load_profile
from tendon.sim.simulators import SIMULATORS

CLAIM = "simulation/trained"


def main() -> None:
    """Runs the episodes and prints what came of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path, help="that a recipe made")
    parser.add_argument("--robot", required=True, help="it was trained on")
    parser.add_argument("--recipe", required=True, help="that made it, as it was called")
    parser.add_argument("--seeds", default="200000:200060", help="scenes (%(default)s)")
    parser.add_argument("--delay-ms", type=float, default=50.0, help="of inference (%(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="processes (%(default)s)")
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, CLAIM)
    suite, training = suite_for(load_profile(args.robot)), load_bundle(args.bundle).manifest.training
    scenes = parse_seeds(args.seeds, FIRST_SEED, END_SEED)
    setting = Setting(delay_ns=round(args.delay_ms * 1e6))
    for simulator, name in SIMULATORS.items():
        jobs = [
            Job(bundle=args.bundle, robot=args.robot, seed=seed, setting=setting, suite=suite, simulator=simulator)
            for seed in scenes
        ]
        episodes = [episode for _, episode in track(run_jobs(jobs, args.workers), name, total=len(jobs))]
        families = [family for family in load_suite(suite).families if any(e.family == family for e in episodes)]
        for family in (*families, "all"):
            own = [episode for episode in episodes if family in (episode.family, "all")]
            rate = wilson(sum(episode.success for episode in own), len(own))
            print(f"{args.robot} in {name}: {family:10s} {rate}")
            bench.add(
                {"robot": args.robot, "simulator": name, "suite": suite, "family": family},
                {
                    "success": rate,
                    "largest acceleration, of its limit": Number(max(e.peak_acceleration for e in own)),
                    "stops": Number(sum(bool(episode.stop) for episode in own)),
                },
                claim=CLAIM,
                note=f"`{args.recipe}`: {training['frames']} frames, the last stage {training['step']} steps",
            )


if __name__ == "__main__":
    main()
