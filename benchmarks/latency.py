"""The real graph, measured: observation stamp to command, control tick jitter, cores of each node, physics, rendering.

Starts `tendon run` in a free ROS domain, lets the policy do one task after the other, and reads what the nodes say of
themselves in `diagnostics`. p50 is the median over windows of 5 s, p99 the worst window's, max the largest of all.

Examples:
  python benchmarks/latency.py
  python benchmarks/latency.py --bundle outputs/bundles/mine --seconds 20
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import harness
import psutil
from harness import Number

from tendon.core.modes import Mode
from tendon.core.node_status import ControlStatus
from tendon.graph.domain import free_domain
from tendon.robots.profile import load_profile
from tendon.safety.reports import ControlState

if TYPE_CHECKING:
    from tendon.ros2_nodes.clients.operator import Operator

CLOCK = "clock:=realtime"
"""Simulated time waits for a slow machine; a latency is a time of this one."""
WINDOW_S = 5.0
READY_S = 60.0
STREAMS = (
    ("control tick: late by", "control_node", "tick"),
    ("joint state stamp -> control node", "control_node", "joint_states"),
    ("observation stamp -> observation complete", "policy_node", "observation"),
    ("inference", "policy_node", "inference"),
    ("observation stamp -> chunk published", "policy_node", "chunk"),
    ("observation stamp -> command sent", "control_node", "chunk"),
    ("command stamp -> robot", "sim_node", "command"),
    ("physics step: late by", "sim_node", "physics"),
    ("exposure -> scene image published", "camera_node", "scene"),
    ("exposure -> wrist image published", "camera_node", "wrist"),
)


def main() -> None:
    """Runs the graph, collects and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", default="bundles/tabletop")
    parser.add_argument("--scene", type=int, default=100003)
    parser.add_argument("--seconds", type=float, default=60.0)
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, "graph/latency", "graph/processors", "graph/simulation")
    print(f"bundle {args.bundle}")
    measure_graph(bench, args.bundle, args.scene, args.seconds)
    measure_simulation(bench, args.scene)


def measure_graph(bench: harness.Bench, bundle: str, scene: int, seconds: float) -> None:
    """Prints and adds a table of latencies of the running graph."""
    os.environ |= {"ROS_DOMAIN_ID": str(free_domain()), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    os.environ["TENDON_STATE"] = tempfile.mkdtemp(prefix="tendon-state-")  # an earlier run may have ended latched
    from harness.tour import Tour

    from tendon.ros2_nodes.clients.operator import Operator

    command = [sys.executable, "-m", "tendon.cli", "run", f"policy:={bundle}"]
    graph = subprocess.Popen([*command, f"scene:={scene}", "arm:=true", CLOCK], stdout=subprocess.PIPE, text=True)
    operator = Operator("benchmark")
    try:
        tour = Tour(operator, scene)
        if not operator.wait(lambda: (mode := operator.mode()) is not None and mode.moving, READY_S):
            raise SystemExit(f"the robot was not armed within {READY_S:.0f} s")
        with _cores(graph.pid) as resting:
            time.sleep(seconds / 2)
        tour.go_on()
        if not operator.wait(lambda: operator.mode() is Mode.RUNNING, READY_S):
            raise SystemExit(f"the robot did not move within {READY_S:.0f} s")
        time.sleep(WINDOW_S + 1.0)
        before = _overruns(operator)
        windows: dict[tuple[str, str], list[tuple[float, ...]]] = {(node, name): [] for _, node, name in STREAMS}
        rates: dict[tuple[str, str], float] = {}
        with _cores(graph.pid) as cores:
            for _ in range(max(1, round(seconds / WINDOW_S))):
                for _ in range(round(WINDOW_S)):
                    tour.go_on()
                    time.sleep(1.0)
                for node, name in windows:
                    status = operator.reports.status(node)
                    meter = None if status is None else status.meters.get(name)
                    rates[node, name] = float("nan") if meter is None else meter.rate_hz
                    if meter is not None and meter.latency is not None:
                        windows[node, name].append((meter.latency.p50_ms, meter.latency.p99_ms, meter.latency.max_ms))
        overruns = _overruns(operator) - before
        state = operator.reports.newest(ControlState)
        mode, reason = ("unknown", "") if state is None else (state.mode.value, state.reason)
    finally:
        graph.send_signal(signal.SIGINT)
        graph.communicate(timeout=60)
        operator.close()
    print("| what | rate Hz | p50 ms | p99 ms | max ms |")
    print("|---|---|---|---|---|")
    for text, node, name in STREAMS:
        if rows := windows[node, name]:
            p50, p99, most = statistics.median(row[0] for row in rows), max(r[1] for r in rows), max(r[2] for r in rows)
            print(f"| {text} | {rates[node, name]:.1f} | {p50:.2f} | {p99:.2f} | {most:.2f} |")
            rate = {} if rates[node, name] != rates[node, name] else {"rate": Number(rates[node, name], "Hz")}
            spread = {"p50": Number(p50, "ms"), "p99": Number(p99, "ms"), "max": Number(most, "ms")}
            bench.add({"what": text}, {**rate, **spread}, claim="graph/latency")
    print(f"control ticks missed in {seconds:.0f} s: {overruns}; mode at the end: {mode} {reason}")
    _add_cores(bench, cores, "")
    _add_cores(bench, resting, ", armed and at rest")
    missed, ended = Number(overruns, f"in {seconds:.0f} s"), f"ended {mode} {reason}".strip()
    bench.add({"what": "control ticks missed"}, {"missed": missed}, claim="graph/latency", note=ended)
    whole, inference = windows["control_node", "chunk"], windows["policy_node", "inference"]
    if whole and inference:
        spent = statistics.median(row[0] for row in inference)
        p50 = statistics.median(row[0] for row in whole) - spent
        p99 = max(row[1] for row in whole) - spent
        print(
            f"observation stamp -> command sent, beyond inference ({spent:.1f} ms): p50 {p50:.1f} ms, p99 {p99:.1f} ms"
        )
        values = {"p50": Number(p50, "ms"), "p99": Number(p99, "ms")}
        bench.add({"what": "observation stamp -> command sent, beyond inference"}, values, claim="graph/latency")


def _processor_s(pid: int) -> dict[str, float]:
    """Returns the processor time that each node of a graph has used, by its name."""
    used = {}
    for process in psutil.Process(pid).children():
        module = next((word for word in process.cmdline() if word.startswith("tendon.ros2_nodes.")), "")
        if name := module.rpartition(".")[2]:
            times = process.cpu_times()
            used[name] = times.user + times.system
    return used


@contextmanager
def _cores(pid: int) -> Iterator[dict[str, float]]:
    """Gives a mapping that holds, in the end, how many cores each node of a graph took meanwhile, by its name."""
    cores: dict[str, float] = {}
    used_s, begin_s = _processor_s(pid), time.monotonic()
    yield cores
    lasted_s = time.monotonic() - begin_s
    cores |= {node: (s - used_s[node]) / lasted_s for node, s in _processor_s(pid).items() if node in used_s}


def _add_cores(bench: harness.Bench, cores: dict[str, float], when: str) -> None:
    safety = sum(cores[node] for node in ("control_node", "safety_monitor"))
    sums = ("control_node and safety_monitor", safety), ("all", sum(cores.values()))
    for what, share in (*sorted(cores.items()), *sums):
        print(f"{what}{when}: {share:.3f} cores")
        bench.add({"what": what + when}, {"cores": Number(share)}, claim="graph/processors")


def _overruns(operator: Operator) -> int:
    """Returns how many control periods were missed since the start."""
    status = operator.reports.newest(ControlStatus)
    if status is None:
        raise SystemExit("control_node says nothing")
    return status.overruns


def measure_simulation(bench: harness.Bench, scene: int) -> None:
    """Prints and adds how fast physics and rendering go when nothing waits for them."""
    from tendon.evaluation.suites import load_suite
    from tendon.ros2_nodes.stand_ins.simulated_robot import SimulatedRobot
    from tendon.sim.engine import PHYSICS_HZ

    profile, suite = load_profile("panda"), load_suite("tabletop").for_graph()
    robot = SimulatedRobot(profile, suite, suite.scene(profile, scene))
    begin, steps = time.perf_counter(), 3000
    for k in range(steps):
        robot.step(k * 1_000_000_000 // PHYSICS_HZ)
    rate = steps / (time.perf_counter() - begin)
    print(f"physics: {rate:.0f} steps/s, {rate / PHYSICS_HZ:.1f} times real time")
    faster = {"rate": Number(rate, "Hz"), "times real time": Number(rate / PHYSICS_HZ)}
    bench.add({"what": "physics steps"}, faster, claim="graph/simulation")
    for camera in robot.world.profile.cameras:
        begin, views = time.perf_counter(), 200
        for _ in range(views):
            robot.world.render(camera.name)
        spent_ms = (time.perf_counter() - begin) / views * 1e3
        size = f"{camera.name} {camera.width}x{camera.height}"
        print(f"render {size}: {spent_ms:.2f} ms a view, {1e3 / spent_ms:.0f}/s")
        bench.add({"what": f"views of {size}"}, {"rate": Number(1e3 / spent_ms, "Hz")}, claim="graph/simulation")
    robot.world.close()


if __name__ == "__main__":
    main()
