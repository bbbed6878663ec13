"""Kills the processes of a graph at random moments of a motion, and counts what broke. `make faults` calls it.

Each time: reset, arm, move, kill -9 one process, see the robot come to rest and stay there, wait for the restart. Every
process of the graph is a victim but the simulator, which is the robot; `tendon run` too, whose death ends the graph.
Leaves every trial in outputs/faults/kill.jsonl. Exit code 1 when a limit was broken, the table was touched, or it did
not go on.

Examples:
  python tests/faults/kill.py --count 12
  python tests/faults/kill.py --count 300 --results
  python tests/faults/kill.py --count 300 --results --resume    goes on where that was interrupted
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT)]

from tendon.graph.domain import free_domain  # noqa: E402

if __name__ == "__main__":
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    os.environ.setdefault("ROS_DOMAIN_ID", str(free_domain()))

import harness  # noqa: E402
from harness import Number, Value  # noqa: E402

from tests.faults.bench import Bench  # noqa: E402
from tests.faults.faults import Expect, Fault  # noqa: E402
from tests.faults.record import Record, parser_of  # noqa: E402
from tests.faults.trial import AGREED_MS, Trial, try_fault  # noqa: E402

OUTPUT = Path("outputs/faults/kill.jsonl")
VICTIMS = {
    "control_node": ("swing", Expect.STOP),
    "safety_monitor": ("swing", Expect.STOP),
    "policy_node": ("policy", Expect.STOP),
    "camera_node": ("policy", Expect.REST),
    "tendon run": ("swing", Expect.GONE),
}
"""Process to the kind of graph it is killed in, and what must follow."""


def fault_of(victim: str) -> Fault:
    """Returns the fault that kills a process."""
    graph, expect = VICTIMS[victim]
    if expect is Expect.GONE:
        return Fault(row="kill", name=victim, make=lambda bench: bench.graph.kill(), expect=expect, graph=graph)

    def kill(bench: Bench) -> None:
        bench.signal(victim, signal.SIGKILL)

    lasts_s = 1.5 if expect is Expect.REST else 0.0
    return Fault(row="kill", name=victim, make=kill, expect=expect, graph=graph, restarts=victim, lasts_s=lasts_s)


def plan(count: int) -> list[str]:
    """Returns who dies, in an order that starts few graphs: a node may be restarted three times a minute."""
    swing = ["control_node", "safety_monitor", "control_node", "safety_monitor", "control_node", "tendon run"]
    policy = ["policy_node", "camera_node", "policy_node", "camera_node", "policy_node", "camera_node"]
    rounds = [*(swing * 3), *(policy * 2)]
    return [rounds[k % len(rounds)] for k in range(count)]


def main() -> int:
    """Runs the kills."""
    parser = parser_of(__doc__)
    parser.add_argument("--count", type=int, default=300, help="kills (%(default)s)")
    args = parser.parse_args()
    results = harness.begin(args, "faults/kills") if args.results else None
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the graph has to end with this process
    run = {"commit": harness.commit(), "seed": args.seed, "count": args.count}
    record = Record(OUTPUT, run, args.count, args.resume)
    kept = len(record.all)
    bench = Bench(seed=args.seed + kept)
    began_s = time.monotonic()
    try:
        for victim in plan(args.count)[kept:]:
            try:
                trial = try_fault(bench, fault_of(victim))
            except (AssertionError, LookupError, OSError, RuntimeError, ValueError) as error:
                trial = Trial(problem=f"{type(error).__name__}: {str(error).splitlines()[:1]}")
                bench.end()
            rest = "" if trial.rest_s is None else f"{trial.rest_s * 1e3:.0f} ms to rest"
            said = f"{victim}: {trial.problem or rest}, limits broken {trial.broken}"
            print(f"{record.add(victim, trial)}: {said}", flush=True)
    finally:
        bench.close()
    took_s = time.monotonic() - began_s
    trials = record.all
    for victim, count in Counter(victim for victim, _ in trials).items():
        own = [trial for name, trial in trials if name == victim]
        rests = [trial.rest_s * 1e3 for trial in own if trial.rest_s is not None]
        spread = f"{median(rests):.0f} / {max(rests):.0f} ms" if rests else "not seen"
        own_problems = sum(bool(trial.problem) for trial in own)
        print(f"{victim:16} {count:4} kills, to rest p50 / max {spread}, problems {own_problems}")
        if results is not None:
            values: dict[str, Value] = {"kills": Number(count)}
            if rests:
                values |= {"to rest, p50": Number(median(rests), "ms"), "to rest, max": Number(max(rests), "ms")}
            results.add({"killed": victim, "clock": bench.clock}, {**values, "problems": Number(own_problems)})
    broken = sum(trial.worst.broken for _, trial in trials if trial.worst)
    near = [trial.table_m for _, trial in trials if trial.table_m is not None]
    late = sum(trial.late_ms > AGREED_MS for _, trial in trials)
    problems = sum(bool(trial.problem) for _, trial in trials)
    touched = sum(distance <= 0.0 for distance in near)
    least = f"{min(near) * 1e3:.0f} mm" if near else "not seen"
    print(
        f"{len(trials)} kills in {took_s:.0f} s: {broken} limits broken, {touched} contacts with the table "
        f"(nearest {least}), {problems} problems; commands later than {AGREED_MS:.0f} ms in {late}"
    )
    if results is not None:
        everything: dict[str, Value] = {
            "kills": Number(len(trials)),
            "limits broken": Number(broken),
            "contacts with the table": Number(touched),
            **({"nearest to it": Number(min(near) * 1e3, "mm")} if near else {}),
            f"commands later than {AGREED_MS:.0f} ms": Number(late),
            "problems": Number(problems),
        }
        results.add({"killed": "all", "clock": bench.clock}, everything)
    return int(bool(broken or touched or problems))


if __name__ == "__main__":
    sys.exit(main())
