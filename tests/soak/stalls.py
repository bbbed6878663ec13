"""What one standstill of the PC does to a robot that goes on: every process of ours is paused, the robot side is not.

The simulator on the wall clock stands in for the robot and its driver. Each time the arm swings, the others are
stopped for a while and go on; counted are latches, and whether the motion went on by itself. Then what standstills this
machine has of its own: the longest gap of a thread that wakes up every millisecond.

Examples:
  python tests/soak/stalls.py --repeats 20
  python tests/soak/stalls.py --repeats 2 --pause-ms 60 250 --busy --rows /tmp/rows
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT)]

import harness  # noqa: E402
import numpy as np  # noqa: E402
from harness import Number  # noqa: E402
from harness.progress import progress_bar  # noqa: E402

from tendon.core.modes import PermissionState  # noqa: E402
from tendon.graph.domain import free_domain  # noqa: E402
from tendon.safety.reports import ControlState  # noqa: E402

if __name__ == "__main__":
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    os.environ.setdefault("ROS_DOMAIN_ID", str(free_domain()))
    os.environ["TENDON_STATE"] = tempfile.mkdtemp(prefix="tendon-state-")

from tests.ros2_nodes.running_graph import RunningGraph  # noqa: E402

APART_S = 11.0
"""Two standstills within 10 s latch, and should."""
GOES_ON_S = 6.0


def one(graph: RunningGraph, pause_s: float, earliest_s: float) -> str:
    """Pauses the PC once in mid-motion; returns why it latched, or did not go on; empty when all is well."""
    graph.set_in_motion()
    graph.pause(max(1.0, earliest_s - time.monotonic()))
    graph.stand_still(pause_s)
    time.sleep(1.0)
    moved = graph.operator.wait(graph.moving, GOES_ON_S)
    control = graph.operator.reports.newest(ControlState)
    if graph.state() is PermissionState.LATCHED:
        return f"latched: {graph.reason()} ({control})"
    return "" if moved else f"did not go on, {control}"


def own_standstills(duration_s: float) -> np.ndarray:
    """Returns how much later [ms] than asked a thread without priority wakes up that sleeps for 1 ms at a time."""
    late, end = [], time.monotonic() + duration_s
    due = time.monotonic()
    while due < end:
        due += 1e-3
        time.sleep(max(0.0, due - time.monotonic()))
        now = time.monotonic()
        late.append(1e3 * (now - due))
        due = max(due, now)
    return np.array(late)


def main() -> int:
    """Returns 0 when nothing latched and every motion went on."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=20, help="of each length (%(default)s)")
    parser.add_argument("--pause-ms", type=float, nargs="+", default=[20, 60, 80, 95, 250, 2000], help="(%(default)s)")
    parser.add_argument("--listen-s", type=float, default=60.0, help="for standstills of the machine itself")
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, "control/standstills")
    failed = 0
    graph = RunningGraph(Path(os.environ["TENDON_STATE"]) / "graph.log", "policy:=none", "clock:=realtime")
    try:
        graph.ready()
        earliest_s = time.monotonic()
        for pause_ms in args.pause_ms:
            problems: list[str] = []
            with progress_bar() as bar:
                task = bar.add_task(f"{pause_ms:g} ms", total=args.repeats)
                for _ in range(args.repeats):
                    problems.append(one(graph, pause_ms * 1e-3, earliest_s))
                    earliest_s = time.monotonic() + APART_S
                    bar.update(task, advance=1)
            causes = Counter(filter(None, problems))
            failed += causes.total()
            print(f"{pause_ms:g} ms: {args.repeats - causes.total()} of {args.repeats} went on by themselves")
            for cause, count in causes.most_common():
                print(f"  {count} x {cause}")
            bench.add(
                {"standstill": f"{pause_ms:g} ms, all but the robot side"},
                {"goes on by itself": Number(args.repeats - causes.total()), "of": Number(args.repeats)},
            )
        graph.check_limits()
    finally:
        graph.end()
    late_ms = own_standstills(args.listen_s)
    values = {f"p{share:g}": Number(float(np.percentile(late_ms, share)), "ms") for share in (50, 99, 99.9)}
    values["max"] = Number(float(late_ms.max()), "ms")
    print("this machine, without priority:", ", ".join(f"{name} {number}" for name, number in values.items()))
    bench.add({"standstill": "of this machine itself, 1 ms sleeps without priority"}, values)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
