"""From a hand's move to the command that answers it: real pty or stream of bytes, node, control node, wall clock.

Presses at random moments on a mock Panda at rest; an arm that is followed turns its first joint a little instead, and
says where it is 100 times a second. A chunk or command has come when this process receives it; the command's own first
point that moves is due 40 ms after its stamp, which is not counted.

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
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)]

import harness  # noqa: E402
import numpy as np  # noqa: E402
from harness import spread_of  # noqa: E402
from trajectory_msgs.msg import JointTrajectory  # noqa: E402

from tendon.cli.progress import CountingBar  # noqa: E402
from tendon.core.modes import Mode, Source  # noqa: E402
from tendon.graph import topics  # noqa: E402
from tendon.graph.domain import free_domain  # noqa: E402
from tendon.ros2_nodes import wire  # noqa: E402
from tendon.ros2_nodes.base import qos  # noqa: E402

if TYPE_CHECKING:
    from tests.ros2_nodes.running_graph import RunningGraph

QUIET_S = 0.45
"""Between two presses, at least; then the commands have to have stood still for `STILL_S`."""
STILL_S = 0.1
MOVES_RAD = 1e-6
"""From point to point; where they end, commands come closer for a second."""
TURN_RAD = 0.06
"""Of the joint of an arm that is followed."""
PATIENCE_S = 1.0


class Arrivals:
    """When a held chunk that leads elsewhere and a command that moves came first since `begin`."""

    def __init__(self, node: object, profile: object) -> None:
        self._names = profile.joint_names  # type: ignore[attr-defined]
        self.chunk_ns = self.command_ns = self.moved_ns = self._begun_ns = 0
        self._rest: np.ndarray | None = None
        self._led: np.ndarray | None = None
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
        now_ns, held = time.monotonic_ns(), wire.held_chunk(data, self._names)
        before, self._led = self._led, held.chunk.actions[-1] if held.hold_ns else None
        new = self._led is not None and (before is None or np.abs(self._led - before).max() > MOVES_RAD)
        if self._begun_ns and not self.chunk_ns and new:
            self.chunk_ns = now_ns

    def _command(self, data: bytes) -> None:
        now_ns, rest = time.monotonic_ns(), wire.read_trajectory(data).position[-1]
        if self._rest is not None and np.abs(rest - self._rest).max() > MOVES_RAD:
            self.moved_ns = now_ns
            self.command_ns = self.command_ns or (self._begun_ns and now_ns)
        self._rest = rest


def measure(
    bench: harness.Bench,
    device: str,
    graph: RunningGraph,
    arrivals: Arrivals,
    press: Callable[[], None],
    release: Callable[[], None],
    n: int,
    again: Callable[[], None] = lambda: None,
) -> None:
    """Presses n times and adds a row; a robot that was stopped is armed again, which the row says.

    Args:
        bench: takes the rows.
        device: of the rows.
        graph: whose robot is led.
        arrivals: of what answers.
        press: what the hand does.
        release: undoes it.
        n: how often.
        again: what the hand does when nothing answers: a hold that has ended counts after a release.
    """
    chunk_ms, command_ms, missed, stops = [], [], 0, []
    with CountingBar(device, n) as bar:
        for k in range(n):
            if graph.mode() is Mode.LATCHED:
                stops.append(graph.reason())
                graph.arm()
            time.sleep(QUIET_S)
            while time.monotonic_ns() - arrivals.moved_ns < STILL_S * 1e9:
                time.sleep(0.01)
            time.sleep(0.04 * random.random())
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
                again()
            bar.advance(1, f"{k + 1 - missed} answered")
    for what, values in (("chunk sent", chunk_ms), ("command sent", command_ms)):
        found = spread_of(values, "ms")
        print(device, what, {name: f"{value.value:.1f}" for name, value in found.items()}, f"missed {missed}")
        counts = {"n": harness.Number(n), "unanswered": harness.Number(missed)}
        note = f"armed again after: {'; '.join(stops)}" if stops else ""
        bench.add({"device": device, "to": what}, {**counts, **found}, note=note)


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--presses", type=int, default=200, help="of each device (%(default)s)")
    parser.add_argument("--arms", action="store_true", help="arms that are followed, alone")
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, "teleop/latency")
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    os.environ.setdefault("ROS_DOMAIN_ID", str(free_domain()))
    os.environ["TENDON_STATE"] = tempfile.mkdtemp(prefix="tendon-state-")
    from tests.ros2_nodes.running_graph import RunningGraph
    from tests.ros2_nodes.teleop.hands import LedArm
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

        turns = iter(range(10**9))

        def side() -> int:
            return 1 if next(turns) % 2 else -1

        def pressed(device: str, press: Callable[[], None], release: Callable[[], None]) -> None:
            press()
            release()
            measure(bench, device, graph, arrivals, press, release, args.presses)

        def keys() -> None:
            with seat.typist() as typist:
                pressed("keyboard", lambda: typist.tap("a" if side() > 0 else "d"), lambda: None)
            with seat.gamepad():
                key, stick = (streams.EV_KEY, streams.BTN_TL), (streams.EV_ABS, streams.ABS_X)
                pressed(
                    "gamepad",
                    lambda: seat.frame((*stick, 32767 * side()), (*key, 1)),
                    lambda: seat.frame((*key, 0), (*stick, 0)),
                )
            with seat.spacemouse():
                at_rest = streams.axes_report(1, 0, 0, 0)
                pressed(
                    "SpaceMouse",
                    lambda: seat.reports(
                        streams.axes_report(1, streams.FULL * side(), 0, 0), streams.buttons_report(1)
                    ),
                    lambda: seat.reports(streams.buttons_report(0), at_rest),
                )

        def led(device: str, place: AbstractContextManager[tuple[Typist, LedArm]]) -> None:
            with place as (typist, arm):

                def grip() -> None:
                    typist.release()
                    time.sleep(QUIET_S)
                    typist.hold(" ")
                    time.sleep(QUIET_S)

                grip()
                measure(
                    bench,
                    device,
                    graph,
                    arrivals,
                    lambda: arm.jump(TURN_RAD * side()),
                    lambda: None,
                    args.presses,
                    grip,
                )

        if not args.arms:
            keys()
        led("leader arm", seat.leader())
        led("LeRobot arm", seat.lerobot())
    finally:
        graph.end()


if __name__ == "__main__":
    main()
