"""How rarely the failure detector would stop a policy that succeeds, and the level at which it may.

Runs episodes as in the calibration, without ROS, on seeds of the tuning range that it did not see, and keeps of
each how high every score stayed for as long as a stop takes. The first successful ones set the stop thresholds, the
others show what they do; `--set 0` shows those of the bundle. What was run is kept in a file, so that an interrupted
run goes on.

Examples:
  python benchmarks/detector_stop.py --episodes 5300 --set 2000
  python benchmarks/detector_stop.py --episodes 40 --set 0 --busy --rows /tmp/rows
  python benchmarks/detector_stop.py --episodes 5300 --set 2000 --write
  python benchmarks/detector_stop.py --first 115300 --episodes 3500 --set 0
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path

import harness
import numpy as np
from harness import Number
from harness.pages import value_text
from harness.progress import progress_bar

from tendon.evaluation.detection.tracing import run_traces
from tendon.evaluation.detection.usual import usual_jobs
from tendon.evaluation.statistics import wilson
from tendon.policies.bundle.bundle import load_bundle, write_bundle
from tendon.policies.detector.conformal import assess, lasting_score, stop_thresholds
from tendon.policies.detector.detector import SCORES, Calibration
from tendon.policies.detector.file import DETECTOR_FILE, detector_files, load_detector, read_record

FIRST_SEED = 110_000
PROMISE = 0.001
ALPHA = PROMISE / 2
"""A level at the promise itself would break it in every second sample."""


def run_episodes(bundle: Path, calibration: Calibration, wanted: range, workers: int, kept: Path) -> list[dict]:
    """Runs what is missing in the file of kept episodes, and returns all of them, by seed."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    rows = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    if any(row["thresholds"] != calibration.thresholds for row in rows):
        raise SystemExit(f"{kept} is of another detector: name another file with --kept")
    known = {row["seed"] for row in rows}
    seeds = [seed for seed in wanted if seed not in known]
    jobs = usual_jobs(bundle, "panda", seeds)
    with kept.open("a") as file, progress_bar() as bar:
        task = bar.add_task("episodes", total=len(jobs))
        for one in run_traces(jobs, workers):
            scores = {name: [a.scores[name] for a in assess(one.trace, calibration)] for name in SCORES}
            after = calibration.escalation.stop_after
            row = {
                "seed": one.job.seed,
                "thresholds": calibration.thresholds,
                "success": one.episode.success,
                "alarm": any(max(scores[name]) > calibration.thresholds[name] for name in SCORES),
                "lasting": {name: lasting_score(np.array(scores[name]), after) for name in SCORES},
            }
            rows.append(row)
            file.write(json.dumps(row) + "\n")
            file.flush()
            bar.update(task, advance=1)
    return sorted((row for row in rows if row["seed"] in wanted), key=lambda row: row["seed"])


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", type=Path, default=Path("bundles/tabletop"), help="policy (%(default)s)")
    parser.add_argument("--first", type=int, default=FIRST_SEED, help="seed (%(default)s)")
    parser.add_argument("--episodes", type=int, default=5300, help="in all (%(default)s)")
    parser.add_argument("--set", type=int, default=2000, help="successful ones that set the level (%(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="processes (%(default)s)")
    parser.add_argument("--kept", type=Path, default=Path("outputs/detector-stop.jsonl"), help="(%(default)s)")
    parser.add_argument("--write", action="store_true", help="write the stop thresholds into the bundle")
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, "detector/stops")
    bundle = load_bundle(args.bundle)
    calibration = load_detector(bundle)
    if calibration is None:
        raise SystemExit(f"{args.bundle} has no detector: run `tendon policy calibrate-detector` first")
    wanted = range(args.first, args.first + args.episodes)
    rows = run_episodes(bundle.folder, calibration, wanted, args.workers, args.kept)
    good = [row for row in rows if row["success"]]
    setting, showing = good[: args.set], good[args.set :]
    failed = [row for row in rows if not row["success"]]

    def tell(measure: str, value: harness.Value) -> None:
        print(f"{measure}: {value_text(value)}")
        bench.add({"measure": measure}, {"result": value})

    tell("success", wilson(len(good), len(rows)))
    tell("successful episodes with an alarm", wilson(sum(row["alarm"] for row in good), len(good)))
    levels = calibration.stop_thresholds
    if setting:
        lasting = {name: np.array([row["lasting"][name] for row in setting]) for name in SCORES}
        levels = stop_thresholds(lasting, calibration.thresholds, ALPHA)
    if not levels:
        return

    def stopped(rows: list[dict]) -> int:
        return sum(any(row["lasting"][name] > levels[name] for name in SCORES) for row in rows)

    for name, level in levels.items():
        tell(f"stop threshold of {name} (alarm {calibration.thresholds[name]:.2f})", Number(level))
    if showing:
        promised = f"other successful episodes that it stops (promise {100 * PROMISE:g} %)"
        tell(promised, wilson(stopped(showing), len(showing)))
    tell("failed episodes that it stops", wilson(stopped(failed), len(failed)))
    if args.write and setting:
        record = read_record(bundle.content[DETECTOR_FILE])
        files = detector_files(
            replace(calibration, stop_thresholds=levels),
            bundle,
            record.alpha,
            record.episodes,
            record.scenes,
            stop_alpha=ALPHA,
            stop_episodes=len(setting),
        )
        written = write_bundle(bundle.folder, bundle.manifest, {**bundle.content, **files})
        print(f"{bundle.folder}: stop thresholds written, digest {written.digest[:12]}")


if __name__ == "__main__":
    main()
