"""Ten episodes on the simulated tabletop by a person at the keyboard, scripted: pty, teleoperation node, graph, table.

The keys repeat as a terminal repeats them, after a delay. What to do next is the scripted expert's decision; it is
carried out one axis after the other, by holding and tapping keys (`tests/ros2_nodes/teleop/key_policy.py`).

Examples:
  python benchmarks/teleop_episodes.py
  python benchmarks/teleop_episodes.py --family push --episodes 3 --busy
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

from tendon.cli.progress import CountingBar  # noqa: E402
from tendon.evaluation.statistics import wilson  # noqa: E402
from tendon.graph.domain import free_domain  # noqa: E402


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", default="pick", help="of tasks (%(default)s)")
    parser.add_argument("--seed", type=int, default=310_000, help="of the first scene (%(default)s)")
    parser.add_argument("--episodes", type=int, default=10, help="(%(default)s)")
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, "teleop/episodes")
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    os.environ.setdefault("ROS_DOMAIN_ID", str(free_domain()))
    os.environ["TENDON_STATE"] = tempfile.mkdtemp(prefix="tendon-state-")
    from tests.ros2_nodes.running_graph import RunningGraph
    from tests.ros2_nodes.teleop.key_policy import KeyPolicy, Tabletop
    from tests.ros2_nodes.teleop.person import Typist

    folder = Path(tempfile.mkdtemp(prefix="tendon-teleop-"))
    first = (f"scene:={args.seed}", f"family:={args.family}")
    graph = RunningGraph(folder / "log", "backend:=sim", "policy:=none", *first)
    done, taken_s, presses, problems = [], [], [], []
    try:
        graph.ready()
        table = Tabletop(graph, graph.profile)
        command = [sys.executable, "-m", "tendon.cli", "teleop", "keyboard"]
        with Typist(command, clock_ns=graph.now_ns) as typist, CountingBar(args.family, args.episodes) as bar:
            typist.await_panel()
            person = KeyPolicy(table, typist)
            person.full_speed()
            for seed in range(args.seed, args.seed + args.episodes):
                scene = table.load(seed, args.family)
                person.presses, begun_ns = 0, graph.now_ns()
                done.append(person.do(scene))
                taken_s.append((graph.now_ns() - begun_ns) * 1e-9)
                presses.append(person.presses)
                if not done[-1]:
                    problems.append(f"{seed}: {graph.reason() if table.stopped() else 'not in time'}")
                bar.advance(1, f"{sum(done)} of {len(done)} done, {taken_s[-1]:.0f} s, {presses[-1]} presses")
    finally:
        graph.end()
    good_s = sorted(each for each, success in zip(taken_s, done, strict=True) if success)
    values: dict[str, harness.Value] = {
        "success": wilson(sum(done), len(done)),
        **({"time, p50": Number(good_s[len(good_s) // 2], "s")} if good_s else {}),
        "presses, p50": Number(sorted(presses)[len(presses) // 2]),
    }
    print(values, problems)
    bench.add({"family": args.family, "device": "keyboard"}, values, note="; ".join(problems)[:300])


if __name__ == "__main__":
    main()
