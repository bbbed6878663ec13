"""The safety monitor as a real process: rogue commands, lying cameras, its own death, requests, its log."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from sensor_msgs.msg import Image as ImageMessage
from sensor_msgs.msg import JointState
from std_msgs.msg import Header, String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from tendon.cli import main
from tendon.core.causes import Cause
from tendon.core.errors import StoppedError
from tendon.core.modes import PermissionState
from tendon.core.node_status import Level, MonitorStatus
from tendon.core.types import Image
from tendon.graph import topics
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tendon.safety.event_log import lines_of, log_files, read_log
from tendon.safety.latch import state_folder
from tendon.safety.reports import MonitorState, ResponseRequest
from tendon.safety.response import Response
from tests.ros2_nodes.running_graph import PROFILE, RunningGraph
from tests.ros2_nodes.tiny_bundle import write_tiny_bundle

pytestmark = pytest.mark.graph
ARM = PROFILE.controllers[0]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGraph]:
    running = RunningGraph(tmp_path_factory.mktemp("graph") / "log", "policy:=none")
    running.ready()
    yield running
    running.end()


def latched_because(graph: RunningGraph, cause: Cause, words: str = "") -> None:
    graph.wait(lambda: graph.state() is PermissionState.LATCHED and graph.cause() is cause, f"latched, {cause}")
    assert words in graph.reason()
    graph.wait(graph.operator.at_rest, "rest")


def test_a_second_publisher_of_commands_stops_the_robot_and_is_named(graph: RunningGraph) -> None:
    graph.set_in_motion()
    node = graph.operator.node
    rogue = node.create_publisher(JointTrajectory, f"{ARM.name}/joint_trajectory", qos.NEWEST)
    try:
        latched_because(graph, Cause.SENDER, f"{node.get_name()} may publish on {ARM.name}/joint_trajectory")
        with pytest.raises(StoppedError, match="may publish on"):
            graph.operator.reset()
    finally:
        node.destroy_publisher(rogue)
    graph.arm()


def test_a_rogue_command_breaks_a_law_that_is_named(graph: RunningGraph) -> None:
    """It ends in motion, which the robot side refuses too, so that nothing moves."""
    graph.arm()
    node = graph.operator.node
    rogue = node.create_publisher(JointTrajectory, f"{ARM.name}/joint_trajectory", qos.NEWEST)
    try:
        graph.wait(lambda: rogue.get_subscription_count() >= 2, "the monitor takes it")
        message = JointTrajectory(joint_names=list(ARM.joints))
        message.header.stamp = wire.time_message(graph.now_ns())
        for k in range(2):
            point = JointTrajectoryPoint()
            point.positions, point.velocities = graph.states[-1][1][:7].tolist(), [0.1] * 7
            point.time_from_start.nanosec = 10_000_000 * (k + 1)
            message.points.append(point)
        latched = log_files(state_folder() / "log")[-1]

        def logged() -> bool:
            rogue.publish(message)
            time.sleep(0.1)
            return any(lines_of(read_log(latched).events, "breach"))

        graph.wait(logged, "the breach in the log")
        (breach, *_) = lines_of(read_log(latched).events, "breach")
        assert breach["law"] == "end" and "panda_joint1 ends with velocity 0.1" in breach["reason"]
        graph.wait(lambda: graph.state() is PermissionState.LATCHED, "latched")
    finally:
        node.destroy_publisher(rogue)
    graph.arm()


def test_a_joint_state_from_the_future_does_not_lock_the_robot_out(graph: RunningGraph) -> None:
    graph.arm()
    rogue = graph.operator.node.create_publisher(JointState, "joint_states", qos.EACH)
    hour_ns, names = 3600 * 10**9, graph.profile.joint_names

    def refused() -> bool:
        _, position, velocity = graph.states[-1]
        rogue.publish(wire.joint_state_message(graph.now_ns() + hour_ns, names, position, velocity))
        return graph.operator.wait(lambda: "ahead of this machine's clock" in graph.reason(), 0.2)

    try:
        graph.wait(refused, "the sender is told")
    finally:
        graph.operator.node.destroy_publisher(rogue)
    graph.set_in_motion()
    graph.hold_still()


def test_a_second_control_node_stops_the_robot(graph: RunningGraph) -> None:
    graph.arm()
    beats = graph.operator.node.create_publisher(Header, topics.HEARTBEAT, qos.EACH)
    rival = wire.Heartbeat(node="control_node", instance="another-1")

    def beat() -> bool:
        beats.publish(wire.heartbeat_message(rival, graph.now_ns()))
        return graph.cause() is Cause.SENDER

    graph.wait(beat, "two control nodes are noticed")
    assert "control_node run at once" in graph.reason()
    graph.operator.node.destroy_publisher(beats)
    graph.arm()


def test_a_node_may_ask_for_slow_and_hold_and_it_is_released(graph: RunningGraph) -> None:
    graph.set_in_motion()
    states = graph.operator.node.create_publisher(DiagnosticArray, wire.STATE.name, qos.EACH)
    for wish, speed in ((Response.SLOW, 0.3), (Response.HOLD, 0.0)):

        def ask(wish: Response = wish, speed: float = speed) -> bool:
            request = ResponseRequest(node="detector", level=Level.OK, text="never seen such a scene", response=wish)
            states.publish(wire.STATE.encode(request, graph.now_ns()))
            monitor = graph.operator.reports.newest(MonitorState)
            return monitor is not None and (monitor.response, monitor.permission.speed) == (wish, speed)

        graph.wait(ask, wish.word)
        assert graph.state() is PermissionState.ARMED and graph.cause() is Cause.NODE_REQUEST
        assert "detector: never seen such a scene" in graph.reason()
    graph.wait(lambda: graph.operator.reports.newest(MonitorState).response is Response.FULL, "the release")
    graph.operator.node.destroy_publisher(states)


def test_a_wish_that_nobody_understands_is_a_stop(graph: RunningGraph) -> None:
    """It was meant to restrict. Messages without any wish, or with nonsense in them, change nothing."""
    graph.set_in_motion()
    states = graph.operator.node.create_publisher(DiagnosticArray, wire.STATE.name, qos.EACH)
    heard = graph.operator.node.create_publisher(DiagnosticArray, wire.DIAGNOSTICS.name, qos.EACH)
    nonsense = DiagnosticStatus(name="lidar", level=b"\xff", message="x" * 10_000)
    nonsense.values = [KeyValue(key="type", value="control"), KeyValue(key="type", value="nan")]
    for publisher in (states, heard) * 5:
        publisher.publish(DiagnosticArray(status=[nonsense]))
        publisher.publish(DiagnosticArray())
        time.sleep(0.05)
    assert graph.state() is PermissionState.ARMED
    request = ResponseRequest(node="detector", level=Level.OK, text="", response=Response.SLOW)
    message = wire.STATE.encode(request, graph.now_ns())
    for pair in message.status[0].values:
        pair.value = "sloww" if pair.key == "response" else pair.value

    def ask() -> bool:
        states.publish(message)
        return graph.state() is PermissionState.LATCHED

    graph.wait(ask, "latched")
    assert graph.cause() is Cause.NODE_REQUEST and "key response is 'sloww'" in graph.reason()
    for publisher in (states, heard):
        graph.operator.node.destroy_publisher(publisher)
    graph.wait(graph.operator.at_rest, "rest")
    graph.arm()


def test_killed_while_armed_it_starts_latched_and_an_operators_stop_survives_too(graph: RunningGraph) -> None:
    graph.arm()
    for words in ("was armed when it ended", "stop was requested"):
        pid = graph.pid("safety_monitor")
        graph.signal("safety_monitor", signal.SIGKILL)
        graph.wait(lambda pid=pid: graph.pid("safety_monitor") not in (None, pid), "the restart")
        latched_because(graph, Cause.RESTARTED, words)
        with contextlib.suppress(StoppedError):
            graph.operator.stop()
        if words == "was armed when it ended":
            graph.wait(lambda: _reset(graph), "the reset")
            graph.operator.stop()
            graph.wait(lambda: graph.cause() is Cause.REQUESTED, "the stop")
            time.sleep(0.3)
    graph.arm()


def _reset(graph: RunningGraph) -> bool:
    try:
        graph.operator.reset()
    except StoppedError:
        return False
    return True


def test_the_log_of_a_motion_is_whole_and_its_replay_is_the_same(
    graph: RunningGraph, capsys: pytest.CaptureFixture[str]
) -> None:
    graph.set_in_motion()
    time.sleep(1.0)
    graph.operator.stop()
    graph.wait(graph.operator.at_rest, "rest")
    time.sleep(0.3)
    newest = str(log_files(state_folder() / "log")[-1])
    assert main(["safety", "verify-log", newest]) == 0
    assert main(["safety", "replay-log", newest]) == 0, capsys.readouterr().out
    assert "the same to the last bit" in capsys.readouterr().out
    assert main(["safety", "log", newest]) == 0
    assert "stop was requested" in capsys.readouterr().out
    altered = Path(newest).with_name("altered.jsonl")
    altered.write_bytes(Path(newest).read_bytes().replace(b'"state":"armed"', b'"state":"ARMED"', 1))
    assert main(["safety", "verify-log", str(altered)]) == 1
    altered.unlink()


def test_told_to_end_while_armed_it_stops_the_robot_first_and_leaves_no_latch(graph: RunningGraph) -> None:
    """As the terminal of `ros2 launch` does when it is closed, where nobody else stops the robot."""
    graph.set_in_motion()
    pid = graph.pid("safety_monitor")
    graph.signal("safety_monitor", signal.SIGHUP)
    graph.wait(graph.operator.at_rest, "rest")
    graph.wait(lambda: graph.pid("safety_monitor") not in (None, pid), "the restart")
    graph.wait(lambda: graph.state() is PermissionState.STANDBY, "no latch of its own")
    graph.hold_still()


def test_a_graph_that_was_ended_on_request_starts_in_standby_again(graph: RunningGraph) -> None:
    graph.operator.stop()
    graph.end()
    reading = read_log(log_files(state_folder() / "log")[-1])
    assert reading.whole and reading.events[-1]["kind"] == "end"
    assert '"standby"' in (state_folder() / f"latch-panda-{os.environ['ROS_DOMAIN_ID']}.json").read_text()


@pytest.fixture(scope="module")
def seeing(tmp_path_factory: pytest.TempPathFactory, graph: RunningGraph) -> Iterator[RunningGraph]:
    """A graph with a policy that needs cameras; the other graph has been ended."""
    graph.end()
    folder = tmp_path_factory.mktemp("policy")
    bundle = write_tiny_bundle(folder / "tiny")
    running = RunningGraph(folder / "log", f"policy:={bundle}", "instruction:=left")
    running.ready()
    yield running
    running.end()


def test_a_camera_that_stops_holds_the_robot_and_then_latches(seeing: RunningGraph) -> None:
    graph = seeing
    graph.arm()
    graph.wait(graph.moving, "motion")
    graph.signal("camera_node", signal.SIGSTOP)
    try:
        graph.wait(lambda: graph.cause() is Cause.CAMERA, "the camera is named")
        graph.wait(lambda: graph.state() is PermissionState.LATCHED, "latched")
        assert graph.cause() is Cause.CAMERA and "has sent nothing" in graph.reason() and "for 2 s" in graph.reason()
        graph.wait(graph.operator.at_rest, "rest")
    finally:
        graph.signal("camera_node", signal.SIGCONT)
    graph.check_limits()


def test_black_frames_among_good_ones_hold_the_robot(seeing: RunningGraph) -> None:
    graph = seeing
    graph.arm()
    images = graph.operator.node.create_publisher(ImageMessage, "camera/wrist/image_raw", qos.NEWEST)

    def black() -> bool:
        pixels = np.zeros((96, 96, 3), dtype=np.uint8)
        images.publish(wire.image_message(Image(stamp_ns=graph.now_ns(), pixels=pixels), "wrist"))
        time.sleep(0.02)
        return graph.cause() is Cause.CAMERA and "camera wrist" in graph.reason()

    graph.wait(black, "the camera is noticed")
    graph.operator.node.destroy_publisher(images)


def test_cameras_do_not_stop_a_robot_that_a_person_leads(seeing: RunningGraph) -> None:
    """Teleoperated out of view, a simulated camera sends equal frames: five latches in 140 s were false."""
    graph, node = seeing, seeing.operator.node
    source = node.create_publisher(String, topics.CONTROL_SOURCE, qos.LATCHED)
    images = node.create_publisher(ImageMessage, "camera/wrist/image_raw", qos.NEWEST)

    def cameras() -> tuple[str, ...] | None:
        state = graph.operator.reports.newest(MonitorStatus)
        return None if state is None else state.cameras

    def black() -> bool:
        pixels = np.zeros((96, 96, 3), dtype=np.uint8)
        images.publish(wire.image_message(Image(stamp_ns=graph.now_ns(), pixels=pixels), "wrist"))
        time.sleep(0.02)
        return graph.cause() is Cause.CAMERA

    try:
        source.publish(String(data="teleop"))
        graph.wait(lambda: cameras() == (), "no camera is needed")
        graph.arm()
        graph.wait(lambda: graph.cause() is not Cause.CAMERA, "what an earlier test has shown is over")
        assert not graph.operator.wait(black, 1.0), graph.reason()
        source.publish(String(data="policy"))
        graph.wait(lambda: cameras() != (), "cameras are needed again")
        graph.wait(black, "the camera is noticed")
    finally:
        node.destroy_publisher(images)
        node.destroy_publisher(source)


def test_the_monitor_takes_no_image_and_whoever_else_tells_it_of_frames_stops_the_robot(seeing: RunningGraph) -> None:
    """It keeps time, so it takes messages by UDP, where large ones get lost (ADR 17)."""
    graph, node = seeing, seeing.operator.node
    graph.arm()
    for camera in graph.profile.cameras:
        takers = node.get_subscriptions_info_by_topic(f"/camera/{camera.name}/image_raw")
        assert "policy_node" in {info.node_name for info in takers}
        assert "safety_monitor" not in {info.node_name for info in takers}
    rogue = node.create_publisher(Header, topics.FRAMES, qos.EACH)
    try:
        latched_because(graph, Cause.SENDER, f"{node.get_name()} may publish on {topics.FRAMES}")
    finally:
        node.destroy_publisher(rogue)
    graph.arm()


def test_the_process_of_the_monitor_loads_nothing_of_what_it_checks() -> None:
    """Neither the filter nor the controller, nor the libraries that they compute with."""
    code = "import sys, tendon.ros2_nodes.safety_monitor; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    shared = [name for name in loaded if name.startswith("tendon.control") or name in ("pinocchio", "coal", "daqp")]
    assert not shared
