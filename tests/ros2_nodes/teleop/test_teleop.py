"""The teleoperation node on a real pty, beside a graph of real processes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.ros2_nodes.running_graph import RunningGraph
from tests.ros2_nodes.teleop.person import ToolWatch
from tests.ros2_nodes.teleop.strikes import BOUND_S, STRIKES, Seat, Strike

pytestmark = pytest.mark.graph
QUICK = ("key released", "teleop_node killed (-9)", "gamepad unplugged")
"""Those that `make test` tries; `make test-laws` tries all."""


@pytest.fixture(scope="module")
def seat(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seat]:
    folder = tmp_path_factory.mktemp("teleop")
    graph = RunningGraph(folder / "log", "backend:=mock", "policy:=none")
    watch = ToolWatch(graph.operator, graph.profile)
    graph.ready()
    graph.arm()
    yield Seat(graph, watch, folder)
    graph.end()


@pytest.mark.parametrize(
    "strike",
    [pytest.param(each, marks=() if each.name in QUICK else pytest.mark.laws, id=each.name) for each in STRIKES],
)
def test_whatever_happens_to_the_hand_braking_begins_within_150_ms(seat: Seat, strike: Strike) -> None:
    """By the stamps of the commands, in simulated time; afterwards only a new press moves the robot."""
    assert strike.run(seat) <= BOUND_S
    seat.graph.check_limits()


def test_a_second_hand_is_refused(seat: Seat) -> None:
    """As soon as the first sits down: the second has to wait until the nodes of the graph have been found."""
    with seat.typist():
        second = [sys.executable, "-m", "tendon.cli", "teleop", "gamepad:/dev/null"]
        result = subprocess.run(second, capture_output=True, text=True, timeout=60)
    assert result.returncode, result.stdout
    assert "teleop_node runs in this graph already: only one may lead the robot" in result.stderr
    mode = seat.graph.mode()
    assert mode is not None and not mode.stopped
