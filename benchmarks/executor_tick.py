"""Cost of one control tick (executor, filter, stop, command) with a chunk ten times a second.

Example:
  python benchmarks/executor_tick.py --ticks 20000 --robot ur5e
"""

from __future__ import annotations

import argparse
import time

import harness
import numpy as np

from tendon.control.controller import Controller
from tendon.core.types import ActionChunk, Array, Observation
from tendon.robots.profile import load_profile
from tendon.robots.trajectory_controller import TrajectoryController

STEP_NS = 100_000_000
ROWS = 16


def line(name: str, times_ns: list[int]) -> str:
    """Returns one line of percentiles in microseconds."""
    p50, p99, most = np.percentile(times_ns, [50, 99, 100]) * 1e-3
    return f"{name:28s} mean {np.mean(times_ns) * 1e-3:7.1f}  p50 {p50:7.1f}  p99 {p99:7.1f}  max {most:8.1f} us"


def chunk_at(now_ns: int, home: Array, size: Array) -> ActionChunk:
    """Returns a chunk of a slow wave through home."""
    times_s = (now_ns + STEP_NS * np.arange(1, ROWS + 1)) * 1e-9
    rows = home + size * np.sin(1.3 * times_s)[:, None]
    return ActionChunk(actions=rows, start_ns=now_ns + STEP_NS, step_ns=STEP_NS, observation_stamp_ns=now_ns)


def main() -> None:
    """Prints the numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ticks", type=int, default=10000, help="(%(default)s)")
    parser.add_argument("--robot", default="panda", help="profile (%(default)s)")
    harness.add_arguments(parser)
    arguments = parser.parse_args()
    bench = harness.begin(arguments, "control/tick")
    profile = load_profile(arguments.robot)
    home = profile.vector("home")
    size = 0.2 * np.minimum(profile.vector("upper") - home, home - profile.vector("lower"))
    controller = Controller(profile)
    robot = TrajectoryController(profile.joint_names, home)
    times: dict[str, list[int]] = {"tick": [], "submit": [], "robot side: accept": [], "robot side: sample": []}
    targets = 0
    for k in range(arguments.ticks):
        now_ns = (k + 1) * controller.period_ns
        begin_ns = time.perf_counter_ns()
        position, velocity = robot.sample(now_ns)
        times["robot side: sample"].append(time.perf_counter_ns() - begin_ns)
        observation = Observation(stamp_ns=now_ns, joint_position=position, joint_velocity=velocity)
        if k and k % 10 == 0:
            chunk = chunk_at(now_ns, home, size)
            begin_ns = time.perf_counter_ns()
            controller.submit(chunk, now_ns)
            times["submit"].append(time.perf_counter_ns() - begin_ns)
        begin_ns = time.perf_counter_ns()
        tick = controller.tick(now_ns, observation)
        times["tick"].append(time.perf_counter_ns() - begin_ns)
        if k == 0:
            controller.arm()
        targets += tick.target is not None
        if tick.command is not None:
            begin_ns = time.perf_counter_ns()
            robot.accept_command(tick.command, now_ns)
            times["robot side: accept"].append(time.perf_counter_ns() - begin_ns)
    print(f"{len(home)} joints, {arguments.ticks} ticks, {targets} with a target")
    for name, values in times.items():
        print(line(name, values))
        bench.add({"robot": arguments.robot, "what": name}, harness.spread_of(np.array(values) * 1e-6, "ms"))


if __name__ == "__main__":
    main()
