"""How often a policy's own estimate of its progress says rightly that a task is done, on scenes that nothing saw.

`tendon residual train --reward progress` rewards what that estimate gains, and ends an episode where it says that the
task is done. Here the policy acts alone in the same episodes, and the simulator, which training would not ask, says
what was done.

Examples:
  python benchmarks/judged.py bundles/tabletop
  python benchmarks/judged.py outputs/mine --seeds 200000:200060 --workers 8
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import harness
import numpy as np
from rich.progress import track

from tendon.cli.seeds import parse_seeds
from tendon.control.residual.space import ResidualSpace
from tendon.evaluation.evaluate import END_SEED, FIRST_SEED
from tendon.evaluation.residual_env import ResidualEnv
from tendon.evaluation.residual_rollouts import PROGRESS, Task
from tendon.evaluation.statistics import wilson
from tendon.evaluation.workers import run_in_processes
from tendon.policies.bundle.bundle import load_bundle
from tendon.policies.inference.policy import BundlePolicy
from tendon.robots.profile import load_profile

CLAIM = "evaluation/judged"
SUITES = ("tabletop_hard", "tabletop")


@dataclass(frozen=True, kw_only=True)
class Trial:
    """An episode of the policy alone."""

    bundle: Path
    robot: str
    suite: str
    seed: int


@cache
def opened(bundle: Path, robot: str, suite: str) -> ResidualEnv:
    """Returns a world of this process in which nobody but the policy judges."""
    embedding, points = BundlePolicy(load_bundle(bundle), load_profile(robot)).feature_sizes()
    space = ResidualSpace(embedding=embedding, points=points)
    return Task(bundle=bundle, robot=robot, suites=(suite,), space=space, reward=PROGRESS).open(suite)


def judge(trial: Trial) -> tuple[bool, bool]:
    """Runs an episode; returns whether its task was done, and whether the policy says so."""
    env = opened(trial.bundle, trial.robot, trial.suite)
    env.reset(seed=trial.seed)
    nothing, over = np.zeros(env.action_space.shape or 0), False
    while not over:
        *_, ended, truncated, told = env.step(nothing)
        over = ended or truncated
    return env.done, bool(told["success"])


def main() -> None:
    """Runs the scenes and prints what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path, help="with a progress estimator")
    parser.add_argument("--robot", default="panda", help="profile (%(default)s)")
    parser.add_argument("--seeds", default="200000:200120", help="of each suite (%(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="processes (%(default)s)")
    harness.add_arguments(parser)
    args = parser.parse_args()
    if not BundlePolicy(load_bundle(args.bundle), load_profile(args.robot)).estimates_progress:
        parser.error(f"{args.bundle} has no progress estimator: tendon policy train-progress")
    bench = harness.begin(args, CLAIM)
    seeds = list(parse_seeds(args.seeds, FIRST_SEED, END_SEED))
    for suite in SUITES:
        trials = [Trial(bundle=args.bundle, robot=args.robot, suite=suite, seed=seed) for seed in seeds]
        found = list(track(run_in_processes(judge, trials, args.workers), suite, total=len(trials)))
        won, lost = ([judged for done, judged in found if done == which] for which in (True, False))
        values: dict[str, harness.Value] = {"success": wilson(len(won), len(found))}
        for name, judged in (("of these judged as done", won), ("of the others judged as done", lost)):
            if judged:
                values[name] = wilson(sum(judged), len(judged))
        print(f"{suite}: {values}")
        bench.add({"suite": suite}, values, note=f"scenes {args.seeds}")


if __name__ == "__main__":
    main()
