"""How near a calibration on a running graph comes to the truth, from nothing: looked around, planned, led, solved.

Each rig is a scene of the suite `calibration`: cameras 2 to 5 cm and 5 deg off, zeros 1 to 3 deg, and no code of the
calibration knows by how much. The same commands as in docs/how-to/calibrate.md, on real processes in simulated time.

Examples:
  python benchmarks/guided_calibration.py --rigs 5
  python benchmarks/guided_calibration.py --rigs 1 --busy --rows /tmp/rows
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import harness
import numpy as np

from tendon.calibration.session import Session
from tendon.cli.root import run
from tendon.demo.calibration.practice import Errors, Practice, compare, new_practice
from tendon.graph.domain import free_domain
from tendon.robots.profile import load_profile

FIRST = 200_000


def calibrated(practice: Practice, scene: int, poses: int, log: Path) -> tuple[Errors, int, float]:
    """Returns how far off it is, of how many pictures, and minutes of the graph's time that the views took."""
    from tests.ros2_nodes.running_graph import RunningGraph

    arguments = (f"robot:={practice.profile}", "suite:=calibration", "policy:=none", "simulator:=mujoco", "speed:=0")
    graph = RunningGraph(log, *arguments, f"scene:={scene}", profile=load_profile(practice.profile))
    try:
        graph.ready()
        graph.arm()
        began_ns = graph.now_ns()
        check(["guide", str(practice.session), "--environment", "tabletop", "--count", str(poses)])
        minutes = (graph.now_ns() - began_ns) / 60e9
    finally:
        graph.end()
    check(["solve", str(practice.session)])
    return compare(practice.profile.parents[1], scene), sum(1 for _ in Session(practice.session).shots()), minutes


def check(words: list[str]) -> None:
    """Runs `tendon calibrate` with some words, which has to succeed."""
    if code := run(["calibrate", *words]):
        raise SystemExit(f"tendon calibrate {' '.join(words)} ended with {code}")


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rigs", type=int, default=5, help="scenes from 200000 on (%(default)s)")
    parser.add_argument("--poses", type=int, default=12, help="of the plan, beside looking around (%(default)s)")
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, "calibration/guided")
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for the running graph of the tests
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    os.environ.setdefault("ROS_DOMAIN_ID", str(free_domain()))
    os.environ["TENDON_STATE"] = tempfile.mkdtemp(prefix="tendon-state-")
    found = list[tuple[Errors, int, float]]()
    for scene in range(FIRST, FIRST + args.rigs):
        folder, began_s = Path(tempfile.mkdtemp(prefix="tendon-guided-")), time.monotonic()
        found.append(calibrated(new_practice(folder / "rig", "panda", scene), scene, args.poses, folder / "log"))
        print(f"scene {scene}, {time.monotonic() - began_s:.0f} s: {'; '.join(found[-1][0].lines())}", flush=True)
    for name, where in (("wrist", "camera in the hand"), ("scene", "camera that stands")):
        add(bench, where, "mm", [errors.camera_mm[name] for errors, _, _ in found], found)
        add(bench, where, "deg", [errors.camera_deg[name] for errors, _, _ in found], found)
    add(bench, "zeros, the largest", "deg", [errors.zero_deg for errors, _, _ in found], found)


def add(bench: harness.Bench, what: str, unit: str, off: list[float], found: list[tuple[Errors, int, float]]) -> None:
    """Adds a row."""
    values: dict[str, harness.Value] = {
        "p50": harness.Number(float(np.median(off)), unit),
        "max": harness.Number(max(off), unit),
        "pictures": harness.Number(float(np.median([pictures for _, pictures, _ in found]))),
        "simulated time": harness.Number(float(np.median([minutes for _, _, minutes in found])), "min"),
    }
    bench.add({"what": what, "in": unit}, values, note=f"{len(found)} rigs")


if __name__ == "__main__":
    main()
