"""What a moving robot's control loop feels of a recorder beside it."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from harness import Number

from tendon.core.node_status import ControlStatus

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT)]

from tests.soak.hours import Soak  # noqa: E402

SCENE = 100_003
SAMPLE_S = 5.0
"""The control node tells of so much each time."""


@contextmanager
def moving_robot() -> Iterator[Soak]:
    """Runs the whole graph, whose policy leads the robot from task to task on the wall clock."""
    robot = Soak(SCENE, Path(tempfile.mkdtemp(prefix="tendon-load-")))
    try:
        robot.ready()
        yield robot
    finally:
        robot.end()


def felt(robot: Soak, is_over: Callable[[], bool]) -> dict[str, Number]:
    """Keeps the robot in motion until something is over; returns how late its control ticks were meanwhile.

    Raises:
        SystemExit: it said nothing of that.
    """
    begun = _control(robot)
    p50, p99, most, due_s = list[float](), list[float](), 0.0, time.monotonic() + SAMPLE_S
    while not is_over() or not p50:
        robot.lead()
        if time.monotonic() >= due_s:
            due_s += SAMPLE_S
            latency = _control(robot).meters["tick"].latency
            if latency is not None:
                p50.append(latency.p50_ms)
                p99.append(latency.p99_ms)
                most = max(most, latency.max_ms)
        time.sleep(0.1)
    return {
        "tick late p50": Number(round(statistics.median(p50), 3), "ms"),
        "tick late p99": Number(round(statistics.median(p99), 3), "ms"),
        "tick late max": Number(round(most, 3), "ms"),
        "ticks missed": Number(_control(robot).overruns - begun.overruns),
    }


def _control(robot: Soak) -> ControlStatus:
    status = robot.operator.reports.status("control_node")
    if not isinstance(status, ControlStatus):
        raise SystemExit(f"the control node does not say how it is: {status}")
    return status
