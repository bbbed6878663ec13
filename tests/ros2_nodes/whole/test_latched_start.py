"""A graph that is to arm by itself, and finds the latch of the one before."""

from __future__ import annotations

from pathlib import Path

import pytest

from tendon.core.causes import Cause, Reason
from tendon.core.modes import PermissionState
from tendon.graph.domain import domain_id
from tendon.safety.latch import LatchFile, LatchRecord, state_folder
from tests.ros2_nodes.running_graph import RunningGraph

pytestmark = pytest.mark.graph


def test_a_latch_from_before_ends_it_and_says_the_way_out(tmp_path: Path) -> None:
    place = state_folder() / f"latch-panda-{domain_id()}.json"
    latch = LatchFile(place)
    latch.save(LatchRecord(state=PermissionState.LATCHED, reason=Reason(Cause.TRACKING, "panda_joint1 is too fast")))
    latch.close(5.0)
    graph = RunningGraph(tmp_path / "log", "backend:=mock", "policy:=none", "arm:=true")
    try:
        graph.wait(lambda: not graph.alive(), "its end")
        said = graph.log.read_text()
        assert "not armed: latched, panda_joint1 is too fast (latched before this start)" in said
        assert "start without arm:=true, then type tendon safety reset and tendon safety arm" in said
        assert not any(abs(velocity).max() for _, _, velocity in graph.states), "nothing moved"
    finally:
        graph.end()
        place.unlink()
