"""How often a policy's own estimate of its progress says rightly that a task is done, on scenes that nothing saw.

`tendon residual train --reward progress` rewards what that estimate gains, and ends an episode where it says that the
task is done. Here the policy acts alone in the same episodes, and the simulator, which training would not ask, says
what was done.

Examples:
  python benchmarks/judged.py bundles/tabletop
  python benchmarks/judged.py outputs/mine --seeds 200000:200060 --workers 8
"""

from __future__ import annotations

from functools import cache

import harness
import numpy as np
from estimates import SUITES, asked
from rich.progress import track

from tendon.cli.seeds import parse_seeds
from tendon.control.residual.space import ResidualSpace
from tendon.evaluation.evaluate import END_SEED, FIRST_SEED
from tendon.evaluation.residual_env import ResidualEnv
from tendon.evaluation.residual_rollouts import PROGRESS, Task
from tendon.evaluation.statistics import wilson
from tendon.evaluation.workers import run_in_processes
from tendon.policies.inference.policy import BundlePolicy
from tendon.robots.profile import load_profile

CLAIM = "evaluation/judged"


@cache
def opened(task: Task) -> ResidualEnv:
    """Returns the world of a task, of which each process needs one."""
    return task.open(task.suites[0])


def judge(trial: tuple[Task, int]) -> tuple[bool, bool]:
    """Runs the scene of a seed; returns whether its task was done, and whether the policy says so."""
    task, seed = trial
    env = opened(task)
    env.reset(seed=seed)
    nothing, over = np.zeros(task.space.actions), False
    while not over:
        *_, ended, truncated, told = env.step(nothing)
        over = ended or truncated
    return env.done, bool(told["success"])


def main() -> None:
    """Runs the scenes and prints what was found."""
    args, bundle = asked(__doc__, "200000:200120")
    bench = harness.begin(args, CLAIM)
    embedding, points = BundlePolicy(bundle, load_profile(args.robot)).feature_sizes()
    space = ResidualSpace(embedding=embedding, points=points)
    seeds = parse_seeds(args.seeds, FIRST_SEED, END_SEED)
    for suite in SUITES:
        task = Task(bundle=args.bundle, robot=args.robot, suites=(suite,), space=space, reward=PROGRESS, switches=False)
        trials = [(task, seed) for seed in seeds]
        found = list(track(run_in_processes(judge, trials, args.workers), suite, total=len(trials)))
        values: dict[str, harness.Value] = {"success": wilson(sum(done for done, _ in found), len(found))}
        for name, which in (("of these judged as done", True), ("of the others judged as done", False)):
            if judged := [told for done, told in found if done == which]:
                values[name] = wilson(sum(judged), len(judged))
        print(f"{suite}: {values}")
        bench.add({"suite": suite}, values, note=f"scenes {args.seeds}")


if __name__ == "__main__":
    main()
