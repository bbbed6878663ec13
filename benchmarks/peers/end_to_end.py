"""From observation to action available, end to end, ours beside its peers: same ACT weights, same two 224 px cameras.

- ours: `tendon run backend:=hardware` (policy, filter, monitor: real processes on ROS 2); this script is the cameras,
  `mock_node` the arm. Observation: before the first image is published. Available: the chunk has
  arrived here, in another process than the policy. Loop: commands of the control node, 100 Hz.
- openpi: its client over websocket against a server of its protocol around LeRobot's ACT in torch, and against
  `tendon policy serve`. Loop: its Runtime with its ActionChunkBroker, 10 rows a chunk, 20 Hz.
- LeRobot: its own policy server and robot client (`lerobot.async_inference`), gRPC. Available: the chunk is in the
  client's queue. Loop: `RobotClient.control_loop`, 20 Hz. Its filter of similar observations is kept from dropping any,
  by joints that move.

Inference is the network alone: our engine, or torch in the server (of `tendon policy serve`: all of
`BundlePolicy.infer`).
"beyond" is the whole minus its median: images on their way, conversion, normalisation, limits, the chunk on its way
back. Images are made before. Tick error is how far the time between two actions is from the loop's period. Needs
LeRobot (`make setup-lerobot`).

Examples:
  python benchmarks/peers/end_to_end.py
  python benchmarks/peers/end_to_end.py --only ours --only lerobot --engine openvino:bf16 --seconds 30
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # benchmarks

import harness
import numpy as np
from harness import Number
from networks.random_policies import FOLDER, bundle_of
from peers.common import Found
from peers.with_lerobot import lerobot
from peers.with_openpi import openpi, openpi_tendon
from peers.with_tendon import ours

COLUMNS = (
    "who",
    "inference by",
    "observation to actions, p50 / p99 / max ms",
    "inference ms",
    "beyond it, p50",
    "p99",
    "chunks a s",
    "control loop Hz",
    "tick error, p50 / p99 / max ms",
)
RUNS: dict[str, Callable[[float, Path, str], Found]] = {
    "ours": ours,
    "openpi": openpi,
    "openpi+tendon": openpi_tendon,
    "lerobot": lerobot,
}


WITH_ENGINE = ("ours", "openpi+tendon")


def report(bench: harness.Bench, name: str, inference: str, found: Found, seconds: float) -> None:
    """Prints and adds a row."""
    if not found.whole:
        print(f"| {name} | {inference} | no answer in {seconds:g} s" + " |" * (len(COLUMNS) - 2), flush=True)
        return
    spread = harness.spread_of(found.whole, "ms")
    p50, p99, most = (number.value for number in spread.values())
    network = statistics.median(found.network)
    values: dict[str, harness.Value] = {
        **spread,
        "network alone, p50": Number(network, "ms"),
        "beyond it, p50": Number(p50 - network, "ms"),
        "chunks a second": Number(len(found.whole) / seconds),
    }
    texts = [name, inference, f"{p50:.1f} / {p99:.1f} / {most:.1f}", f"{network:.1f}"]
    texts += [f"{p50 - network:.1f}", f"{p99 - network:.1f}", f"{len(found.whole) / seconds:.1f}"]
    if found.ticks:
        error = harness.spread_of(np.abs(np.array(found.ticks) - found.period_ms), "ms")
        rate_hz = 1e3 * len(found.ticks) / sum(found.ticks)
        texts.append(f"{rate_hz:.1f} of {1e3 / found.period_ms:.0f}")
        texts.append(" / ".join(f"{number.value:.2f}" for number in error.values()))
        values["control loop"] = f"{rate_hz:.1f} of {1e3 / found.period_ms:.0f} Hz"
        values |= {f"tick off by, {which}": number for which, number in error.items()}
    else:
        texts += ["-", "-"]
    print("| " + " | ".join(texts) + " |", flush=True)
    bench.add({"who": name, "inference by": inference}, values)


def main() -> None:
    """Prints a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=tuple(RUNS), help="may be repeated (all of them)")
    parser.add_argument("--engine", action="append", help="of our graphs, may be repeated (cpu)")
    parser.add_argument("--seconds", type=float, default=15.0, help="of each (%(default)s)")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="of the policy (%(default)s)")
    parser.add_argument("--row", nargs=2, help=argparse.SUPPRESS)
    harness.add_arguments(parser)
    args = parser.parse_args()
    if args.row:
        name, inference = args.row
        print(json.dumps(asdict(RUNS[name](args.seconds, args.folder, inference))))
        return
    bench = harness.begin(args, "peers/end-to-end")
    bundle_of("act", args.folder)
    print(f"{args.seconds:g} s each")
    print("| " + " | ".join(COLUMNS) + " |\n|" + "---|" * len(COLUMNS), flush=True)
    failed: list[str] = []
    options = ["--seconds", str(args.seconds), "--folder", str(args.folder)]
    for name in args.only or RUNS:
        for inference in (args.engine or ["cpu"]) if name in WITH_ENGINE else ["torch"]:
            # Priorities, libraries and what they leave behind stay with one row.
            command = [sys.executable, __file__, *options, "--row", name, inference]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
            if done.returncode:
                failed.append(f"{name} {inference}")
                print(f"| {name} | {inference} | ended with {done.returncode}" + " |" * (len(COLUMNS) - 2), flush=True)
                continue
            report(bench, name, inference, Found(**json.loads(done.stdout.splitlines()[-1])), args.seconds)
    if failed:
        sys.exit(f"error: not measured: {', '.join(failed)}")


if __name__ == "__main__":
    main()
