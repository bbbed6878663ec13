"""The service `control/home`, and Ctrl-C with home_on_exit: the graph ends once the robot has gone home and stopped."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tendon.core.errors import StoppedError
from tendon.core.modes import Mode
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


@pytest.mark.laws
def test_a_robot_that_is_walled_in_is_told_why_it_does_not_go_home_and_is_held_up_by_nothing(tmp_path: Path) -> None:
    """A box where the hand is at home: the answer names it, and the robot stays armed, at rest and well listened to."""
    place = tmp_path / "walled.yaml"
    place.write_text("bodies:\n  box:\n    - {centre: [0.43, 0.0, 0.32], size: [0.2, 0.2, 0.2]}\n")
    graph = RunningGraph(tmp_path / "log", "backend:=mock", "policy:=none", f"environment:={place}")
    try:
        graph.ready()
        with pytest.raises(StoppedError, match="home needs an armed robot, mode is standby"):
            graph.operator.home()
        graph.arm()
        with pytest.raises(StoppedError, match=r"no way home: at home panda_\w+ is \d+ mm inside box"):
            graph.operator.home()
        assert graph.mode() is Mode.ARMED and graph.operator.at_rest()
    finally:
        graph.end()
