"""What a policy's own estimate of its progress is worth, beside what the simulator knows, on scenes that nothing saw.

Of each episode the estimate that came with the last chunk is compared with the outcome, and of those that failed with
how much of the task the simulator counts as done.

Examples:
  tendon policy train-progress outputs/distil/telling --data outputs/distil/set    # a copy of the bundle
  python benchmarks/estimates.py outputs/distil/telling
"""

from __future__ import annotations

import argparse
from pathlib import Path

import harness
import numpy as np
from harness import Number
from rich.progress import track
from scipy.stats import spearmanr

from tendon.cli.seeds import parse_seeds
from tendon.evaluation.detection.scores import roc
from tendon.evaluation.episode import Episode
from tendon.evaluation.evaluate import END_SEED, FIRST_SEED
from tendon.evaluation.pool import Job, run_jobs
from tendon.evaluation.residual_env import DONE
from tendon.evaluation.residual_rollouts import usual_setting
from tendon.evaluation.statistics import wilson
from tendon.evaluation.suites import load_suite

SUITES = ("tabletop_hard", "tabletop")


def values(episodes: list[Episode]) -> dict[str, harness.Value]:
    """Returns how far estimates tell successes from failures, and failures from each other."""
    told = np.array([each.estimate for each in episodes], np.float64)
    won = np.array([each.success for each in episodes])
    found: dict[str, harness.Value] = {
        "success": wilson(int(won.sum()), len(won)),
        f"successes at {DONE:g} or more": wilson(int((told[won] >= DONE).sum()), int(won.sum())),
    }
    if not won.all():
        lost = np.array([each.progress for each in episodes if not each.success])
        found[f"failures at {DONE:g} or more"] = wilson(int((told[~won] >= DONE).sum()), int((~won).sum()))
        found["AUC"] = Number(roc(told[won], told[~won])[2])
        found["rank correlation of failures"] = Number(float(spearmanr(told[~won], lost).statistic))
    return found


def main() -> None:
    """Runs the scenes and prints what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path, help="with a progress estimator")
    parser.add_argument("--robot", default="panda", help="profile (%(default)s)")
    parser.add_argument("--seeds", default="200000:200180", help="of each suite (%(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="processes (%(default)s)")
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, "evaluation/estimates")
    for suite in SUITES:
        setting = usual_setting(load_suite(suite))
        jobs = [
            Job(bundle=args.bundle, robot=args.robot, seed=seed, setting=setting, suite=suite)
            for seed in parse_seeds(args.seeds, FIRST_SEED, END_SEED)
        ]
        runs = track(run_jobs(jobs, args.workers), suite, total=len(jobs))
        found = values([episode for _, episode in runs])
        print(f"{suite}: {found}")
        bench.add({"suite": suite}, found, note=f"scenes {args.seeds}")


if __name__ == "__main__":
    main()
