"""How fast a word stops the arm: `tendon say stop` against the stop service, in the real graph.

Sets the simulated arm in motion by the policy, interrupts it at a random moment, and reads from what the robot's
controllers were commanded when braking began and when the arm was at rest. An interruption leaves the robot armed, and
the next task goes on by itself; the service latches, so reset and arm come after it.

Examples:
  python benchmarks/interruption.py
  python benchmarks/interruption.py --repeats 5 --bundle outputs/bundles/mine
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import harness
import numpy as np
from harness import Number
from rich.progress import track

from tendon.core.errors import StoppedError
from tendon.core.modes import Mode
from tendon.core.types import Array
from tendon.graph.domain import free_domain
from tendon.robots.profile import load_profile
from tendon.sim.tabletop.phrases import PHRASES
from tendon.sim.tabletop.scene import sample_scene
from tendon.sim.tabletop.tasks import all_tasks

if TYPE_CHECKING:
    from tendon.ros2_nodes.clients.operator import Operator

CLOCK = "clock:=realtime"
"""Simulated time waits for a slow machine; a reaction is a time of this one."""
READY_S, SETTLED_S, TRIES = 60.0, 2.5, 10
MOVING, REST = 0.1, 1e-3
"""Parts of the speed limits: a motion worth interrupting, and rest."""


def instructions(seed: int) -> list[str]:
    """Returns what can be asked for in a scene: to put each thing beside each other thing."""
    scene = sample_scene(seed)
    tasks = [task for task in all_tasks(scene.items) if task.reference is not None]
    names = [(scene.items[task.target].name, scene.items[task.reference or 0].name) for task in tasks]
    return [PHRASES[task.relation][0].format(x=x, y=y) for task, (x, y) in zip(tasks, names, strict=True)]


def after(times_ns: Array, speed: Array, called_ns: int) -> tuple[float, float]:
    """Returns [ms] from a call to the begin of the braking, and to rest.

    Args:
        times_ns: (k,) of each physics step.
        speed: (k,) of the fastest joint, as a part of its limit.
        called_ns: the call.
    """
    moving = np.flatnonzero((times_ns >= called_ns) & (speed >= REST))
    if not len(moving):
        return 0.0, 0.0
    part = slice(int(np.searchsorted(times_ns, called_ns)), int(moving[-1]) + 1)
    fast = np.flatnonzero(speed[part] >= 0.95 * speed[part].max())
    return (times_ns[part][fast[-1]] - called_ns) * 1e-6, (times_ns[moving[-1]] - called_ns) * 1e-6


def armed(operator: Operator) -> bool:
    """Returns whether the robot is armed; resets and arms it on the way."""
    mode = operator.mode()
    if mode in (Mode.LATCHED, Mode.STANDBY):
        with contextlib.suppress(StoppedError):  # not yet: the next call tries again
            operator.reset() if mode is Mode.LATCHED else operator.arm()
    return mode in (Mode.ARMED, Mode.RUNNING)


def main() -> None:
    """Runs the graph, interrupts and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", default="bundles/tabletop")
    parser.add_argument("--scene", type=int, default=100_003)
    parser.add_argument("--repeats", type=int, default=20, help="of each way (%(default)s)")
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, "switching/interruption")
    os.environ |= {"ROS_DOMAIN_ID": str(free_domain()), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    from trajectory_msgs.msg import JointTrajectory

    from tendon.graph import topics
    from tendon.ros2_nodes import wire
    from tendon.ros2_nodes.base import qos
    from tendon.ros2_nodes.clients.operator import Operator

    limits = load_profile("panda").vector("velocity")
    samples: list[tuple[int, float]] = []

    def commanded(data: bytes) -> None:
        sent = wire.read_trajectory(data)
        speeds = np.abs(sent.velocity / limits).max(axis=1).tolist()
        samples.extend((sent.stamp_ns + time_ns, speed) for time_ns, speed in zip(sent.times_ns, speeds, strict=True))

    graph = subprocess.Popen(
        [sys.executable, "-m", "tendon.cli", "run", f"policy:={args.bundle}", f"scene:={args.scene}", CLOCK],
        stdout=subprocess.DEVNULL,
    )
    operator = Operator("benchmark")
    operator.node.create_subscription(JointTrajectory, topics.COMMANDED, commanded, qos.EACH, raw=True)
    rng, words = random.Random(0), instructions(args.scene)
    ways: dict[str, Callable[[], object]] = {
        "`tendon say stop`": lambda: operator.say("stop"),
        "`tendon safety stop`": operator.stop,
    }
    found: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    try:
        if not operator.wait(lambda: operator.reports.status("policy_node") is not None and bool(samples), READY_S):
            raise SystemExit(f"the graph was not ready within {READY_S:.0f} s")
        for number in track(range(args.repeats * len(ways)), "interrupting"):
            way = list(ways)[number % len(ways)]
            operator.wait(lambda: armed(operator), READY_S)
            for _ in range(TRIES):
                operator.say(rng.choice(words))
                if operator.wait(lambda: samples[-1][1] > MOVING, 3.0):
                    break
            else:
                raise SystemExit(f"{TRIES} tasks did not set the robot in motion: {operator.mode()}")
            time.sleep(rng.uniform(0.0, 0.5))
            del samples[:-1]
            called_ns = time.time_ns()
            ways[way]()
            time.sleep(SETTLED_S)
            record = np.array(samples.copy())
            before, later = record[record[:, 0] <= called_ns, 1], record[record[:, 0] >= called_ns, 1]
            if before.size and later.size and later.max() > MOVING / 2:
                found[way].append(after(record[:, 0], record[:, 1], called_ns))
    finally:
        graph.send_signal(signal.SIGINT)
        graph.wait(60)
        operator.close()
    print("| way | n | braking begins p50 / max ms | at rest p50 / max ms |")
    print("|---|---|---|---|")
    for way, times in found.items():
        if times:
            braking, rest = np.array(times).T
            print(
                f"| {way} | {len(times)} | {np.median(braking):.0f} / {braking.max():.0f} "
                f"| {np.median(rest):.0f} / {rest.max():.0f} |"
            )
            bench.add(
                {"way": way},
                {
                    "n": Number(len(times)),
                    "braking begins, p50": Number(float(np.median(braking)), "ms"),
                    "braking begins, max": Number(float(braking.max()), "ms"),
                    "at rest, p50": Number(float(np.median(rest)), "ms"),
                    "at rest, max": Number(float(rest.max()), "ms"),
                },
            )
    if not any(found.values()):
        raise SystemExit("error: no motion was interrupted, each had ended before: try more --repeats")


if __name__ == "__main__":
    main()
