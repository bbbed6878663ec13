"""Poison that ended the safety monitor, or left it refusing to arm, before it was mended."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.msg import Parameter, ParameterValue
from rcl_interfaces.srv import GetParameters, SetParameters
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory

from tendon.core.modes import Mode, PermissionState
from tendon.core.node_status import Level
from tendon.graph import topics
from tendon.robots.profile import load_profile
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base.shell import REMEMBERED
from tendon.safety.reports import ControlState
from tests.poison import messages
from tests.poison.cases import running
from tests.poison.mutation import HOUR_NS
from tests.poison.subjects import Subject

PANDA = load_profile("panda")


@pytest.fixture(scope="module")
def monitor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Subject]:
    with running("safety_monitor", tmp_path_factory.mktemp("monitor")) as subject:
        yield subject


def edited(message: DiagnosticArray, key: str, value: str) -> DiagnosticArray:
    """Returns a status with another value in one pair."""
    (pair,) = (pair for pair in message.status[0].values if pair.key == key)
    pair.value = value
    return message


def control_status(p50: str) -> DiagnosticArray:
    said = next(each for each in messages.statuses() if each.node == "control_node")
    return edited(wire.DIAGNOSTICS.encode(said, 1), "meters.chunk.latency.p50_ms", p50)


def test_the_monitor_goes_on_after_all_that_once_ended_it(monitor: Subject) -> None:
    """Each raised in a callback, with which rclpy ends the process, or left the robot locked out."""
    now_ns = monitor.now_ns()
    early = messages.trajectory(PANDA.controllers[0], PANDA, now_ns, 1)
    early.points[0].time_from_start.sec = early.points[0].time_from_start.nanosec = 0  # ZeroDivisionError
    torn = messages.joint_state(PANDA, now_ns)
    torn.header.stamp.nanosec = 2**32 - 1
    reset = JointTrajectory(header=Header(frame_id="reset"))
    said = wire.STATE.encode(ControlState(mode=Mode.STANDBY, event=1), now_ns)
    for topic, message in (
        (topics.commands(PANDA.controllers[0]), early),
        (topics.JOINT_STATES, torn),
        (topics.JOINT_STATES, messages.joint_state(PANDA, now_ns + HOUR_NS)),
        (topics.FILTER_INPUT, reset),
        (wire.STATE.name, edited(said, "event", "x")),
        (wire.DIAGNOSTICS.name, control_status("1.2.3")),
        (wire.DIAGNOSTICS.name, control_status("1e308")),  # OverflowError
        (wire.DIAGNOSTICS.name, control_status("-1e308")),
    ):
        monitor.give(topic, message)
    assert monitor.node.faults == 0
    assert monitor.works() == ""


def test_a_request_with_a_parameter_of_no_type_is_answered(monitor: Subject) -> None:
    """ValueError in rclpy's own callback, which ended any node, the monitor too."""
    (service,) = (each for each in monitor.node.services if each.service_name.endswith("/set_parameters"))
    request = SetParameters.Request(parameters=[Parameter(name="robot", value=ParameterValue(type=200))])
    assert service.callback(request, SetParameters.Response()).results == []
    assert monitor.node.faults == 0


def test_a_request_for_thousands_of_parameters_is_not_worked_off(monitor: Subject) -> None:
    """60 ms for 3000 names."""
    (service,) = (each for each in monitor.node.services if each.service_name.endswith("/get_parameters"))
    answer = service.callback(GetParameters.Request(names=["robot"] * 3000), GetParameters.Response())
    assert len(answer.values) == 0


def test_a_fault_in_a_callback_is_counted_and_said_and_one_on_a_command_stops(monitor: Subject) -> None:
    """What nobody expected ends no node, and a command that could not be judged is not taken for a good one."""
    assert monitor.works() == ""
    controller, node = PANDA.controllers[0], monitor.node
    laws, node._inputs._laws[controller.name] = node._inputs._laws[controller.name], None
    monitor.give(topics.commands(controller), messages.trajectory(controller, PANDA, monitor.now_ns(), 2))
    node._inputs._laws[controller.name] = laws
    assert node.faults == 1 and "AttributeError" in node.fault
    monitor.work()
    assert node._permission.state is PermissionState.LATCHED and "could not be judged" in node._permission.reason
    assert monitor.works() == ""
    node.faults = 0


def test_problems_that_peers_make_up_are_not_remembered_for_ever(monitor: Subject) -> None:
    for k in range(10 * REMEMBERED):
        monitor.node._log_news(Level.WARN, "x" * k)
    assert len(monitor.node._logged_s) <= REMEMBERED


def test_joint_states_that_fall_behind_are_no_sign_of_life(monitor: Subject) -> None:
    """A driver that queues them up tells where the robot was, and nothing of it can be held against a command."""
    assert monitor.works() == ""
    node, give, late_ms = monitor.node, monitor.give, 0

    def hang(topic: str, message: object) -> None:
        if topic == topics.JOINT_STATES:
            message = messages.joint_state(PANDA, monitor.now_ns() - late_ms * 1_000_000, PANDA.vector("home"))
        give(topic, message)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(monitor, "give", hang)
        for _ in range(9):
            monitor.work()
            late_ms += 10
        assert node._permission.state is PermissionState.ARMED, node._permission.reason
        for _ in range(20):
            late_ms = min(late_ms + 10, 150)
            monitor.work()
    assert node._permission.state is PermissionState.LATCHED
    assert "no joint state for 100 ms" in node._permission.reason
    assert monitor.works() == ""
