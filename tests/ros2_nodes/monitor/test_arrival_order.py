"""Where processes hardly run, the clock is heard before what was sent earlier: the monitor lets that arrive first."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory

from tendon.core.causes import Cause
from tendon.core.errors import StoppedError
from tendon.core.modes import Mode, PermissionState
from tendon.core.types import Command, Trajectory
from tendon.graph import topics
from tendon.robots.profile import load_profile
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.clients.operator import Operator
from tendon.safety.reports import ControlState, MonitorState

pytestmark = pytest.mark.graph
PROFILE = load_profile("ur5e")
TICK_NS, BEAT_NS = 10_000_000, 20_000_000
PATIENCE_S = 30.0


class LonelyMonitor:
    """A safety monitor's process; simulator and controller are played here. Knows no latch of another test."""

    def __init__(self, folder: Path) -> None:
        parameters = {"use_sim_time": "true", "backend": "mock", "robot": PROFILE.name}
        settings = [word for name, value in parameters.items() for word in ("-p", f"{name}:={value}")]
        command = [sys.executable, "-m", "tendon.ros2_nodes.safety_monitor", "--ros-args", *settings]
        self._process = subprocess.Popen(command, cwd=folder, env={**os.environ, "TENDON_STATE": str(folder)})
        self.operator = Operator("played")
        self._context = rclpy.Context()
        self._context.init(args=[])
        self._nodes = robot, controller = [
            Node(name, context=self._context, use_global_arguments=False) for name in ("mock_node", "control_node")
        ]
        self._clock = robot.create_publisher(Clock, "/clock", qos.NEWEST)
        self._joints = robot.create_publisher(JointState, "joint_states", qos.STREAM)
        self._beats = controller.create_publisher(Header, topics.HEARTBEAT, qos.EACH)
        self._states = controller.create_publisher(DiagnosticArray, wire.STATE.name, qos.EACH)
        self._commands = {
            each: controller.create_publisher(JointTrajectory, topics.commands(each), qos.NEWEST)
            for each in PROFILE.controllers
        }
        for each in PROFILE.controllers:
            robot.create_subscription(JointTrajectory, topics.commands(each), lambda _: None, qos.EACH)
        self._done_ns = 0
        self.operator.node.create_subscription(Header, topics.DONE, self._through, qos.EACH)
        self.now_ns = 1_000_000_000_000

    def _through(self, message: Header) -> None:
        self._done_ns = max(self._done_ns, wire.read_done(message).stamp_ns)

    def permission(self) -> MonitorState | None:
        return self.operator.reports.newest(MonitorState)

    def tick(self, beat: bool = True) -> None:
        """Moves time on by a control period and says what a simulator and a controller say in one."""
        self.now_ns += TICK_NS
        stamp = wire.time_message(self.now_ns)
        joints = JointState(name=list(PROFILE.joint_names), position=PROFILE.vector("home").tolist())
        joints.header.stamp, joints.velocity = stamp, [0.0] * len(PROFILE.joint_names)
        self._joints.publish(joints)
        if beat and self.now_ns % BEAT_NS == 0:
            self.beat()
        if beat and (known := self.permission()) is not None and known.permission.armed:
            self.hold()
        self._clock.publish(Clock(clock=stamp))

    def hold(self) -> None:
        """Commands the robot to stay."""
        home, still = PROFILE.vector("home"), np.zeros((2, len(PROFILE.joint_names)))
        points = Trajectory(
            position=np.tile(home, (2, 1)), velocity=still, acceleration=still, time_from_start_ns=(0, TICK_NS)
        )
        for controller, data in wire.command_bytes(Command(stamp_ns=self.now_ns, trajectory=points), PROFILE):
            self._commands[controller].publish(data)

    def beat(self) -> None:
        beat = wire.Heartbeat(node="control_node", instance="1")
        self._beats.publish(wire.heartbeat_message(beat, self.now_ns))
        known = self.permission()
        state = PermissionState.STANDBY if known is None else known.permission.state
        event = 0 if known is None else known.permission.event
        said = ControlState(mode=Mode(state.value), event=event, reason="", obstacle="", margin=1.0, binding="")
        self._states.publish(wire.STATE.encode(said, self.now_ns))

    def through(self, patience_s: float) -> bool:
        """Returns whether the monitor did in time what was due now; repeats the time, which may be lost."""
        deadline_s = time.monotonic() + patience_s
        while not self.operator.wait(lambda: self._done_ns >= self.now_ns, 0.1):
            if time.monotonic() > deadline_s:
                return False
            self._clock.publish(Clock(clock=wire.time_message(self.now_ns)))
        return True

    def arm(self) -> None:
        deadline_s = time.monotonic() + PATIENCE_S
        while (known := self.permission()) is None or not known.permission.armed:
            assert time.monotonic() < deadline_s, known
            self.tick()
            if known is not None and self.through(0.2):
                try:
                    self.operator.arm(1.0)
                except StoppedError:
                    continue

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self.operator.close()
        for node in self._nodes:  # a failed test keeps this object, and its domain would stay busy
            node.destroy_node()
        self._context.try_shutdown()


@pytest.fixture
def monitor(tmp_path: Path) -> Iterator[LonelyMonitor]:
    lonely = LonelyMonitor(tmp_path)
    yield lonely
    lonely.close()


def test_a_heartbeat_that_is_overtaken_by_the_clock_is_waited_for_and_one_that_does_not_come_latches(
    monitor: LonelyMonitor,
) -> None:
    monitor.arm()
    for _ in range(20):
        monitor.tick()
        assert monitor.through(PATIENCE_S)

    monitor.tick(beat=False)
    while monitor.through(0.2):
        monitor.tick(beat=False)
    monitor.beat()
    assert monitor.through(PATIENCE_S), "time goes on when the heartbeat is there"
    for _ in range(20):
        monitor.tick()
        assert monitor.through(PATIENCE_S)
    state = monitor.permission()
    assert state is not None and state.permission.armed, state

    last_beat_ns = monitor.now_ns
    while monitor.now_ns < last_beat_ns + 200_000_000:
        monitor.tick(beat=False)
        assert monitor.through(PATIENCE_S), "time does not stand still for the dead"
    state = monitor.permission()
    assert state is not None and state.permission.cause is Cause.HEARTBEAT
