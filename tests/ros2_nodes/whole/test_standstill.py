"""A PC that stands still for a moment, beside a robot side that does not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tendon.core.causes import Cause
from tendon.core.modes import PermissionState
from tests.ros2_nodes.running_graph import RunningGraph

pytestmark = pytest.mark.graph
APART_S = 10.5
"""Two standstills within 10 s latch, and should."""
TRIES = 5
"""A machine that is busy with tests stands still by itself too."""


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGraph]:
    log = tmp_path_factory.mktemp("graph") / "log"
    running = RunningGraph(log, "policy:=none", "clock:=realtime", "backend:=mock")
    yield running
    running.end()


@pytest.mark.parametrize("pause_s", [0.095, 0.25])
def test_the_robot_goes_on_by_itself_after_one_standstill(pause_s: float, graph: RunningGraph) -> None:
    """Of 95 ms half latched, by tracking: the robot side refused the first command. Of 250 ms it refused all."""
    graph.states.clear()
    graph.ready()
    for _ in range(TRIES):
        graph.set_in_motion()
        graph.pause(APART_S)
        graph.stand_still(pause_s)
        graph.pause(1.0)
        assert graph.cause() is not Cause.TRACKING, graph.reason()
        if graph.state() is PermissionState.ARMED:
            break
    graph.wait(graph.moving, "motion after the standstill", 6.0)
    graph.check_limits()
    graph.hold_still()
    graph.stop()
