"""Stop inputs with real processes: a button, an enabling device and a mode, from publishers as the field has them."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from std_msgs.msg import Bool, String, UInt8

from tendon.core.causes import Cause
from tendon.core.errors import StoppedError
from tendon.core.modes import PermissionState
from tendon.graph.description import EXIT_REFUSED
from tendon.robots.profile import load_profile
from tendon.ros2_nodes.base import qos
from tests import ROOT
from tests.ros2_nodes.running_graph import RunningGraph

pytestmark = pytest.mark.graph

EXAMPLE = ROOT / "docs" / "examples" / "two_joint_arm" / "profile.yaml"
INPUTS = [
    {"name": "emergency stop", "topic": "safety/external_stop", "permits": [False], "max_age_s": 1.0},
    {"name": "enabling device", "topic": "enabled", "permits": [True], "response": "hold", "max_age_s": 1.0},
    {"name": "robot mode", "topic": "driver/robot_mode", "permits": [7], "type": "std_msgs/msg/UInt8"},
]


def write_profile(folder: Path, inputs: list[dict[str, Any]]) -> Path:
    values = yaml.safe_load(EXAMPLE.read_text())
    values |= {key: str(EXAMPLE.parent / values[key]) for key in ("urdf", "collisions")} | {"stop_inputs": inputs}
    path = folder / "profile.yaml"
    path.write_text(yaml.safe_dump(values))
    return path


class Panel:
    """A button and an enabling device that are published 50 times a second, and a driver that publishes changes."""

    def __init__(self, graph: RunningGraph) -> None:
        node = graph.operator.node
        self.pushed, self.held, self.plugged = False, True, False
        self._button = node.create_publisher(Bool, "safety/external_stop", qos.NEWEST)
        self._enabling = node.create_publisher(Bool, "enabled", qos.STREAM)
        self._mode = node.create_publisher(UInt8, "driver/robot_mode", qos.LATCHED)
        self._going = True
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def set_mode(self, mode: int) -> None:
        self._mode.publish(UInt8(data=mode))

    def _run(self) -> None:
        while self._going:
            if self.plugged:
                self._button.publish(Bool(data=self.pushed))
            self._enabling.publish(Bool(data=self.held))
            time.sleep(0.02)

    def close(self) -> None:
        self._going = False
        self._thread.join()


@pytest.fixture(scope="module")
def wired(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningGraph, Panel]]:
    folder = tmp_path_factory.mktemp("graph")
    path = write_profile(folder, INPUTS)
    arguments = (f"robot:={path}", "backend:=mock", "policy:=none")
    graph = RunningGraph(folder / "log", *arguments, profile=load_profile(path), source="teleop")
    panel = Panel(graph)
    graph.operator.node.create_publisher(String, "control/source", qos.LATCHED).publish(String(data="teleop"))
    yield graph, panel
    panel.close()
    graph.end()


def refusal(graph: RunningGraph) -> str:
    try:
        graph.operator.arm()
    except StoppedError as error:
        return str(error)
    return ""


def test_each_input_has_to_permit_motion(wired: tuple[RunningGraph, Panel]) -> None:
    graph, panel = wired
    graph.ready()
    graph.wait(lambda: "stop input emergency stop was not heard yet" in refusal(graph), "a refusal")
    assert "stop input robot mode was not heard yet" in refusal(graph)
    panel.plugged = True
    panel.set_mode(3)
    graph.wait(lambda: "stop input robot mode is 3, motion needs 7" in refusal(graph), "a refusal")
    panel.set_mode(7)
    graph.set_in_motion()
    panel.held = False
    graph.wait(lambda: graph.cause() is Cause.STOP_INPUT, "the released device")
    graph.wait(graph.operator.at_rest, "rest")
    assert graph.state() is PermissionState.ARMED
    panel.held = True
    graph.wait(graph.moving, "motion, without arming again")
    panel.pushed = True
    graph.wait(lambda: graph.state() is PermissionState.LATCHED and graph.cause() is Cause.STOP_INPUT, "latched")
    graph.wait(graph.operator.at_rest, "rest")
    with pytest.raises(StoppedError, match="cannot reset: stop input emergency stop is true"):
        graph.operator.reset()
    panel.pushed = False
    graph.set_in_motion()
    panel.plugged = False
    graph.wait(lambda: "emergency stop has been silent for 1000 ms" in graph.reason(), "the unplugged button")
    assert graph.state() is PermissionState.LATCHED
    panel.plugged = True
    graph.set_in_motion()
    panel.set_mode(5)
    graph.wait(lambda: "robot mode is 5" in graph.reason() and graph.state() is PermissionState.LATCHED, "the mode")
    graph.check_limits()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"type": "ur_dashboard_msgs/Nothing"}, "type is ur_dashboard_msgs/Nothing, which is not installed"),
        ({"field": "date"}, "std_msgs/msg/UInt8 has no field date; did you mean data?"),
        ({"permits": [True]}, "data of std_msgs/msg/UInt8 is of type int, but permits has True, of type bool"),
    ],
)
def test_an_input_that_cannot_be_read_is_refused_at_the_start(
    change: dict[str, Any], says: str, tmp_path: Path
) -> None:
    path = write_profile(tmp_path, [INPUTS[2] | change])
    command = [sys.executable, "-m", "tendon.ros2_nodes.safety_monitor", "--ros-args", "-p", f"robot:={path}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == EXIT_REFUSED and f"stop input robot mode: {says}" in done.stderr
