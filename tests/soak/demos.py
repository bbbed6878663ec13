"""Runs `tendon demo` again and again on a bad machine, and counts what came of it.

Runs are kept in a file: an interrupted soak goes on.

Examples:
  python tests/soak/demos.py --count 30 --condition busy
  python tests/soak/demos.py --count 120 --condition changing --at-once 2
  python tests/soak/demos.py --count 4 --pause-ms 250 --pauses 5
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT)]

import harness  # noqa: E402
from harness import Number  # noqa: E402
from harness.pages import value_text  # noqa: E402
from harness.progress import progress_bar  # noqa: E402

from tendon.core.causes import Cause  # noqa: E402
from tendon.core.modes import PermissionState  # noqa: E402
from tendon.evaluation.statistics import wilson  # noqa: E402
from tendon.safety.event_log import lines_of, log_files, read_log  # noqa: E402
from tests.soak.conditions import CONDITIONS, beside, pause, start  # noqa: E402

PATIENCE_S = 900.0
CHANGING = ("idle", "busy", "one-core", "no-realtime")
"""Not "nice": beside demos of another condition it would wait for those."""
APART_S = (0.2, 1.2)
"""Time between two pauses."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """What came of one demo.

    Attributes:
        condition: of `CONDITIONS`.
        code: exit code.
        wall_s: how long it took.
        latches: latches that nobody asked for, as CAUSE: REASON.
        pauses: how often everything was paused while the robot was under way.
        said: the last lines, when it failed.
    """

    condition: str
    code: int
    wall_s: float
    latches: tuple[str, ...]
    pauses: int
    said: str = ""


def run_demo(name: str, out: Path, pause_s: float, pauses: int, random_: random.Random) -> Run:
    """Runs one demo under a condition, with pauses of everything from the first motion on."""
    state = out / "state"
    shutil.rmtree(state, ignore_errors=True)  # of a run that was interrupted
    environment = {key: value for key, value in os.environ.items() if key != "ROS_DOMAIN_ID"}
    begin = time.monotonic()
    command = [sys.executable, "-m", "tendon.cli", "demo", "--out", str(out)]
    with beside(CONDITIONS[name].busy):
        demo = start(CONDITIONS[name], command, environment)
        timer = threading.Timer(PATIENCE_S, lambda: os.killpg(demo.pid, signal.SIGKILL))
        timer.start()
        said: list[str] = []
        done = _watch(demo, said, pause_s, pauses, random_)
        code = demo.wait()
        timer.cancel()
    return Run(
        condition=name,
        code=code,
        wall_s=round(time.monotonic() - begin, 1),
        latches=tuple(_latches(state / "log")),
        pauses=done,
        said="".join(said[-15:]) if code else "",
    )


def _latches(folder: Path) -> Iterator[str]:
    """Yields the latches in event logs that nobody asked for."""
    for log in log_files(folder):
        before = ""
        for event in lines_of(read_log(log).events, "permission"):
            if before != event["state"] == PermissionState.LATCHED.value and event["cause"] != Cause.REQUESTED.value:
                yield f"{event['cause']}: {event['reason']}"
            before = event["state"]


def _watch(demo: subprocess.Popen[str], said: list[str], pause_s: float, pauses: int, random_: random.Random) -> int:
    """Reads what the demo says, and pauses everything now and then once the robot is under way."""
    moving, ended = threading.Event(), threading.Event()
    done = 0

    def disturb() -> None:
        nonlocal done
        moving.wait()
        while done < pauses and not ended.wait(random_.uniform(*APART_S)):
            pause(demo.pid, pause_s)
            done += 1

    thread = threading.Thread(target=disturb)
    thread.start()
    for line in demo.stdout or ():
        said.append(line)
        if " running, " in line:
            moving.set()
        if "stopping" in line or "DONE" in line or "FAILED" in line:
            ended.set()
    ended.set()
    moving.set()
    thread.join()
    return done


def run_demos(args: argparse.Namespace, tell: Callable[[int, Run], None]) -> list[Run]:
    """Runs what is missing in the file of kept runs; each is in it, and told of, as soon as it is over."""
    args.out.mkdir(parents=True, exist_ok=True)
    file = args.out / f"{args.condition}-{args.pause_ms:g}ms.jsonl"
    kept = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    runs = {row["number"]: Run(**row["run"]) for row in kept if row["number"] < args.count}
    lock = threading.Lock()

    def one(k: int) -> None:
        name = CHANGING[k % len(CHANGING)] if args.condition == "changing" else args.condition
        folder = args.out / f"{args.condition}-{args.pause_ms:g}ms-{k:03d}"
        run = run_demo(name, folder, args.pause_ms * 1e-3, args.pauses, random.Random(k))
        with lock:
            runs[k] = run
            rows.write(json.dumps({"number": k, "run": asdict(run)}) + "\n")
            rows.flush()
            tell(k, run)

    with file.open("a") as rows, ThreadPoolExecutor(args.at_once) as pool:
        list(pool.map(one, [k for k in range(args.count) if k not in runs]))
    return list(runs.values())


def summarise(bench: harness.Bench, machine: str, pause_: str, runs: list[Run]) -> bool:
    """Adds the row of some runs and prints it; returns whether all were done and nothing latched."""
    done = wilson(sum(run.code == 0 for run in runs), len(runs))
    walls = sorted(run.wall_s for run in runs)
    causes = Counter(cause for run in runs for cause in run.latches)
    values = {
        "done": done,
        "pauses in motion": Number(sum(run.pauses for run in runs)),
        "latches": Number(causes.total()),
        "wall time p50": Number(walls[len(walls) // 2], "s"),
        "max": Number(walls[-1], "s"),
    }
    bench.add({"machine": machine, "pause": pause_}, values)
    print(f"{machine}, pauses {pause_}:", ", ".join(f"{name} {value_text(value)}" for name, value in values.items()))
    for cause, count in causes.most_common():
        print(f"  {count} x {cause}")
    return done.successes == len(runs) and not causes


def main() -> int:
    """Returns 0 when every demo was done and nothing latched that nobody asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=30, help="demos (%(default)s)")
    choices = (*CONDITIONS, "changing")
    parser.add_argument("--condition", default="idle", choices=choices, help="the machine (%(default)s)")
    parser.add_argument("--at-once", type=int, default=1, help="demos beside one another (%(default)s)")
    parser.add_argument("--pause-ms", type=float, default=0.0, help="length of each pause of everything (%(default)s)")
    parser.add_argument("--pauses", type=int, default=0, help="pauses a demo, while the robot is under way")
    parser.add_argument("--out", type=Path, default=Path("outputs/soak"), help="folder of the results (%(default)s)")
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, "soak/demos")
    with progress_bar() as bar:
        task = bar.add_task(f"demos, {args.condition}", total=args.count)

        def tell(k: int, run: Run) -> None:
            bar.update(task, advance=1)
            if run.code or run.latches:
                bar.console.print(f"run {k} ({run.condition}): code {run.code}, latches {run.latches}", markup=False)

        runs = run_demos(args, tell)
    beside_ = f", {args.at_once} at once" if args.at_once > 1 else ""
    pause_ = f"{args.pause_ms:g} ms" if args.pauses else "none"
    good = summarise(bench, args.condition + beside_, pause_, runs)
    if args.condition == "changing":
        for name in CHANGING:
            if these := [run for run in runs if run.condition == name]:
                summarise(bench, f"{name}, of changing{beside_}", pause_, these)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
