"""What a trajectory costs on its way into and out of its bytes: as arrays, beside rclpy's own messages.

Examples:
  python benchmarks/trajectory_wire.py
  python benchmarks/trajectory_wire.py --points 16 --joints 14
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from array import array
from collections.abc import Callable
from functools import partial

import numpy as np
from builtin_interfaces.msg import Duration
from rclpy.serialization import deserialize_message, serialize_message
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from tendon.core.types import Array
from tendon.ros2_nodes.trajectory_wire import SECOND_NS, read_trajectory, write_trajectory

PERIOD_NS = 10_000_000


def by_rclpy(names: list[str], times_ns: list[int], position: Array, velocity: Array) -> bytes:
    """Returns the bytes as rclpy makes them, in the fastest way it has."""
    message = JointTrajectory(joint_names=names)
    for time_ns, row, rate in zip(times_ns, position, velocity, strict=True):
        second, nanosecond = divmod(time_ns, SECOND_NS)
        point = JointTrajectoryPoint(time_from_start=Duration(sec=second, nanosec=nanosecond))
        point.positions, point.velocities = array("d", row.tobytes()), array("d", rate.tobytes())
        message.points.append(point)
    return bytes(serialize_message(message))


def read_by_rclpy(data: bytes) -> tuple[list[int], Array, Array]:
    """Returns times, positions and velocities out of a message of rclpy's."""
    points = deserialize_message(data, JointTrajectory).points
    times_ns = [point.time_from_start.sec * SECOND_NS + point.time_from_start.nanosec for point in points]
    return times_ns, np.array([point.positions for point in points]), np.array([point.velocities for point in points])


def timed(work: Callable[[], object], repeats: int) -> Array:
    """Returns (p50, p99, max) in microseconds."""
    times = []
    for _ in range(repeats):
        begin_ns = time.perf_counter_ns()
        work()
        times.append(time.perf_counter_ns() - begin_ns)
    return np.asarray(np.percentile(times, [50, 99, 100]) * 1e-3)


def compare(count: int, what: str, ours: Callable[[], object], theirs: Callable[[], object], repeats: int) -> None:
    """Prints a row."""
    mine, other = timed(ours, repeats), timed(theirs, repeats)
    spread = (" / ".join(f"{value:.0f}" for value in values) for values in (mine, other))
    print(f"| {count} | {what} | {' | '.join(spread)} | {other[0] / mine[0]:.1f} |", flush=True)


def main() -> None:
    """Prints a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, nargs="+", default=[10, 25, 100], help="of a trajectory (%(default)s)")
    parser.add_argument("--joints", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=3000)
    args = parser.parse_args()
    print(f"{os.cpu_count()} x {platform.machine()}, Python {platform.python_version()}, {args.joints} joints")
    print("| points | what | as arrays, p50 / p99 / max us | rclpy, p50 / p99 / max us | ratio of p50 |")
    print("|---|---|---|---|---|")
    names = [f"joint_{k}" for k in range(args.joints)]
    for count in args.points:
        times_ns = [PERIOD_NS * k for k in range(1, count + 1)]
        position, velocity = np.random.default_rng(0).normal(size=(2, count, args.joints))
        data = by_rclpy(names, times_ns, position, velocity)
        ours = partial(write_trajectory, 0, names, times_ns, position, velocity)
        compare(count, "write", ours, partial(by_rclpy, names, times_ns, position, velocity), args.repeats)
        compare(count, "read", partial(read_trajectory, data), partial(read_by_rclpy, data), args.repeats)


if __name__ == "__main__":
    main()
