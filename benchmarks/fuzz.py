"""Messages that nobody should send, to every subscription and service of every node: what they raise, cost and leave.

Good messages have their fields, lengths and bytes spoilt, and are given to the callbacks in the node's own process, one
process a node; what a node is subscribed to, it is asked. Of what it asks of others, the answers are spoilt. Messages
count that reach a callback: what rclpy cannot read it drops. After each topic the node has to do its work: the robot is
reset, armed and moves. Times are CPU times, so that other work on the machine does not count.

With --graph a running graph is sent the same from another process, over DDS.

Examples:
  python benchmarks/fuzz.py
  python benchmarks/fuzz.py --messages 2000 --nodes safety_monitor control_node --busy --rows /tmp/rows
  python benchmarks/fuzz.py --graph --seconds 60
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import os
import queue
import sys
import tempfile
from pathlib import Path
from typing import Any

import harness
import numpy as np
from harness import Number
from rich.progress import Progress

from tendon.graph.domain import free_domain

ROOT = Path(__file__).resolve().parents[1]
PARAMETERS = "parameter services"
"""Those that rclpy gives every node, in one row: they share the number of messages."""


def fuzz_node(name: str, count: int, seed: int, said: Any) -> None:
    """Sends a node everything, in this process; says on a queue what comes of it: text to show, counts, or a row."""
    sys.path.insert(0, str(ROOT))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # its log, and what DDS says of each message that ends too early
    from tests.poison.cases import running
    from tests.poison.fuzzing import Found, fuzz

    with tempfile.TemporaryDirectory() as folder, running(name, Path(folder)) as subject:
        gc.collect()
        gc.freeze()  # as nodes do when their modules are loaded
        endpoints = subject.endpoints()
        own = [each for each in endpoints if not each.topic.startswith(f"{each.node.get_name()}/")]
        shared = [each for each in endpoints if each not in own]
        said.put(("total", count * (len(own) + bool(shared))))
        rows: dict[str, list[Found]] = {}
        for k, endpoint in enumerate([*own, *shared]):
            label = endpoint.topic if endpoint in own else PARAMETERS
            found = fuzz(
                endpoint,
                count if endpoint in own else -(-count // len(shared)),
                seed + k,
                now_ns=subject.now_ns,
                work=subject.work,
                sent=lambda sent: said.put(("sent", sent)),
                memory=True,
            )
            problem = subject.works()
            rows.setdefault(label, []).append(found)
            if label != PARAMETERS or endpoint is shared[-1]:
                said.put(("row", label, summary(rows.pop(label), problem)))
        steps = getattr(subject, "steps_us", [])
        if steps:
            said.put(("loop", *np.percentile(steps, [50, 99, 100]).tolist(), len(steps)))
    said.put(("end",))


def summary(found: list[Any], problem: str) -> dict[str, Any]:
    """Returns what a row says of one endpoint, or of some together."""
    took_us = np.concatenate([each.took_us for each in found])
    return {
        "messages": sum(each.messages for each in found),
        "exceptions": sum(each.exceptions for each in found),
        "took_us": np.percentile(took_us, [50, 99, 100]).tolist(),
        "grown_mib": sum(each.grown_mib for each in found),
        "errors": [error for each in found for error in each.errors.values()],
        "problem": problem,
    }


def main() -> int:
    """Runs the benchmark; returns 1 when something was raised or a node did not go on."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=100_000, help="to each topic and service (%(default)s)")
    parser.add_argument("--nodes", nargs="+", default=[], metavar="NODE", help="(all)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--graph", action="store_true", help="a running graph, over DDS, instead")
    parser.add_argument("--seconds", type=float, default=60.0, help="of poison for each graph (%(default)s)")
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, "poison-over-dds/graph" if args.graph else "poison/callbacks")
    os.environ.setdefault("ROS_DOMAIN_ID", str(free_domain()))  # several of these may run, each in its own
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    sys.path.insert(0, str(ROOT))
    if args.graph:
        return fuzz_graphs(bench, args)
    from tests.poison.cases import CASES

    bad = 0
    print("| node | topic | messages | exceptions | p50 | p99 | max us | MiB grown | works |")
    print("|---|---|---|---|---|---|---|---|---|")
    with harness.progress_bar() as bar:
        for name in args.nodes or CASES:
            bad += fuzz_one(name, args, bench, bar)
    return 1 if bad else 0


def fuzz_one(name: str, args: argparse.Namespace, bench: harness.Bench, bar: Progress) -> int:
    """Fuzzes a node in a process of its own; returns how many of its rows are bad."""
    context = multiprocessing.get_context("spawn")
    said = context.Queue()
    process = context.Process(target=fuzz_node, args=(name, args.messages, args.seed, said))
    process.start()
    task, bad = bar.add_task(name, total=None), 0
    while True:
        try:
            kind, *what = said.get(timeout=5.0)
        except queue.Empty:
            if process.is_alive():
                continue
            bar.console.print(f"| {name} | the process ended with {process.exitcode} |")
            return bad + 1
        if kind == "end":
            break
        if kind == "total":
            bar.update(task, total=what[0])
        elif kind == "sent":
            bar.advance(task, what[0])
        elif kind == "loop":
            p50, p99, most, ticks = what
            bar.console.print(
                f"{name}: {ticks} ticks of its loop beside, p50 {p50:.0f}, p99 {p99:.0f}, max {most:.0f} us"
            )
        else:
            topic, row = what
            bad += report(name, topic, row, bench, bar)
    process.join()
    bar.remove_task(task)
    return bad


def report(name: str, topic: str, row: dict[str, Any], bench: harness.Bench, bar: Progress) -> int:
    """Prints and keeps a row; returns 1 when it is bad."""
    p50, p99, most = row["took_us"]
    works = "no: " + row["problem"] if row["problem"] else "yes"
    bar.console.print(
        f"| {name} | {topic} | {row['messages']} | {row['exceptions']} | {p50:.0f} | {p99:.0f} | {most:.0f} | "
        f"{row['grown_mib']:.1f} | {works} |",
        soft_wrap=True,
        markup=False,
    )
    for error in row["errors"][:3]:
        bar.console.print(error, soft_wrap=True, markup=False)
    bench.add(
        {"node": name, "topic": topic},
        {
            "messages": Number(row["messages"]),
            "exceptions": Number(row["exceptions"]),
            "p50": Number(p50, "us"),
            "p99": Number(p99, "us"),
            "max": Number(most, "us"),
            "memory grown": Number(round(row["grown_mib"], 1), "MiB"),
            "works after it": works,
        },
    )
    return int(bool(row["exceptions"] or row["problem"]))


def fuzz_graphs(bench: harness.Bench, args: argparse.Namespace) -> int:
    """Fuzzes running graphs over DDS; returns 1 when a node died or the robot did not move again."""
    from tests.poison.over_dds import GRAPHS, poison

    bad = 0
    for name in GRAPHS:
        with tempfile.TemporaryDirectory() as folder:
            found = poison(name, Path(folder), args.seconds, args.seed)
        print(f"{name}: {found}", flush=True)
        bad += bool(found.died or not found.moves)
        bench.add(
            {"graph": name},
            {
                "messages": Number(found.messages),
                "topics": Number(found.topics),
                "nodes that died": ", ".join(found.died) or "none",
                "tick late p99, before": Number(found.late_before_ms, "ms"),
                "tick late p99, beside it": Number(found.late_ms, "ms"),
                "ticks missed, before": Number(found.missed_before),
                "ticks missed, beside it": Number(found.missed),
                "memory grown": ", ".join(f"{node} {grown:.1f} MiB" for node, grown in found.grown_mib.items()),
                "moves after reset and arm": "yes" if found.moves else "no",
            },
        )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
