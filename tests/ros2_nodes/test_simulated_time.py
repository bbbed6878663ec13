"""Simulated time in the real graph: pauses of the machine change nothing, the dead do not stop it, hardware refuses."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.parameter import Parameter
from rclpy.publisher import Publisher
from rosgraph_msgs.msg import Clock
from std_msgs.msg import Header

from tendon.core.errors import StoppedError
from tendon.core.modes import Mode, PermissionState
from tendon.core.node_status import LatencyReport, MockStatus
from tendon.robots.profile import load_profile
from tendon.ros2_nodes import qos, wire
from tendon.ros2_nodes.operator import Operator
from tests.ros2_nodes.running_graph import RunningGraph
from tests.ros2_nodes.tiny_bundle import write_tiny_bundle

pytestmark = pytest.mark.graph
NODES = {
    "sim": ("sim_node", "camera_node", "control_node", "safety_monitor"),
    "mock": ("mock_node", "mock_camera_node", "control_node", "safety_monitor"),
}
ROBOTS = {"sim": "panda", "mock": "ur5e"}
HOUR_NS = 3_600_000_000_000


@pytest.fixture(params=list(NODES))
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def graph(backend: str, tmp_path: Path) -> Iterator[RunningGraph]:
    robot = ROBOTS[backend]
    arguments = (f"robot:={robot}", f"backend:={backend}", "policy:=none")
    running = RunningGraph(tmp_path / "log", *arguments, profile=load_profile(robot))
    running.ready()
    running.set_in_motion()
    yield running
    running.end()


def chunk_latency(graph: RunningGraph) -> LatencyReport | None:
    meter = graph.policy().meters.get("chunk")
    return None if meter is None else meter.latency


def test_a_pause_of_every_process_is_nothing_to_the_graph(graph: RunningGraph, backend: str) -> None:
    pids = [pid for node in NODES[backend] if (pid := graph.pid(node)) is not None]
    assert len(pids) == len(NODES[backend])
    for pause_s in (0.02, 0.06, 0.25, 2.0):
        before_ns = graph.now_ns()
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(pause_s)
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        graph.wait(lambda before_ns=before_ns: graph.now_ns() > before_ns + 500_000_000, "time goes on")
        assert (graph.state(), graph.mode()) == (PermissionState.ARMED, Mode.RUNNING), graph.log.read_text()[-2000:]
    graph.check_limits()


@pytest.mark.parametrize("node", ["control_node", "safety_monitor"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_node_that_is_dead_or_frozen_does_not_stop_time_and_the_robot_stops(
    graph: RunningGraph, node: str, number: signal.Signals
) -> None:
    pid = graph.pid(node)
    assert pid is not None
    os.kill(pid, number)
    try:
        begin_ns = graph.now_ns()
        graph.wait(lambda: graph.now_ns() > begin_ns + 1_500_000_000, "time goes on")
        assert not graph.moving()
        graph.check_limits()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
    graph.wait(lambda: graph.state() in (PermissionState.LATCHED, PermissionState.STANDBY), "no permission")


def test_a_robot_whose_process_is_killed_takes_time_along_and_is_not_armed_when_it_is_back(
    graph: RunningGraph, backend: str
) -> None:
    """Its clock starts again later than before; the robot stands where it begins."""
    pid, before_ns = graph.pid(NODES[backend][0]), graph.now_ns()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    graph.wait(lambda: graph.now_ns() > before_ns + 1_500_000_000, "time goes on")
    graph.wait(lambda: graph.state() is PermissionState.LATCHED, "a latch")
    heard = len(graph.states)
    graph.wait(lambda: len(graph.states) > heard, "a joint state of the robot that is back")
    assert not graph.moving()
    times = [state[0] for state in graph.states]
    assert times == sorted(times), "time went back"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_policy_on_the_mock_takes_the_stated_time_at_the_stated_speed_and_dead_or_frozen_does_not_stop_time(
    tmp_path: Path, number: signal.Signals
) -> None:
    bundle = write_tiny_bundle(tmp_path / "tiny")
    stated = ("speed:=0.5", "inference_delay_ms:=200", "instruction:=left")
    graph = RunningGraph(tmp_path / "log", "backend:=mock", f"policy:={bundle}", *stated)
    try:
        graph.ready()
        graph.arm()
        graph.wait(lambda: np.abs(graph.states[-1][2]).max() > 0.02, "motion")
        graph.wait(lambda: chunk_latency(graph) is not None, "a chunk")
        delay_ms = chunk_latency(graph).p50_ms
        assert 200.0 <= delay_ms <= 260.0, "from observation to chunk: the inference, and what comes before it"
        assert graph.operator.reports.newest(MockStatus).real_time_factor < 0.6
        assert graph.state() is PermissionState.ARMED
        graph.signal("policy_node", number)
        begin_ns = graph.now_ns()
        graph.wait(lambda: graph.now_ns() > begin_ns + 3_000_000_000, "time goes on")
        assert np.abs(graph.states[-1][2]).max() < 0.02
        graph.check_limits()
    finally:
        with contextlib.suppress(AssertionError, ProcessLookupError):
            graph.signal("policy_node", signal.SIGCONT)
        graph.end()


@pytest.mark.parametrize("backend", ["sim"], indirect=True)
def test_joint_states_that_stop_while_time_goes_on_stop_the_robot_in_simulated_milliseconds(
    graph: RunningGraph,
) -> None:
    client = graph.operator.node.create_client(SetParametersAtomically, "sim_node/set_parameters_atomically")
    graph.wait(client.service_is_ready, "the simulator's parameters")
    muted = SetParametersAtomically.Request(parameters=[Parameter("muted", value=True).to_parameter_msg()])
    graph.wait(client.call_async(muted).done, "joint states muted")
    graph.wait(lambda: graph.state() is PermissionState.LATCHED, "a latch")
    assert "joint state" in graph.reason()


@contextlib.contextmanager
def foreign(graph: RunningGraph, kind: type, topic: str) -> Iterator[Publisher]:
    """A publisher of no node of the graph, in a node of that name for anybody to see."""
    other = Operator("foreign")
    try:
        publisher = other.node.create_publisher(kind, topic, qos.NEWEST)
        graph.wait(lambda: publisher.get_subscription_count() > 0, f"subscribers of {topic}")
        yield publisher
    finally:
        other.close()


def time_message(time_ns: int) -> Clock:
    return Clock(clock=wire.time_message(time_ns))


@pytest.mark.parametrize("backend", ["mock"], indirect=True)
def test_times_that_somebody_else_publishes_stop_the_robot_and_leave_no_trace_when_he_is_gone(
    graph: RunningGraph, backend: str
) -> None:
    """One is enough. No node takes it, ends or has to be started again."""
    pids = [graph.pid(node) for node in NODES[backend]]
    for stray_ns in (graph.now_ns() + HOUR_NS, 2**31 * 10**9 - 1, graph.now_ns() - HOUR_NS, 0, -5 * 10**9):
        with foreign(graph, Clock, "/clock") as clock:
            clock.publish(time_message(stray_ns))
            graph.wait(lambda: graph.state() is PermissionState.LATCHED, f"a latch after {stray_ns}")
            assert "/clock" in graph.reason()
            for _ in range(20):
                clock.publish(time_message(stray_ns))
                time.sleep(0.02)
            with pytest.raises(StoppedError, match="/clock"):
                graph.operator.reset()
        graph.hold_still()
        graph.ready()
        graph.set_in_motion()
    assert [graph.pid(node) for node in NODES[backend]] == pids, graph.log.read_text()[-2000:]
    times = [state[0] for state in graph.states]
    assert times == sorted(times)
    graph.check_limits()


@contextlib.contextmanager
def another_day() -> Iterator[None]:
    """Somebody plays back the clock of another day."""
    other, ended = Operator("foreign"), threading.Event()
    clock = other.node.create_publisher(Clock, "/clock", qos.NEWEST)

    def play() -> None:
        for k in itertools.count():
            clock.publish(time_message(2 * 10**18 + k * 10_000_000))
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


@pytest.mark.parametrize("backend", ["mock"], indirect=True)
def test_time_waits_for_no_process_that_only_says_it_is_a_node(graph: RunningGraph) -> None:
    begin_ns, backstop_s = graph.now_ns(), time.monotonic() + 60.0
    with foreign(graph, Header, "sim/done") as done:
        while graph.now_ns() < begin_ns + 2_000_000_000:
            assert time.monotonic() < backstop_s, f"time stands still: {graph.operator.reports.status('mock_node')}"
            for name, pid, stamp_ns in (("control_node", 1, graph.now_ns()), ("safety_monitor", os.getpid(), 0)):
                done.publish(Header(stamp=wire.time_message(stamp_ns), frame_id=f"{name} {pid} 1"))
            time.sleep(0.05)
    graph.wait(lambda: "control_node (process 1: gone)" in graph.operator.reports.newest(MockStatus).absent, "its name")
    assert (graph.state(), graph.mode()) == (PermissionState.ARMED, Mode.RUNNING), graph.log.read_text()[-2000:]


@pytest.mark.parametrize("behind", ["hardware", ""])
def test_a_robot_refuses_simulated_time(behind: str) -> None:
    more = ["-p", f"backend:={behind}"] if behind else []
    command = [sys.executable, "-m", "tendon.ros2_nodes.control_node", "--ros-args", "-p", "use_sim_time:=true", *more]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 2
    assert "does not wait for /clock" in result.stderr
