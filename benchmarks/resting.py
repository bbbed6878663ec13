"""Whether a robot rests when its task is done, and only then, on scenes that nothing saw, watched on after the end.

An evaluation ends an episode once its task is done; a robot goes on. Here each scene is watched for a minute: when the
simulator counts its task as done, when the policy counts it as done and is asked nothing more, and what is done in the
end. The same scenes without rest show what resting is for.

Examples:
  python benchmarks/resting.py bundles/tabletop
  python benchmarks/resting.py bundles/tabletop --seeds 200000:200012 --busy --rows /tmp/rows
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import harness
import numpy as np
from estimates import SUITES, asked
from harness import Number
from rich.progress import track

from tendon.cli.seeds import parse_seeds
from tendon.evaluation.evaluate import END_SEED, FIRST_SEED
from tendon.evaluation.pool import Tools
from tendon.evaluation.residual_rollouts import usual_setting
from tendon.evaluation.statistics import wilson
from tendon.evaluation.suites import load_suite
from tendon.evaluation.workers import run_in_processes
from tendon.sim.simulators import AUTO

CLAIM = "evaluation/resting"
WATCHED_S = 60.0


@dataclass(frozen=True, kw_only=True)
class Watch:
    """A scene to watch."""

    bundle: Path
    robot: str
    suite: str
    rests: bool
    seed: int


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What came of it.

    Attributes:
        done_s: when its task was done first; `None` when it never was.
        rests_s: when the policy counted it as done; `None` when it never did.
        right: whether it was done then.
        success: whether it was in the end.
    """

    done_s: float | None
    rests_s: float | None
    right: bool
    success: bool


@cache
def opened(bundle: Path, robot: str, suite: str) -> Tools:
    """Returns the world and the policy, of which each process needs one."""
    return Tools(load_suite(suite), bundle, robot, usual_setting(suite).timing, AUTO)


def watch(job: Watch) -> Seen:
    """Watches a scene to the end."""
    tools, setting = opened(job.bundle, job.robot, job.suite), usual_setting(job.suite)
    rollout = tools.begin(job.seed, replace(setting, limit_s=WATCHED_S, rests=job.rests))
    done_s = rests_s = None
    right = False
    while rollout.passed < 1.0 and not rollout.stopped:
        rollout.tick()
        now_s = rollout.passed * WATCHED_S
        if done_s is None and rollout.success:
            done_s = now_s
        if rests_s is None and rollout.resting:
            rests_s, right = now_s, rollout.success
    return Seen(done_s=done_s, rests_s=rests_s, right=right, success=rollout.success)


def told(seen: list[Seen]) -> dict[str, harness.Value]:
    """Returns the values of a row."""
    done, resting = [each for each in seen if each.done_s is not None], [each for each in seen if each.rests_s]
    found: dict[str, harness.Value] = {
        "done at some time": wilson(len(done), len(seen)),
        "done after a minute": wilson(sum(each.success for each in seen), len(seen)),
    }
    if resting:
        late_s = [each.rests_s - each.done_s for each in resting if each.right and each.rests_s and each.done_s]
        found["rests"] = Number(len(resting))
        found["rests undone"] = Number(sum(not each.right for each in resting))
        found["rests after, p50"], found["max"] = Number(float(np.median(late_s)), "s"), Number(max(late_s), "s")
    return found


def main() -> None:
    """Watches the scenes and prints what was found."""
    args, _ = asked(__doc__, "213000:213060")
    bench = harness.begin(args, CLAIM)
    for suite in SUITES:
        for rests in (False, True):
            place = {"bundle": args.bundle, "robot": args.robot, "suite": suite, "rests": rests}
            jobs = [Watch(**place, seed=seed) for seed in parse_seeds(args.seeds, FIRST_SEED, END_SEED)]
            seen = list(track(run_in_processes(watch, jobs, args.workers), suite, total=len(jobs)))
            values = told(seen)
            print(f"{suite}, {'rests' if rests else 'asked on'}: {values}")
            bench.add({"suite": suite, "when done": "rests" if rests else "asked on"}, values, note=args.seeds)


if __name__ == "__main__":
    main()
