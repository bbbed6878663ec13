"""Poison that was found, each with what it did before it was mended."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import Point32
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import ChannelFloat32, JointState, PointCloud
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from tendon.control.clearance.people import MAX_PEOPLE
from tendon.control.executor import MAX_LEAD_ROWS, Executor, Placement
from tendon.core.errors import InvalidDataError, MismatchError
from tendon.core.filter_input import FilterInput
from tendon.core.modes import PermissionState
from tendon.core.node_status import LatencyReport, Level, MeterReport, NodeStatus
from tendon.core.permission import EVENT_AHEAD_NS, EVENTS_MISSED, Permission, PermissionFollower
from tendon.core.timekeeper import Timekeeper
from tendon.core.types import ActionChunk, SentTrajectory
from tendon.graph import topics
from tendon.robots.profile import load_profile
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.clients import reports
from tendon.ros2_nodes.wire.sizes import LARGEST, PAIRS, check_size
from tendon.safety.laws import CommandLaws, Delivery
from tendon.safety.monitor import position_slack
from tendon.safety.response import Requests, Response
from tests.poison import messages
from tests.poison.cases import running
from tests.poison.mutation import HOUR_NS
from tests.poison.subjects import wire_bytes

PANDA = load_profile("panda")


def test_the_control_node_follows_its_monitor_after_a_forged_permission(tmp_path: Path) -> None:
    """An event out of reach was kept as the newest, and no true one was followed until the node was killed."""
    with running("control_node", tmp_path) as control:
        assert control.works() == ""
        for event in (control.now_ns() + HOUR_NS, 10**300):
            forged = Permission(state=PermissionState.STANDBY, event=event, reason="")
            control.give(wire.PERMISSION.name, wire.PERMISSION.encode(forged, control.now_ns()))
            control.node._step(control.now_ns(), 0)
        control.node._controller.stop(messages.permissions(1)[2].latch)
        assert control.works() == ""


def test_a_follower_keeps_to_events_that_a_monitor_can_have_come_to() -> None:
    follower = PermissionFollower(lambda: 0, 10**9, lambda: 0)
    follower.receive(Permission(state=PermissionState.STANDBY, event=EVENT_AHEAD_NS, reason=""))
    assert follower.demand().event == EVENT_AHEAD_NS
    with pytest.raises(InvalidDataError, match="not followed"):
        follower.receive(Permission(state=PermissionState.ARMED, event=2 * EVENT_AHEAD_NS + 1, reason=""))
    follower.receive(Permission(state=PermissionState.ARMED, event=EVENT_AHEAD_NS + 1, reason=""))
    assert follower.demand().arm


def test_no_row_of_permissions_leads_events_away_from_the_time() -> None:
    """Each could be 5 s beyond the last: after an hour of them no monitor was followed for years."""
    follower = PermissionFollower(lambda: 0, 10**9, lambda: 0)
    follower.receive(Permission(state=PermissionState.STANDBY, event=0, reason=""))
    for _ in range(1000):
        event = follower.demand().event
        for ahead in (EVENT_AHEAD_NS, EVENTS_MISSED):
            with contextlib.suppress(InvalidDataError):
                follower.receive(Permission(state=PermissionState.ARMED, event=event + ahead, reason=""))
    assert follower.demand().event <= EVENT_AHEAD_NS + 1000 * EVENTS_MISSED


@pytest.mark.parametrize("step_ns", [2_000_000, 100_000_000])
def test_a_chunk_far_ahead_is_not_led_into_by_hundreds_of_rows(step_ns: int) -> None:
    """Rows 2 ms apart that begin in a second took 20 ms of the control tick, rows 1 us apart 11 s and gigabytes."""
    executor, home = Executor(7, 10**9), np.zeros(7)
    start_ns = (MAX_LEAD_ROWS + 1) * 2_000_000
    chunk = ActionChunk(actions=np.zeros((2, 7)), start_ns=start_ns, step_ns=step_ns, observation_stamp_ns=0)
    expected = Placement.AHEAD if step_ns == 2_000_000 else Placement.ACCEPTED
    assert executor.submit(chunk, 0, (home, home)) is expected


def test_one_point_at_once_breaks_a_law_and_divides_by_nothing() -> None:
    laws = CommandLaws(PANDA, PANDA.controllers[0], position_slack(PANDA))
    names = tuple(PANDA.controllers[0].joints)
    goal = PANDA.vector("home")[None, : len(names)]
    command = SentTrajectory(stamp_ns=1, joint_names=names, times_ns=[0], position=goal, velocity=np.zeros_like(goal))
    assert laws.check(command, Delivery(measured=goal[0], measured_ns=1)) is None
    breach = laws.check(replace(command, stamp_ns=2), Delivery(measured=goal[0] + 0.1, measured_ns=2))
    assert breach is not None and breach.law == "start"


def test_a_time_with_a_second_of_nanoseconds_is_none() -> None:
    """Read as one it may lie beyond what a Time can hold, so that whoever repeats the stamp says another."""
    message = JointState()
    message.header.stamp.sec, message.header.stamp.nanosec = 2**31 - 1, 2**32 - 1
    with pytest.raises(InvalidDataError, match="nanoseconds"):
        wire.time_ns(message.header.stamp)
    with pytest.raises(InvalidDataError, match="nanoseconds"):
        wire.read_stamp_ns(serialize_message(message))


def large(kind: str) -> tuple[type, bytes]:
    """Returns a message that rclpy would need 10 ms to a second for."""
    if kind == "pairs":
        pairs = [KeyValue(key=f"k{k}", value="v") for k in range(PAIRS + 1)]
        return DiagnosticArray, serialize_message(DiagnosticArray(status=[DiagnosticStatus(values=pairs)]))
    if kind == "statuses":
        return DiagnosticArray, serialize_message(DiagnosticArray(status=[DiagnosticStatus()] * 1000))
    if kind == "points":
        return JointTrajectory, serialize_message(JointTrajectory(points=[JointTrajectoryPoint()] * 500))
    if kind == "places":
        return PointCloud, serialize_message(PointCloud(points=[Point32()] * 3000))
    if kind == "channels":
        return PointCloud, serialize_message(PointCloud(channels=[ChannelFloat32()] * 1000))
    if kind == "joints":
        return JointTrajectory, serialize_message(JointTrajectory(joint_names=["x"] * 1000))
    return JointState, serialize_message(JointState(name=["x"] * LARGEST))


@pytest.mark.parametrize("kind", ["pairs", "statuses", "points", "joints", "names", "places", "channels"])
def test_what_is_too_large_is_refused_unread(kind: str) -> None:
    with pytest.raises(InvalidDataError):
        check_size(*large(kind))


@pytest.mark.parametrize("kind", ["points", "joints"])
def test_a_trajectory_of_too_many_parts_is_refused(kind: str) -> None:
    with pytest.raises(InvalidDataError, match="at most"):
        wire.read_trajectory(large(kind)[1])


@pytest.mark.parametrize("usual", [True, False])
def test_a_filter_input_of_thousands_of_steps_is_refused_before_it_is_read(usual: bool) -> None:
    """3000 took the monitor 14 ms each time, and the event log 0.7 MB."""
    step = FilterInput(reset=None, target=PANDA.vector("home"), velocity=PANDA.vector("home"), speed=1.0)
    (data,) = wire.filter_input_bytes(1, PANDA.joint_names, [step] * (150 if not usual else 3000))
    if not usual:  # in the other byte order it is read by rclpy
        message = deserialize_message(data, JointTrajectory)
        message.joint_names = message.joint_names[::-1]
        data = serialize_message(message)
    with pytest.raises(InvalidDataError, match="at most"):
        wire.read_filter_inputs(data, PANDA.joint_names)
    (data,) = wire.filter_input_bytes(1, PANDA.joint_names, [step] * 15)
    assert len(wire.read_filter_inputs(data, PANDA.joint_names).steps) == 15


def test_thousands_of_names_are_refused_in_a_few_words() -> None:
    reader = wire.JointStateReader(PANDA.joint_names)
    with pytest.raises(MismatchError, match="and 4952 more") as refused:
        reader.read(JointState(name=["a" * 100] * 5000))
    assert len(str(refused.value)) < 3000


def test_reports_under_any_names_are_kept_of_some() -> None:
    kept = reports.Reports.__new__(reports.Reports)
    kept._lock, kept._newest = threading.Lock(), {}
    for k in range(2 * reports.REMEMBERED):
        said = NodeStatus(node=f"node{k}", level=Level.OK, text="")
        kept._heard(wire.DIAGNOSTICS, wire_bytes(wire.DIAGNOSTICS.encode(said, 1)))
    assert len(kept._newest) == reports.REMEMBERED and kept.status(f"node{2 * reports.REMEMBERED - 1}") is not None


def test_requests_under_any_names_are_forgotten_when_they_count_no_more() -> None:
    requests = Requests(PANDA.safety)
    for k in range(1000):
        requests.ask(f"node{k}", Response.SLOW, "", k * 10**9)
    assert len(requests._asked) <= 2


def test_commands_for_times_to_come_are_not_counted() -> None:
    """A dictionary grew by each."""
    keeper = Timekeeper(0, 10_000_000)
    for k in range(1000):
        keeper.commanded(1 + k)
    assert not keeper._commands


def test_a_crowd_is_refused_and_the_robot_waits(tmp_path: Path) -> None:
    """Each person costs every tick; 1000 of them held the loop up."""
    with running("control_node", tmp_path) as control:
        crowd = messages.people(control.profile, control.now_ns())
        crowd.poses = crowd.poses * (MAX_PEOPLE + 1)
        control.give(messages.PEOPLE, crowd)
        assert f"at most {MAX_PEOPLE}" in control.node._refusal and len(control.node._zone._people) == 1


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e308])
def test_the_simulation_refuses_what_physics_would_answer_with_nan(tmp_path: Path, value: float) -> None:
    """Physics ended, and with it the simulated robot, until the graph was started again."""
    with running("sim_node", tmp_path) as sim:
        controller = PANDA.controllers[0]
        poisoned = messages.trajectory(controller, PANDA, sim.now_ns(), 30)
        poisoned.points[20].positions[0] = value
        sim.give(topics.commands(controller), poisoned)
        assert sim.works() == ""


def test_a_report_of_latency_keeps_its_numbers() -> None:
    """The mend of huge numbers is in who uses them: the wire carries every finite one."""
    meters = {"chunk": MeterReport(rate_hz=1.0, drops=0, latency=LatencyReport(p50_ms=1e308, p99_ms=1.0, max_ms=1.0))}
    status = NodeStatus(node="x", level=Level.OK, text="", meters=meters)
    assert wire.DIAGNOSTICS.decode(wire.DIAGNOSTICS.encode(status, 1)) == status
