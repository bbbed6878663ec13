"""Ctrl-C with home_on_exit: the robot goes home slowly, stops there, and only then does the graph end."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.ros2_nodes.running_graph import PROFILE, RunningGraph

pytestmark = pytest.mark.graph
HOME = PROFILE.vector("home")


def test_an_armed_robot_goes_home_before_the_graph_ends(tmp_path: Path) -> None:
    graph = RunningGraph(tmp_path / "log", "policy:=none", "home_on_exit:=true")
    try:
        graph.ready()
        graph.set_in_motion()
        graph.wait(lambda: bool(np.abs(graph.states[-1][1] - HOME).max() > 0.2), "away from home")
    finally:
        code = graph.end()
    assert code == 0, graph.log.read_text()
    assert "going home" in graph.log.read_text()
    assert np.abs(graph.states[-1][1] - HOME)[:7].max() < 0.02, "it is not at home"
    graph.check_limits()
