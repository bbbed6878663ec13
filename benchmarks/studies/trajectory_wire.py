"""What a trajectory costs on its way into and out of its bytes: as arrays, beside rclpy's own messages.

Examples:
  python benchmarks/studies/trajectory_wire.py
  python benchmarks/studies/trajectory_wire.py --points 16 --joints 14
"""

from __future__ import annotations

import argparse
import sys
import time
from array import array
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # benchmarks

import harness
import numpy as np
from builtin_interfaces.msg import Duration
from harness import Number
from rclpy.serialization import deserialize_message, serialize_message
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from tendon.core.types import Array, SentTrajectory
from tendon.ros2_nodes.wire import SECOND_NS, read_trajectory, write_trajectory

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


def timed(work: Callable[[], object], repeats: int) -> dict[str, Number]:
    """Returns p50, p99 and max in microseconds."""
    times = []
    for _ in range(repeats):
        begin_ns = time.perf_counter_ns()
        work()
        times.append(time.perf_counter_ns() - begin_ns)
    return harness.spread_of(np.array(times) * 1e-3, "us")


def compare(
    bench: harness.Bench,
    case: dict[str, str],
    ours: Callable[[], object],
    theirs: Callable[[], object],
    repeats: int,
) -> None:
    """Prints and adds a row."""
    mine, other = timed(ours, repeats), timed(theirs, repeats)
    ratio = other["p50"].value / mine["p50"].value
    spread = (" / ".join(f"{number.value:.0f}" for number in numbers.values()) for numbers in (mine, other))
    print(f"| {' | '.join(case.values())} | {' | '.join(spread)} | {ratio:.1f} |", flush=True)
    values = {f"as arrays, {name}": number for name, number in mine.items()}
    values |= {f"rclpy, {name}": number for name, number in other.items()}
    bench.add(case, {**values, "ratio of p50": Number(ratio)})


def main() -> None:
    """Prints a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, nargs="+", default=[10, 25, 100], help="of a trajectory (%(default)s)")
    parser.add_argument("--joints", type=int, default=8, help="(%(default)s)")
    parser.add_argument("--repeats", type=int, default=3000, help="of each (%(default)s)")
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, "control/wire")
    print(f"{args.joints} joints")
    print("| points | what | as arrays, p50 / p99 / max us | rclpy, p50 / p99 / max us | ratio of p50 |")
    print("|---|---|---|---|---|")
    names = [f"joint_{k}" for k in range(args.joints)]
    for count in args.points:
        times_ns = [PERIOD_NS * k for k in range(1, count + 1)]
        position, velocity = np.random.default_rng(0).normal(size=(2, count, args.joints))
        data = by_rclpy(names, times_ns, position, velocity)
        sent = SentTrajectory(
            stamp_ns=0, joint_names=tuple(names), times_ns=times_ns, position=position, velocity=velocity
        )
        ours = partial(write_trajectory, sent)
        theirs = partial(by_rclpy, names, times_ns, position, velocity)
        compare(bench, {"points": str(count), "what": "write"}, ours, theirs, args.repeats)
        reading = partial(read_trajectory, data), partial(read_by_rclpy, data)
        compare(bench, {"points": str(count), "what": "read"}, *reading, args.repeats)


if __name__ == "__main__":
    main()
