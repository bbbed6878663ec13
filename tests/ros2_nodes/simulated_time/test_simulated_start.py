"""Simulated time from the start: at the stated speed, beside the clock of somebody else, and never on hardware."""

from __future__ import annotations

import contextlib
import itertools
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from rosgraph_msgs.msg import Clock

from tendon.core.errors import StoppedError
from tendon.core.modes import PermissionState
from tendon.core.node_status import LatencyReport, MockStatus
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.clients.operator import Operator
from tests.ros2_nodes.running_graph import RunningGraph
from tests.ros2_nodes.tiny_bundle import write_tiny_bundle

pytestmark = pytest.mark.graph


@contextlib.contextmanager
def another_day() -> Iterator[None]:
    """Somebody plays back the clock of another day."""
    other, ended = Operator("foreign"), threading.Event()
    clock = other.node.create_publisher(Clock, "/clock", qos.NEWEST)

    def play() -> None:
        for k in itertools.count():
            clock.publish(Clock(clock=wire.time_message(2 * 10**18 + k * 10_000_000)))
            if ended.wait(0.01):
                return

    player = threading.Thread(target=play)
    player.start()
    try:
        yield
    finally:
        ended.set()
        player.join()
        other.close()


def refusal(graph: RunningGraph) -> str:
    """Tries to arm and returns why that is refused."""
    try:
        graph.operator.reset()
        graph.operator.arm()
    except StoppedError as error:
        return str(error)
    return ""


def test_a_graph_that_begins_beside_the_clock_of_another_day_is_armed_when_that_is_gone(tmp_path: Path) -> None:
    graph = None
    try:
        with another_day():
            graph = RunningGraph(tmp_path / "log", "backend:=mock", "policy:=none")
            graph.wait(lambda: "/clock" in refusal(graph), "the other clock is named")
        graph.ready()
        graph.set_in_motion()
        graph.check_limits()
    finally:
        if graph is not None:
            graph.end()


def chunk_latency(graph: RunningGraph) -> LatencyReport | None:
    meter = graph.policy().meters.get("chunk")
    return None if meter is None else meter.latency


@pytest.fixture(scope="module")
def stated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGraph]:
    """A policy on the mock, at half of real time."""
    folder = tmp_path_factory.mktemp("stated")
    arguments = ("speed:=0.5", "inference_delay_ms:=200", "instruction:=left")
    graph = RunningGraph(folder / "log", "backend:=mock", f"policy:={write_tiny_bundle(folder / 'tiny')}", *arguments)
    yield graph
    graph.end()


@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGSTOP, marks=pytest.mark.laws)])
def test_a_policy_on_the_mock_takes_the_stated_time_at_the_stated_speed_and_dead_or_frozen_does_not_stop_time(
    stated: RunningGraph, number: signal.Signals
) -> None:
    graph = stated
    graph.states.clear()
    graph.ready()
    graph.arm()
    graph.wait(lambda: np.abs(graph.states[-1][2]).max() > 0.02, "motion")
    graph.wait(lambda: chunk_latency(graph) is not None, "a chunk")
    assert chunk_latency(graph).p50_ms >= 200.0, "no answer before the stated time"
    graph.wait(lambda: chunk_latency(graph).p50_ms <= 260.0, "no more than the inference, and what comes before it")
    assert graph.operator.reports.newest(MockStatus).real_time_factor < 0.6
    assert graph.state() is PermissionState.ARMED
    try:
        graph.signal("policy_node", number)
        begin_ns = graph.now_ns()
        graph.wait(lambda: graph.now_ns() > begin_ns + 3_000_000_000, "time goes on")
        assert np.abs(graph.states[-1][2]).max() < 0.02
        graph.check_limits()
    finally:
        with contextlib.suppress(AssertionError, ProcessLookupError):
            graph.signal("policy_node", signal.SIGCONT)


@pytest.mark.parametrize("behind", ["hardware", ""])
def test_a_robot_refuses_simulated_time(behind: str) -> None:
    more = ["-p", f"backend:={behind}"] if behind else []
    command = [sys.executable, "-m", "tendon.ros2_nodes.control_node", "--ros-args", "-p", "use_sim_time:=true", *more]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 2
    assert "does not wait for /clock" in result.stderr
