"""What calibrating is worth: the shipped policy on robots that are off, before a calibration, after it, and with truth.

Each rig is drawn from its number: zeros of the joints that a camera can tell, which are all of the arm but the first
and the last, off by 1 to 3 deg; both cameras 2 to 5 cm and 5 deg from where the profile mounts them. Each is calibrated
from rendered pictures of both cameras, and the policy reads the file that comes of it: its zeros, and where its cameras
are, since the bundle tells from where they saw in training. Cameras stay where they are.

Episodes are kept in a file as they end, so that a run that was stopped goes on; rows are written when all are there.

Examples:
  python benchmarks/calibration_value.py --busy
  python benchmarks/calibration_value.py --busy --minutes 3.5
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict
from pathlib import Path

import harness
from rigs.value import CELLS, Outcome, outcomes

from tendon.core.json_lines import json_lines_so_far, open_json_lines
from tendon.evaluation.statistics import wilson

FIRST_SEED = 200_000
"""Scenes from here on are for reporting: nothing was trained or tuned on them."""
Key = tuple[int, str, str]


def read(file: Path) -> dict[Key, list[Outcome]]:
    """Returns what is there, by rig and cell."""
    found: dict[Key, list[Outcome]] = {}
    for values in json_lines_so_far(file):
        each = Outcome(**values)
        found.setdefault((each.rig, each.off, each.known), []).append(each)
    return found


def run(jobs: list[Key], scenes: int, folder: Path, workers: int, until_s: float) -> Iterator[list[Outcome]]:
    """Yields outcomes of jobs as they end; begins none after a time."""
    left = list(jobs)
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        busy: dict[Future[list[Outcome]], Key] = {}
        while left or busy:
            while left and len(busy) < workers and time.monotonic() < until_s:
                # No two of one rig at once: both would calibrate it.
                job = next((each for each in left if each[0] not in {key[0] for key in busy.values()}), None)
                if job is None:
                    break
                left.remove(job)
                seeds = [FIRST_SEED + scenes * job[0] + k for k in range(scenes)]
                busy[pool.submit(outcomes, job[0], seeds, [job[1:]], folder)] = job
            if not busy:
                return
            for done in wait(busy, return_when=FIRST_COMPLETED).done:
                busy.pop(done)
                yield done.result()


def main() -> None:
    """Runs what is not there yet, and writes the rows once all of it is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rigs", type=int, default=20, help="robots (%(default)s)")
    parser.add_argument("--scenes", type=int, default=3, help="of each (%(default)s)")
    parser.add_argument("--minutes", type=float, default=1e6, help="begin no episode after so long")
    parser.add_argument("--workers", type=int, default=2, help="processes (%(default)s)")
    parser.add_argument("--folder", type=Path, default=Path("outputs/calibration-value"), help="(%(default)s)")
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, "calibration/value")
    args.folder.mkdir(parents=True, exist_ok=True)
    kept = args.folder / "episodes.jsonl"
    have = read(kept)
    jobs = [(rig, *cell) for rig in range(args.rigs) for cell in CELLS if (rig, *cell) not in have]
    for found in run(jobs, args.scenes, args.folder, args.workers, time.monotonic() + 60 * args.minutes):
        with open_json_lines(kept) as file:
            file.writelines(json.dumps(asdict(each)) + "\n" for each in found)
        one = found[0]
        print(f"rig {one.rig}, off: {one.off}, known: {one.known}: {sum(e.success for e in found)} of {len(found)}")
    have = read(kept)
    lacking = sum((rig, *cell) not in have for rig in range(args.rigs) for cell in CELLS)
    if lacking:
        print(f"{lacking} of {args.rigs * len(CELLS)} are left: run it again")
        return
    for off, known in CELLS:
        cell = [each for rig in range(args.rigs) for each in have[rig, off, known]]
        good = wilson(sum(each.success for each in cell), len(cell))
        bench.add({"off": off, "known": known}, {"success": good})


if __name__ == "__main__":
    main()
