"""The whole graph as real processes on real DDS: it comes up, obeys, stops, and survives what dies."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tendon.core.causes import Cause
from tendon.core.errors import StoppedError
from tendon.core.modes import Mode
from tendon.core.node_status import SimulationStatus
from tendon.graph.description import EXIT_REFUSED
from tests.ros2_nodes.running_graph import PROFILE, RunningGraph
from tests.ros2_nodes.tiny_bundle import write_tiny_bundle

pytestmark = pytest.mark.graph


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGraph]:
    """A simulated robot without a policy: the tests make chunks by hand."""
    running = RunningGraph(tmp_path_factory.mktemp("graph") / "log", "policy:=none")
    running.ready()
    yield running
    running.end()


@pytest.fixture
def stopped(graph: RunningGraph) -> Iterator[RunningGraph]:
    yield graph
    graph.hold_still()
    graph.wait(graph.operator.at_rest, "rest")


def test_it_moves_only_when_armed_and_the_stop_service_stops_and_latches(stopped: RunningGraph) -> None:
    graph = stopped
    graph.wave()
    time.sleep(1.0)
    assert graph.operator.at_rest(), "it moved without being armed"
    graph.set_in_motion()
    graph.operator.stop()
    graph.wait(graph.operator.at_rest, "rest after a stop")
    graph.wait(lambda: graph.mode() is Mode.LATCHED, "latched")
    with pytest.raises(StoppedError, match="reset first"):
        graph.operator.arm()
    graph.operator.reset()
    time.sleep(0.5)
    assert graph.operator.at_rest(), "reset moved it"
    graph.check_limits()


def test_a_chunk_with_wrong_joint_names_moves_nothing_and_latches_when_it_keeps_coming(stopped: RunningGraph) -> None:
    graph = stopped
    graph.arm()
    graph.wave(names=(*PROFILE.joint_names[:-1], "panda_finger_joint9"))
    graph.wait(lambda: graph.mode() is Mode.LATCHED, "latched")
    graph.wait(lambda: graph.cause() is Cause.CHUNKS, "the cause")
    assert "panda_finger_joint9" in graph.reason()
    assert graph.operator.at_rest()


def test_when_chunks_end_the_robot_comes_to_rest_and_goes_on_with_the_next(stopped: RunningGraph) -> None:
    graph = stopped
    graph.set_in_motion()
    graph.hold_still()
    graph.wait(graph.operator.at_rest, "rest by starvation")
    assert graph.mode() is Mode.RUNNING
    graph.wave()
    graph.wait(graph.moving, "motion again")


@pytest.mark.laws
@pytest.mark.parametrize("victim", ["control_node", "safety_monitor"])
def test_killed_in_motion_the_robot_comes_to_rest_and_no_restart_moves_it(stopped: RunningGraph, victim: str) -> None:
    graph = stopped
    graph.set_in_motion()
    pid = graph.pid(victim)
    graph.signal(victim, signal.SIGKILL)
    graph.wait(graph.operator.at_rest, "rest")
    graph.wait(lambda: graph.pid(victim) not in (None, pid), "the restart")
    graph.wait(lambda: graph.mode() is Mode.LATCHED, "latched after the restart")
    time.sleep(1.0)
    assert graph.operator.at_rest(), "a restart moved the robot"
    graph.check_limits()


def test_another_scene_is_loaded_by_parameter_at_rest(stopped: RunningGraph) -> None:
    from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
    from rcl_interfaces.srv import SetParametersAtomically

    operator = stopped.operator
    client = operator.node.create_client(SetParametersAtomically, "sim_node/set_parameters_atomically")
    stopped.wait(client.service_is_ready, "parameter service")
    stopped.wait(operator.at_rest, "rest")
    request = SetParametersAtomically.Request()
    value = ParameterValue(type=ParameterType.PARAMETER_INTEGER, integer_value=100_008)
    request.parameters = [Parameter(name="scene", value=value)]

    def taken() -> bool:
        future = client.call_async(request)
        stopped.wait(future.done, "answer")
        return bool(future.result().result.successful)

    stopped.wait(taken, "the robot side's last command is over too")
    stopped.wait(
        lambda: (status := operator.reports.newest(SimulationStatus)) is not None and status.scene.endswith("/100008"),
        "the scene",
    )


def test_a_second_graph_in_the_same_domain_is_refused_with_a_free_one(graph: RunningGraph) -> None:
    command = [sys.executable, "-m", "tendon.cli", "run", "policy:=none"]
    second = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert second.returncode == EXIT_REFUSED
    assert f"ROS domain {os.environ['ROS_DOMAIN_ID']} is busy" in second.stderr
    assert "ROS_DOMAIN_ID=" in second.stderr


def test_an_end_on_request_is_exit_code_zero_and_stops_the_robot_first(graph: RunningGraph) -> None:
    """After this the graph of this file is gone."""
    assert graph.end() == 0, graph.log.read_text()
    text = graph.log.read_text()
    assert re.search("stop was requested.*the robot is at rest", text, re.DOTALL), text


def test_a_bundle_for_another_robot_ends_the_graph_with_one_clear_error(tmp_path: Path) -> None:
    bundle = write_tiny_bundle(tmp_path / "other", robot="ur5e")
    environment = {**os.environ, "ROS_DOMAIN_ID": "101"}
    command = [sys.executable, "-m", "tendon.cli", "run", f"policy:={bundle}"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=90, env=environment)
    assert result.returncode == EXIT_REFUSED, result.stdout
    assert "bundle tiny: robot is ur5e, expected panda" in result.stderr
    assert not result.stdout, "a process was started"
