"""How long a command takes until it answers: what somebody types first, a stop, and what is refused before a start.

Each is typed some times, in a ROS domain without a graph; the first time is left out, as it warms the disk. Then a mock
graph is started, and it is told to stop.

Examples:
  python benchmarks/commands.py
  python benchmarks/commands.py --repeats 3 --busy --rows /tmp/rows
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

from tendon.graph.domain import free_domain
from tendon.safety.latch import STATE_VARIABLE
from tendon.testing.process import GraphProcess

CASES = {
    "tendon --version": 0,
    "tendon --help": 0,
    "tendon status": 2,
    "tendon say left": 2,
    "tendon safety stop": 2,
    "tendon run robot:=pnada": 2,
    "tendon run robot:=ur5e": 2,
    "tendon run robto:=ur5e": 2,
    "tendon run policy:=bundles/none": 2,
}
"""What is typed, and the exit code that it must have."""
START_S = 8.0
"""In which a mock graph is ready, at the latest."""


def seconds(line: str, code: int, environment: dict[str, str]) -> float:
    """Returns how long a command took [s].

    Raises:
        SystemExit: it ended with another exit code.
    """
    begin_s = time.perf_counter()
    command = [sys.executable, "-m", "tendon.cli", *line.split()[1:]]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True)
    took_s = time.perf_counter() - begin_s
    if ended.returncode != code:
        raise SystemExit(f"{line}: exit code {ended.returncode}, expected {code}\n{ended.stdout}{ended.stderr}")
    return took_s


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=10, help="of each command (%(default)s)")
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, "commands/answer")
    environment = {**os.environ, "ROS_DOMAIN_ID": str(free_domain()), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    for line, code in CASES.items():
        add(bench, line, code, environment, args.repeats, "none")
    with tempfile.TemporaryDirectory() as folder:
        environment[STATE_VARIABLE] = folder
        graph = GraphProcess(["backend:=mock", "policy:=none"], Path(folder, "graph.log"), environment)
        try:
            time.sleep(START_S)
            add(bench, "tendon safety stop", 0, environment, args.repeats, "mock")
        finally:
            graph.end()


def add(bench: harness.Bench, line: str, code: int, environment: dict[str, str], repeats: int, graph: str) -> None:
    """Types a command and adds its row."""
    took_s = [seconds(line, code, environment) for _ in range(1 + repeats)][1:]
    values = harness.spread_of(took_s, "s")
    case = {"typed": line, "graph": graph, "exit code": str(code)}
    bench.add(case, {"p50": values["p50"], "max": values["max"]})
    print(f"{line}, graph {graph}: p50 {values['p50'].value:.2f} s, max {values['max'].value:.2f} s")


if __name__ == "__main__":
    main()
