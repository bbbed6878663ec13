"""Simulated time in the real graph: pauses of the machine change nothing, and the dead do not stop it."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator

import pytest
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.parameter import Parameter
from rclpy.publisher import Publisher
from rosgraph_msgs.msg import Clock
from std_msgs.msg import Header

from tendon.core.causes import Cause
from tendon.core.errors import StoppedError
from tendon.core.modes import Mode, PermissionState
from tendon.core.node_status import MockStatus
from tendon.graph import topics
from tendon.robots.profile import load_profile
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.clients.operator import Operator
from tests.ros2_nodes.running_graph import RunningGraph

pytestmark = pytest.mark.graph
NODES = {
    "sim": ("sim_node", "camera_node", "control_node", "safety_monitor"),
    "mock": ("mock_node", "mock_camera_node", "control_node", "safety_monitor"),
}
ROBOTS = {"sim": "panda", "mock": "ur5e"}
HOUR_NS = 3_600_000_000_000
BOTH_IN_LAWS = pytest.mark.parametrize("backend", ["sim", pytest.param("mock", marks=pytest.mark.laws)], indirect=True)
"""Both keep time by the same code; `make test-laws` has the second too."""


@pytest.fixture(scope="module", params=list(NODES))
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def shared(backend: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGraph]:
    """One graph a backend: what a test kills is started again, what it freezes goes on."""
    robot = ROBOTS[backend]
    arguments = (f"robot:={robot}", f"backend:={backend}", "policy:=none")
    running = RunningGraph(tmp_path_factory.mktemp("graph") / "log", *arguments, profile=load_profile(robot))
    yield running
    running.end()


@pytest.fixture
def graph(shared: RunningGraph) -> Iterator[RunningGraph]:
    """That graph in motion; what it did before is forgotten."""
    shared.states.clear()
    shared.ready()
    shared.set_in_motion()
    yield shared
    shared.hold_still()
    shared.stop()


@BOTH_IN_LAWS
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


@BOTH_IN_LAWS
@pytest.mark.parametrize(
    ("node", "number"),
    [
        ("control_node", signal.SIGKILL),
        ("safety_monitor", signal.SIGSTOP),
        pytest.param("control_node", signal.SIGSTOP, marks=pytest.mark.laws),
        pytest.param("safety_monitor", signal.SIGKILL, marks=pytest.mark.laws),
    ],
)
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


@BOTH_IN_LAWS
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


@pytest.mark.parametrize("backend", ["sim"], indirect=True)
def test_joint_states_that_stop_while_time_goes_on_stop_the_robot_in_simulated_milliseconds(
    graph: RunningGraph,
) -> None:
    client = graph.operator.node.create_client(SetParametersAtomically, "sim_node/set_parameters_atomically")
    graph.wait(client.service_is_ready, "the simulator's parameters")
    muted = SetParametersAtomically.Request(parameters=[Parameter("muted", value=True).to_parameter_msg()])
    heard = SetParametersAtomically.Request(parameters=[Parameter("muted", value=False).to_parameter_msg()])
    graph.wait(client.call_async(muted).done, "joint states muted")
    try:
        graph.wait(lambda: graph.state() is PermissionState.LATCHED, "a latch")
        assert graph.cause() is Cause.STALE_JOINTS, graph.reason()
    finally:
        graph.wait(client.call_async(heard).done, "joint states again")


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


@pytest.mark.parametrize("backend", ["mock"], indirect=True)
def test_time_waits_for_no_process_that_only_says_it_is_a_node(graph: RunningGraph) -> None:
    begin_ns, backstop_s, named = graph.now_ns(), time.monotonic() + 60.0, False
    with foreign(graph, Header, topics.DONE) as done:
        while graph.now_ns() < begin_ns + 2_000_000_000 or not named:
            assert time.monotonic() < backstop_s, f"time stands still: {graph.operator.reports.status('mock_node')}"
            for name, pid, stamp_ns in (("control_node", 1, graph.now_ns()), ("safety_monitor", os.getpid(), 0)):
                done.publish(wire.done_message(wire.Done(node=name, pid=pid, stamp_ns=stamp_ns, commands=1)))
            status = graph.operator.reports.newest(MockStatus)
            named |= status is not None and "control_node (process 1: gone)" in status.absent
            time.sleep(0.05)
    assert (graph.state(), graph.mode()) == (PermissionState.ARMED, Mode.RUNNING), graph.log.read_text()[-2000:]
