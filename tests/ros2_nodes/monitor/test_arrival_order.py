"""Where processes hardly run, the clock is heard before what was sent earlier: the monitor lets that arrive first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tendon.core.causes import Cause
from tests.ros2_nodes.monitor.played import PATIENCE_S, PlayedGraph

pytestmark = pytest.mark.graph


@pytest.fixture
def monitor(tmp_path: Path) -> Iterator[PlayedGraph]:
    played = PlayedGraph(tmp_path)
    yield played
    played.close()


def test_a_heartbeat_that_is_overtaken_by_the_clock_is_waited_for_and_one_that_does_not_come_latches(
    monitor: PlayedGraph,
) -> None:
    monitor.arm()
    for _ in range(20):
        monitor.tick()
        assert monitor.through(PATIENCE_S)

    monitor.tick(beat=False)
    while monitor.through(0.2):
        monitor.tick(beat=False)
    monitor.beat()
    assert monitor.through(PATIENCE_S), "time goes on when the heartbeat is there"
    for _ in range(20):
        monitor.tick()
        assert monitor.through(PATIENCE_S)
    state = monitor.permission()
    assert state is not None and state.permission.armed, state

    last_beat_ns = monitor.now_ns
    while monitor.now_ns < last_beat_ns + 200_000_000:
        monitor.tick(beat=False)
        assert monitor.through(PATIENCE_S), "time does not stand still for the dead"
    state = monitor.permission()
    assert state is not None and state.permission.cause is Cause.HEARTBEAT
