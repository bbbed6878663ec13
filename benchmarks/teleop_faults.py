"""Everything that can happen to who teleoperates, on a moving mock Panda: when braking begins, and what moves after.

Braking is counted from the fault to the first command that goes slower, by the stamps of the commands.

Examples:
  python benchmarks/teleop_faults.py
  python benchmarks/teleop_faults.py --clock realtime --repeats 5
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)]

import harness  # noqa: E402
from harness import Number  # noqa: E402

from tendon.graph.domain import free_domain  # noqa: E402


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5, help="of each fault (%(default)s)")
    parser.add_argument("--clock", default="simulated", choices=("simulated", "realtime"))
    parser.add_argument("--only", nargs="+", default=(), metavar="TEXT", help="faults with one of these in their name")
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, "teleop/faults")
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    os.environ.setdefault("ROS_DOMAIN_ID", str(free_domain()))
    os.environ["TENDON_STATE"] = tempfile.mkdtemp(prefix="tendon-state-")
    from tests.ros2_nodes.running_graph import RunningGraph
    from tests.ros2_nodes.teleop.person import ToolWatch
    from tests.ros2_nodes.teleop.strikes import STRIKES, Seat

    folder = Path(tempfile.mkdtemp(prefix="tendon-teleop-"))
    graph = RunningGraph(folder / "log", "backend:=mock", "policy:=none", f"clock:={args.clock}")
    try:
        seat = Seat(graph, ToolWatch(graph.operator, graph.profile), folder)
        graph.ready()
        graph.arm()
        for strike in STRIKES:
            if args.only and not any(text in strike.name for text in args.only):
                continue
            found_ms, problems = [], []
            for _ in range(1 if strike.slow else args.repeats):
                try:
                    found_ms.append(1e3 * strike.run(seat))
                except AssertionError as error:
                    problems.append(str(error).splitlines()[0])
                    graph.arm()
            case = {"fault": strike.name, "clock": args.clock}
            values = {"n": Number(len(found_ms) + len(problems)), "not as expected": Number(len(problems))}
            if found_ms:
                values |= {"braking begins, p50": Number(sorted(found_ms)[len(found_ms) // 2], "ms")}
                values |= {"max": Number(max(found_ms), "ms")}
            print(strike.name, [round(each) for each in found_ms], problems, flush=True)
            bench.add(case, values, note="; ".join(sorted(set(problems))))
        graph.check_limits()
    finally:
        graph.end()


if __name__ == "__main__":
    main()
