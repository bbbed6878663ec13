"""How well the failure detector of a bundle works: ROC, lead time, false alarms, under each perturbation.

Scenes from 200 000 on, which neither training nor calibration saw, with delays as in calibration and,
where nothing is perturbed, second tasks. A failed episode lasts to its time limit, a good one ends early, so a score's
largest value has more time to grow in failures: the second column of areas looks at the first 4 s of both only. Nothing
acts on the detector here: the policy goes on after an alarm.

Example:
  python benchmarks/detector.py --first 212000 --nominal 240 --each 20 --out docs/images
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import harness
import numpy as np
from harness import Number
from harness.progress import progress_bar

from tendon.evaluation.detection.pictures import draw_lead_time, draw_roc
from tendon.evaluation.detection.scores import COMBINED, Judged, area_interval, judge, roc
from tendon.evaluation.detection.tracing import Traced, run_traces
from tendon.evaluation.detection.usual import usual_jobs
from tendon.evaluation.statistics import wilson
from tendon.policies.bundle.bundle import load_bundle
from tendon.policies.detector.conformal import assess
from tendon.policies.detector.detector import SCORES, Calibration
from tendon.policies.detector.file import DETECTOR_FILE, load_detector, read_record
from tendon.safety.response import Response
from tendon.sim.perturbation import NOMINAL
from tendon.sim.suite import LIMIT_S
from tendon.sim.tabletop.perturbations import PERTURBATIONS

FIRST_SEED = 200_000
EARLY_S = 4.0
NAMES = (*SCORES, COMBINED)


def run_all(bundle: Path, first: int, nominal: int, each: int, workers: int) -> list[Traced]:
    """Runs all episodes; the perturbed ones are on scenes of their own."""
    jobs = [replace(job, perturbation=NOMINAL) for job in usual_jobs(bundle, "panda", range(first, first + nominal))]
    perturbed = usual_jobs(bundle, "panda", range(first + nominal, first + nominal + each))
    jobs += [replace(job, perturbation=one, switch=None) for one, job in itertools.product(PERTURBATIONS, perturbed)]
    traced: list[Traced] = []
    with progress_bar() as bar:
        task = bar.add_task("episodes", total=len(jobs))
        for one in run_traces(jobs, workers):
            traced.append(one)
            bar.advance(task)
    return traced


def failed(judged: Sequence[Judged]) -> list[Judged]:
    """Returns the failed episodes."""
    return [one for one in judged if not one.traced.episode.success]


def good(judged: Sequence[Judged]) -> list[Judged]:
    """Returns the successful episodes."""
    return [one for one in judged if one.traced.episode.success]


def print_areas(
    bench: harness.Bench, title: str, bad: Sequence[Judged], fine: Sequence[Judged]
) -> dict[str, tuple[np.ndarray, np.ndarray, float]]:
    """Prints and adds the areas under the ROC curves of each score and returns the curves."""
    print(f"\n{title}: {len(bad)} failed, {len(fine)} successful episodes")
    curves = {}
    for name in NAMES:
        pair = [[one.largest(name) for one in group] for group in (bad, fine)]
        early = [[one.largest(name, EARLY_S) for one in group] for group in (bad, fine)]
        curves[name] = roc(*pair)
        low, high = area_interval(pair[0], pair[1])
        area, soon = curves[name][2], roc(*early)[2]
        print(f"  {name:12s} AUC {area:.3f} [{low:.3f}, {high:.3f}]   first 4 s only {soon:.3f}")
        bench.add(
            {"episodes": title, "score": name},
            {"area under ROC": Number(area, "", low, high), "first 4 s only": Number(soon)},
            claim="detector/areas",
        )
    return curves


def print_cases(bench: harness.Bench, cases: dict[str, list[Judged]]) -> None:
    """Prints and adds one row a case."""
    print(
        "\n| case | success | failures with an alarm | by consistency | by novelty | median lead [s] | hold | stop "
        "| successes with an alarm |\n|---|---|---|---|---|---|---|---|---|"
    )
    for name, judged in cases.items():
        bad, fine = failed(judged), good(judged)
        leads = [one.lead_s for one in bad if one.lead_s is not None]
        by = [sum(one.first_alarm_s[score] is not None for one in bad) for score in NAMES]
        reached = [sum(one.strictest >= level for one in bad) for level in (Response.HOLD, Response.STOP)]
        wrong = sum(one.alarm for one in fine)
        lead = f"{np.median(leads):.1f}" if leads else "-"
        print(
            f"| {name} | {len(fine)}/{len(judged)} | {by[2]}/{len(bad)} | {by[0]} | {by[1]} | {lead} | {reached[0]} "
            f"| {reached[1]} | {wrong}/{len(fine)} |"
        )
        values: dict[str, harness.Value] = {"success": wilson(len(fine), len(judged))}
        if bad:
            values |= {"failures with an alarm": wilson(by[2], len(bad))}
            values |= {"by consistency": Number(by[0]), "by novelty": Number(by[1])}
        if leads:
            values["median lead"] = Number(float(np.median(leads)), "s")
        values |= {"hold asked": Number(reached[0]), "stop asked": Number(reached[1])}
        if fine:
            values["successes with an alarm"] = wilson(wrong, len(fine))
        bench.add({"case": name}, values, claim="detector/cases")


def print_cost(bench: harness.Bench, calibration: Calibration, traced: Sequence[Traced]) -> None:
    """Times the detector on real traces."""
    times = []
    for one in traced[:60]:
        begin = time.perf_counter()
        assess(one.trace, calibration)
        times.append((time.perf_counter() - begin) / len(one.trace.start_ns) * 1e3)
    p50, most = np.percentile(times, [50, 100])
    print(f"\ncost of one update, mean of an episode: p50 {p50:.3f} ms, max {most:.3f} ms over {len(times)} episodes")
    tell(bench, "cost of one update, median", Number(float(p50), "ms"))


def tell(bench: harness.Bench, measure: str, value: harness.Value) -> None:
    """Adds a row of the table of measures."""
    bench.add({"measure": measure}, {"result": value}, claim="detector/measures")


def report(bench: harness.Bench, traced: Sequence[Traced], calibration: Calibration, alpha: float, out: Path) -> None:
    """Prints all tables and draws both pictures."""
    cases = {
        name: [
            judge(one, calibration)
            for one in traced
            if one.job.perturbation is not None and one.job.perturbation.name == name
        ]
        for name in (p.name for p in (NOMINAL, *PERTURBATIONS))
    }
    cases = {name: judged for name, judged in cases.items() if judged}
    nominal = cases[NOMINAL.name]
    perturbed = [one for name, judged in cases.items() for one in judged if name != NOMINAL.name]
    everything = nominal + perturbed
    wrong = sum(one.alarm for one in good(nominal))
    alarms = wilson(wrong, len(good(nominal)))
    print(f"successful nominal episodes with an alarm: {alarms}; promise {100 * alpha:g} %")
    tell(bench, f"successful nominal episodes with an alarm (promise: at most {100 * alpha:g} %)", alarms)
    stopped = sum(one.strictest is Response.STOP for one in good(nominal))
    held = sum(one.strictest >= Response.HOLD for one in good(nominal))
    print(f"  of them held or stopped: {held}, stopped: {stopped}")
    tell(bench, "of them held or stopped", Number(held))
    tell(bench, "of them stopped", Number(stopped))
    caught = sum(one.first_alarm_s[COMBINED] is not None for one in failed(everything))
    if failed(everything):
        found = wilson(caught, len(failed(everything)))
        print(f"failed episodes with an alarm, all cases: {found}")
        tell(bench, "failed episodes with an alarm, all cases", found)
    leads = [one.lead_s for one in failed(everything) if one.lead_s is not None]
    if leads:
        print(f"first alarm before the end of a failed episode: median {np.median(leads):.1f} s")
        tell(bench, "first alarm before the end of a failed episode, median", Number(float(np.median(leads)), "s"))
    print_cases(bench, cases)
    groups = {
        "nominal": (failed(nominal), good(nominal)),
        "nominal and perturbed": (failed(everything), good(everything)),
        "perturbed failures, nominal successes": (failed(perturbed), good(nominal)),
    }
    curves = {
        f"{title}\n{len(bad)} failures, {len(fine)} successes": print_areas(bench, title, bad, fine)
        for title, (bad, fine) in groups.items()
        if bad and fine
    }
    print_cost(bench, calibration, traced)
    draw_roc(curves, out / "detector-roc.png")
    lead = {
        name: (np.array([one.lead_s for one in failed(judged) if one.lead_s is not None]), len(failed(judged)))
        for name, judged in cases.items()
    }
    draw_lead_time(lead, LIMIT_S, out / "detector-lead-time.png")
    print(f"pictures: {out}/detector-roc.png, {out}/detector-lead-time.png")


def main() -> None:
    """Runs and reports."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", nargs="?", type=Path, default=Path("bundles/tabletop"), help="(%(default)s)")
    parser.add_argument("--first", type=int, default=FIRST_SEED, help="scene (%(default)s)")
    parser.add_argument("--nominal", type=int, default=120, help="episodes without a perturbation (%(default)s)")
    parser.add_argument("--each", type=int, default=20, help="episodes of each perturbation (%(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="processes (%(default)s)")
    parser.add_argument("--out", type=Path, default=Path("outputs"), help="folder for the pictures (%(default)s)")
    harness.add_arguments(parser)
    options = parser.parse_args()
    bundle = load_bundle(options.bundle)
    calibration = load_detector(bundle)
    if calibration is None:
        parser.error(f"{options.bundle} has no detector: run `tendon policy calibrate-detector {options.bundle}`")
    bench = harness.begin(options, "detector/measures", "detector/cases", "detector/areas")
    record = read_record(bundle.content[DETECTOR_FILE])
    print(f"{options.bundle} ({bundle.digest[:12]}), calibrated on {record.scenes}, thresholds {record.thresholds}")
    traced = run_all(options.bundle, options.first, options.nominal, options.each, options.workers)
    report(bench, traced, calibration, record.alpha, options.out)


if __name__ == "__main__":
    main()
