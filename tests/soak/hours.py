"""Hours of the whole graph in motion: whether memory, file descriptors, threads or latency drift.

The policy leads the simulated robot from one instruction to the next, and home in between, on the wall clock. Each part
of an hour is a row; a stop is reset and armed again, and counted.

Examples:
  python tests/soak/hours.py
  python tests/soak/hours.py --hours 0.1 --part-min 1 --busy --rows /tmp/rows
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT)]

import harness  # noqa: E402
import psutil  # noqa: E402
from harness import Number  # noqa: E402
from harness.progress import progress_bar  # noqa: E402
from harness.tour import Tour  # noqa: E402

from tendon.core.errors import StoppedError  # noqa: E402
from tendon.core.modes import Mode, PermissionState  # noqa: E402
from tendon.graph.domain import free_domain  # noqa: E402
from tendon.ros2_nodes.clients.operator import Operator  # noqa: E402
from tendon.safety.reports import MonitorState  # noqa: E402

SAMPLE_S = 5.0
READY_S = 60.0
METERS = {"observation to command": ("control_node", "chunk"), "tick late": ("control_node", "tick")}
NODES = ("sim_node", "camera_node", "safety_monitor", "control_node", "policy_node")


class Soak:
    """A running graph that is kept in motion and looked at.

    Args:
        scene: of the tabletop.
        folder: for its log and its latch.
    """

    def __init__(self, scene: int, folder: Path) -> None:
        command = [sys.executable, "-m", "tendon.cli", "run", "policy:=bundles/tabletop", f"scene:={scene}"]
        with (folder / "log").open("w") as log:
            self.graph = subprocess.Popen([*command, "clock:=realtime"], stdout=log, stderr=log)
        self.operator = Operator("soak")
        self._tour = Tour(self.operator, scene)
        self.latches: list[str] = []

    def ready(self) -> None:
        """Waits until it is armed."""
        if not self.operator.wait(self._armed, READY_S):
            raise SystemExit(f"the robot could not be armed within {READY_S:.0f} s: {self._reason()}")

    def _armed(self) -> bool:
        with contextlib.suppress(StoppedError):
            self.operator.reset()
        with contextlib.suppress(StoppedError):
            self.operator.arm()
        return self.operator.wait(lambda: (mode := self.operator.mode()) is not None and mode.moving, 1.0)

    def _reason(self) -> str:
        monitor = self.operator.reports.newest(MonitorState)
        return "silent" if monitor is None else monitor.permission.reason

    def lead(self) -> None:
        """Gives the robot its next task when one is due; resets and arms after a stop."""
        if self.operator.permission() is PermissionState.LATCHED or self.operator.mode() is Mode.LATCHED:
            self.latches.append(self._reason())
            self.operator.wait(self._armed, READY_S)
        self._tour.go_on()

    def look(self) -> dict[str, float]:
        """Returns memory [MiB], descriptors and threads of each process, and latencies [ms]."""
        found: dict[str, float] = {"descriptors": 0, "threads": 0}
        for process in psutil.Process(self.graph.pid).children(recursive=True):
            with contextlib.suppress(psutil.Error), process.oneshot():
                name = next((node for node in NODES if f"tendon.ros2_nodes.{node}" in process.cmdline()), "")
                if name:
                    found[f"{name} memory"] = process.memory_info().rss / 2**20
                    found["descriptors"] += process.num_fds()
                    found["threads"] += process.num_threads()
        for name, (node, meter) in METERS.items():
            status = self.operator.reports.status(node)
            latency = None if status is None or meter not in status.meters else status.meters[meter].latency
            if latency is not None:
                found[f"{name} p50"], found[f"{name} p99"] = latency.p50_ms, latency.p99_ms
        return found

    def end(self) -> int:
        """Ends the graph; returns its exit code."""
        self.graph.send_signal(signal.SIGINT)
        try:
            return self.graph.wait(30)
        finally:
            self.graph.kill()
            self.operator.close()


def main() -> int:
    """Returns 0 when nothing latched and the graph ended well."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hours", type=float, default=2.0, help="(%(default)s)")
    parser.add_argument("--part-min", type=float, default=10.0, help="minutes that a row is of (%(default)s)")
    parser.add_argument("--scene", type=int, default=100003)
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, "soak/hours")
    os.environ |= {"ROS_DOMAIN_ID": str(free_domain()), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    folder = Path(os.environ.setdefault("TENDON_STATE", tempfile.mkdtemp(prefix="tendon-state-")))
    soak = Soak(args.scene, folder)
    try:
        soak.ready()
        parts = max(1, round(args.hours * 60 / args.part_min))
        with progress_bar() as bar:
            task = bar.add_task("in motion", total=parts * args.part_min * 60)
            for part in range(parts):
                samples: dict[str, list[float]] = defaultdict(list)
                latches, begun_s = len(soak.latches), time.monotonic()
                while (spent_s := time.monotonic() - begun_s) < args.part_min * 60:
                    soak.lead()
                    if spent_s >= SAMPLE_S * len(samples["threads"]):
                        for name, value in soak.look().items():
                            samples[name].append(value)
                    bar.update(task, completed=part * args.part_min * 60 + spent_s)
                    time.sleep(0.2)
                bench.add({"after": f"{(part + 1) * args.part_min:g} min"}, row(samples, len(soak.latches) - latches))
    finally:
        code = soak.end()
    for reason in soak.latches:
        print(f"latched: {reason}")
    if code:
        print(f"the graph ended with {code}; its log is {folder / 'log'}")
    return bool(code or soak.latches)


def row(samples: dict[str, list[float]], latches: int) -> dict[str, Number]:
    """Returns medians of a part; of latencies the median of p50 and the largest p99."""
    values = {f"{node} memory": Number(statistics.median(samples[f"{node} memory"]), "MiB") for node in NODES}
    values |= {name: Number(statistics.median(samples[name])) for name in ("descriptors", "threads")}
    for name in METERS:
        if samples[f"{name} p50"]:
            values[f"{name} p50"] = Number(statistics.median(samples[f"{name} p50"]), "ms")
            values[f"{name} p99"] = Number(max(samples[f"{name} p99"]), "ms")
    return {**values, "latches": Number(latches)}


if __name__ == "__main__":
    sys.exit(main())
