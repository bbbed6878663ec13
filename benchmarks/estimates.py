"""What a policy's own estimate of its progress is worth, on scenes that nothing saw: as an outcome, and as an alarm.

Of each episode the estimate that came with the last chunk is compared with the outcome, and of those that failed with
how much of the task the simulator counts as done. Of episodes that still run after a while, how well a stall (for how
long the estimate has not grown) tells those that will fail is compared with the scores of the failure detector.

Examples:
  tendon policy train-progress outputs/distil/telling --data outputs/distil/set    # a copy of the bundle
  python benchmarks/estimates.py outputs/distil/telling
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import harness
import numpy as np
from harness import Number
from rich.progress import track
from scipy.stats import spearmanr

from tendon.cli.seeds import parse_seeds
from tendon.core.types import Array
from tendon.evaluation.detection.scores import Judged, area_interval, judge, roc
from tendon.evaluation.detection.tracing import Traced, TraceJob, run_traces
from tendon.evaluation.evaluate import END_SEED, FIRST_SEED
from tendon.evaluation.residual_env import DONE
from tendon.evaluation.residual_rollouts import usual_setting
from tendon.evaluation.statistics import wilson
from tendon.policies.bundle.bundle import Bundle, load_bundle
from tendon.policies.detector.file import load_detector
from tendon.policies.progress.estimator import load_estimator

CLAIMS = ("evaluation/estimates", "detector/stall")
SUITES = ("tabletop_hard", "tabletop")
AFTER_S = (4.0, 6.0, 8.0)
"""When alarms are compared, of episodes that still run then."""
FEWEST = 10
"""Failures that are ranked."""
GROWN = 0.02
"""An estimate that is higher than all before by less has not grown."""


def outcomes(traced: Sequence[Traced]) -> dict[str, harness.Value]:
    """Returns how far last estimates tell successes from failures, and failures from each other."""
    episodes = [each.episode for each in traced]
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
        if len(lost) >= FEWEST and np.ptp(lost) and np.ptp(told[~won]):
            found["rank correlation of failures"] = Number(float(spearmanr(told[~won], lost).statistic))
    return found


def stalled_s(estimates: Array, observed_ns: Array) -> float:
    """Returns for how long the last of (N,) estimates has not been above all that were before it [s]."""
    best, since_ns = -np.inf, observed_ns[0]
    for estimate, now_ns in zip(estimates, observed_ns, strict=True):
        if estimate > best + GROWN:
            best, since_ns = estimate, now_ns
    return float(observed_ns[-1] - since_ns) * 1e-9


def alarms(judged: Sequence[Judged], after_s: float) -> dict[str, harness.Value]:
    """Returns how well each score tells, after a while, which of the episodes that still run will fail."""
    scores = dict[str, dict[bool, list[float]]]()
    for each in judged:
        traced = each.traced
        seen = int(np.searchsorted(traced.observed_ns, 1e9 * after_s))
        if seen == len(traced.observed_ns):
            continue  # it is over
        told = {name: each.largest(name, after_s) for name in each.scores}
        told["stall"] = stalled_s(traced.estimates[:seen], traced.observed_ns[:seen])
        for name, value in told.items():
            scores.setdefault(name, {True: [], False: []})[traced.episode.success].append(value)
    if not scores:
        return {"still run": "none"}
    by = scores["stall"]
    found: dict[str, harness.Value] = {"still run": f"{len(by[True])} will succeed, {len(by[False])} fail"}
    if by[True] and by[False]:
        for name, by in scores.items():
            lower, upper = area_interval(by[False], by[True])
            found[name] = Number(roc(by[False], by[True])[2], lower=lower, upper=upper)
    return found


def asked(description: str | None, seeds: str) -> tuple[argparse.Namespace, Bundle]:
    """Returns what the command line says, and its bundle, which has an estimator; ends the process where it has none.

    Args:
        description: of the command.
        seeds: of each suite, by default.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path, help="with a progress estimator")
    parser.add_argument("--robot", default="panda", help="profile (%(default)s)")
    parser.add_argument("--seeds", default=seeds, help="of each suite (%(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="processes (%(default)s)")
    harness.add_arguments(parser)
    args = parser.parse_args()
    bundle = load_bundle(args.bundle)
    if load_estimator(bundle) is None:
        parser.error(f"{args.bundle} has no progress estimator: tendon policy train-progress")
    return args, bundle


def main() -> None:
    """Runs the scenes and prints what was found."""
    args, bundle = asked(__doc__, "200000:200180")
    calibration = load_detector(bundle)
    if calibration is None:
        raise SystemExit(f"{args.bundle} has no failure detector to compare with: tendon policy calibrate-detector")
    bench = harness.begin(args, *CLAIMS)
    for suite in SUITES:
        delay_ns = usual_setting(suite).delay_ns
        jobs = [
            TraceJob(bundle=args.bundle, robot=args.robot, seed=seed, delay_ns=delay_ns, suite=suite)
            for seed in parse_seeds(args.seeds, FIRST_SEED, END_SEED)
        ]
        traced = list(track(run_traces(jobs, args.workers), suite, total=len(jobs)))
        found = outcomes(traced)
        print(f"{suite}: {found}")
        bench.add({"suite": suite}, found, claim=CLAIMS[0], note=f"scenes {args.seeds}")
        judged = [judge(each, calibration) for each in traced]
        for after_s in AFTER_S:
            areas = alarms(judged, after_s)
            print(f"{suite}, after {after_s:g} s: {areas}")
            case = {"suite": suite, "after [s]": f"{after_s:g}"}
            bench.add(case, areas, claim=CLAIMS[1], note=f"scenes {args.seeds}")


if __name__ == "__main__":
    main()
