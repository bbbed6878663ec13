"""From a key or button to the command that answers it: real pty or event stream, node, control node, wall clock.

Presses at random moments on a mock Panda at rest. A chunk or command has come when this process receives it; the
command's own first point that moves is due 40 ms after its stamp, which is not counted.

Examples:
  python benchmarks/teleop_latency.py
  python benchmarks/teleop_latency.py --presses 50 --busy
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)]

import harness  # noqa: E402
import numpy as np  # noqa: E402
from harness import spread_of  # noqa: E402
from trajectory_msgs.msg import JointTrajectory  # noqa: E402

from tendon.cli.progress import CountingBar  # noqa: E402
from tendon.core.modes import Source  # noqa: E402
from tendon.graph import topics  # noqa: E402
from tendon.graph.domain import free_domain  # noqa: E402
from tendon.ros2_nodes import wire  # noqa: E402
from tendon.ros2_nodes.base import qos  # noqa: E402

QUIET_S = 0.45
"""Between two presses: the robot is at rest again."""
PATIENCE_S = 1.0


class Arrivals:
    """When a chunk that is held and a command that moves came first since `begin`."""

    def __init__(self, node: object, profile: object) -> None:
        self._names = profile.joint_names  # type: ignore[attr-defined]
        self.chunk_ns = self.command_ns = self._begun_ns = 0
        self._rest: np.ndarray | None = None
        subscribe = node.create_subscription  # type: ignore[attr-defined]
        chunks = topics.action_chunk(Source.TELEOP)
        subscribe(JointTrajectory, chunks, self._chunk, qos.EACH, raw=True)
        commands = topics.commands(profile.controllers[0])  # type: ignore[attr-defined]
        subscribe(JointTrajectory, commands, self._command, qos.EACH, raw=True)

    def begin(self) -> int:
        """Forgets what came before."""
        self.chunk_ns = self.command_ns = 0
        self._begun_ns = time.monotonic_ns()
        return self._begun_ns

    def _chunk(self, data: bytes) -> None:
        now_ns = time.monotonic_ns()
        if self._begun_ns and not self.chunk_ns and wire.held_chunk(data, self._names).hold_ns:
            self.chunk_ns = now_ns

    def _command(self, data: bytes) -> None:
        now_ns, rest = time.monotonic_ns(), wire.read_trajectory(data).position[-1]
        if self._begun_ns and not self.command_ns and self._rest is not None and np.abs(rest - self._rest).max() > 1e-9:
            self.command_ns = now_ns
        self._rest = rest


def measure(
    bench: harness.Bench,
    device: str,
    arrivals: Arrivals,
    press: Callable[[], None],
    release: Callable[[], None],
    n: int,
) -> None:
    """Presses n times and adds a row."""
    chunk_ms, command_ms, missed = [], [], 0
    with CountingBar(device, n) as bar:
        for k in range(n):
            time.sleep(QUIET_S + 0.04 * random.random())
            begun_ns = arrivals.begin()
            press()
            deadline = time.monotonic() + PATIENCE_S
            while not (arrivals.chunk_ns and arrivals.command_ns) and time.monotonic() < deadline:
                time.sleep(0.002)
            release()
            if arrivals.chunk_ns and arrivals.command_ns:
                chunk_ms.append((arrivals.chunk_ns - begun_ns) * 1e-6)
                command_ms.append((arrivals.command_ns - begun_ns) * 1e-6)
            else:
                missed += 1
            bar.advance(1, f"{k + 1 - missed} answered")
    for what, values in (("chunk sent", chunk_ms), ("command sent", command_ms)):
        found = spread_of(values, "ms")
        print(device, what, {name: f"{value.value:.1f}" for name, value in found.items()}, f"missed {missed}")
        counts = {"n": harness.Number(n), "unanswered": harness.Number(missed)}
        bench.add({"device": device, "to": what}, {**counts, **found})


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--presses", type=int, default=200, help="of each device (%(default)s)")
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, "teleop/latency")
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    os.environ.setdefault("ROS_DOMAIN_ID", str(free_domain()))
    os.environ["TENDON_STATE"] = tempfile.mkdtemp(prefix="tendon-state-")
    from tests.ros2_nodes.running_graph import RunningGraph
    from tests.ros2_nodes.teleop.person import ToolWatch, Typist
    from tests.ros2_nodes.teleop.strikes import Seat
    from tests.teleop import streams

    folder = Path(tempfile.mkdtemp(prefix="tendon-teleop-"))
    graph = RunningGraph(folder / "log", "backend:=mock", "policy:=none", "clock:=realtime")
    try:
        seat = Seat(graph, ToolWatch(graph.operator, graph.profile), folder)
        arrivals = Arrivals(graph.operator.node, graph.profile)
        graph.ready()
        graph.arm()

        def at(device: str, place: AbstractContextManager[Typist]) -> None:
            with place as typist:
                turns = iter(range(10**9))

                def press() -> None:
                    way = 1 if next(turns) % 2 else -1
                    if device == "keyboard":
                        typist.tap("a" if way > 0 else "d")
                    else:
                        key, stick = (streams.EV_KEY, streams.BTN_TL, 1), (streams.EV_ABS, streams.ABS_X, 32767 * way)
                        seat.frame(stick, key)

                def release() -> None:
                    if device != "keyboard":
                        seat.frame((streams.EV_KEY, streams.BTN_TL, 0), (streams.EV_ABS, streams.ABS_X, 0))

                press()
                release()
                measure(bench, device, arrivals, press, release, args.presses)

        at("keyboard", seat.typist())
        at("gamepad", seat.gamepad())
    finally:
        graph.end()


if __name__ == "__main__":
    main()
