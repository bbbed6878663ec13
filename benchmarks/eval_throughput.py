"""Episodes a minute of `tendon eval run` on this machine, beside another checkout of Tendon, in turns.

The other one is made by `git clone . /tmp/before && git -C /tmp/before checkout COMMIT`. CPU time counts all processes:
other load on the machine changes it less than the minutes.

Examples:
  python benchmarks/eval_throughput.py --before /tmp/before
  python benchmarks/eval_throughput.py --before /tmp/before --seeds 100000:100012 --rounds 1 --busy --rows /tmp/rows
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import harness
from harness import Number

from tendon.cli.seeds import parse_seeds
from tendon.evaluation.evaluate import END_SEED, FIRST_SEED

HERE = Path(__file__).resolve().parents[1]


def timed(folder: Path, seeds: str, workers: int) -> tuple[float, float]:
    """Returns wall and CPU seconds of one evaluation by the code in a folder."""
    with tempfile.TemporaryDirectory() as place:
        command = [sys.executable, "-m", "tendon.cli", "eval", "run", "tabletop", "--seeds", seeds]
        command += ["--workers", str(workers), "--out", f"{place}/found.json"]
        environment = {**os.environ, "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}
        begin = time.monotonic()
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"error: the evaluation in {folder} ended with code {process.returncode}")
        return time.monotonic() - begin, usage.ru_utime + usage.ru_stime


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, required=True, metavar="FOLDER", help="another checkout")
    parser.add_argument("--seeds", default="100000:100048", help="first:last+1 (%(default)s)")
    parser.add_argument("--rounds", type=int, default=2, help="of each (%(default)s); the faster one counts")
    parser.add_argument("--workers", type=int, default=2, help="processes (%(default)s)")
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, "evaluation/throughput")
    before = args.before.resolve()
    commit = subprocess.run(
        ["git", "-C", str(before), "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    sides = {f"commit {commit}": before, "this code": HERE}
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in sides}
    count = len(parse_seeds(args.seeds, FIRST_SEED, END_SEED))
    for _ in range(args.rounds):
        for name, folder in sides.items():
            found[name].append(timed(folder, args.seeds, args.workers))
            print(f"{name}: {found[name][-1][0]:.1f} s, {found[name][-1][1]:.1f} s of CPU", flush=True)
    for name, rounds in found.items():
        wall_s, cpu_s = (min(values) for values in zip(*rounds, strict=True))
        bench.add(
            {"code": name, "workers": str(args.workers)},
            {"episodes a minute": Number(60 * count / wall_s), "CPU an episode": Number(cpu_s / count, "s")},
        )


if __name__ == "__main__":
    main()
