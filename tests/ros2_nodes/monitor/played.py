"""A real safety monitor whose robot and controller are played by a test, which can make them do anything."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory

from tendon.core.errors import StoppedError
from tendon.core.modes import Mode, PermissionState
from tendon.core.types import Array, SentTrajectory
from tendon.graph import topics
from tendon.robots.digest import profile_digest
from tendon.robots.profile import load_profile
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.clients.operator import Operator
from tendon.safety.reports import ControlState, MonitorState

TICK_NS, BEAT_NS = 10_000_000, 20_000_000
PATIENCE_S = 30.0


class PlayedGraph:
    """A safety monitor's process; robot and controller are played here. Knows no latch of another test.

    Attributes:
        now_ns: the time; in real time, when the last tick was due.
        measured: (n,) where the robot is measured.
        commands: whether the controller sends commands when it is armed; they ask the robot to stay at home.
        loaded: digest of the profile that the controller says it has loaded.

    Args:
        folder: for the monitor's state.
        robot: name of the profile.
        simulated: time goes on with `tick`; else by the wall clock.
        connected: the robot listens to commands.
    """

    def __init__(self, folder: Path, robot: str = "ur5e", simulated: bool = True, connected: bool = True) -> None:
        self.profile, self.simulated = load_profile(robot), simulated
        self.loaded = profile_digest(self.profile, whole=True)
        parameters = {"use_sim_time": str(simulated).lower(), "backend": "mock", "robot": robot}
        settings = [word for name, value in parameters.items() for word in ("-p", f"{name}:={value}")]
        command = [sys.executable, "-m", "tendon.ros2_nodes.safety_monitor", "--ros-args", *settings]
        self.process = subprocess.Popen(command, cwd=folder, env={**os.environ, "TENDON_STATE": str(folder)})
        self.operator = Operator("played")
        self._context = rclpy.Context()
        self._context.init(args=[])
        self._nodes = played, controller = [
            Node(name, context=self._context, use_global_arguments=False) for name in ("mock_node", "control_node")
        ]
        if simulated:
            self._clock = played.create_publisher(Clock, "/clock", qos.NEWEST)
        self._joints = played.create_publisher(JointState, "joint_states", qos.STREAM)
        self._beats = controller.create_publisher(Header, topics.HEARTBEAT, qos.EACH)
        self._states = controller.create_publisher(DiagnosticArray, wire.STATE.name, qos.EACH)
        self._commands = {}
        for each in self.profile.controllers:
            self._commands[each.name] = controller.create_publisher(JointTrajectory, topics.commands(each), qos.NEWEST)
        if connected:
            self.connect()
        self._done_ns = 0
        self.operator.node.create_subscription(Header, topics.DONE, self._through, qos.EACH)
        self.now_ns = 1_000_000_000_000 if simulated else time.time_ns() // BEAT_NS * BEAT_NS
        self.home = self.profile.vector("home")
        self.measured, self.commands = np.array(self.home), True

    def connect(self) -> None:
        """Lets the robot listen to commands."""
        for each in self.profile.controllers:
            self._nodes[0].create_subscription(JointTrajectory, topics.commands(each), lambda _: None, qos.EACH)

    def _through(self, message: Header) -> None:
        self._done_ns = max(self._done_ns, wire.read_done(message).stamp_ns)

    def permission(self) -> MonitorState | None:
        """Returns what the monitor permits; `None` before it was heard."""
        return self.operator.reports.newest(MonitorState)

    def tick(self, beat: bool = True) -> None:
        """Moves time on by a control period and says what a robot and a controller say in one."""
        self.now_ns += TICK_NS
        if not self.simulated and (left_ns := self.now_ns - time.time_ns()) > 0:
            time.sleep(left_ns * 1e-9)
        still = np.zeros(len(self.measured))
        self._joints.publish(wire.joint_state_message(self.now_ns, self.profile.joint_names, self.measured, still))
        if beat and self.now_ns % BEAT_NS == 0:
            self.beat()
        if beat and self.commands and self.armed:
            for controller in self.profile.controllers:
                self.command(controller.name, self.now_ns)
        if self.simulated:
            self._clock.publish(Clock(clock=wire.time_message(self.now_ns)))

    def command(self, controller: str, stamp_ns: int, off: float = 0.0) -> None:
        """Commands a controller's joints to stay `off` [rad] from home."""
        (joints,) = (each.joints for each in self.profile.controllers if each.name == controller)
        columns = [self.profile.joint_names.index(name) for name in joints]
        self.send(controller, stamp_ns, (0, TICK_NS), np.tile(self.home[columns] + off, (2, 1)))

    def send(
        self, controller: str, stamp_ns: int, times_ns: tuple[int, ...], position: Array, velocity: Array | None = None
    ) -> None:
        """Sends a command of a controller's joints, by default with velocity 0 at each point."""
        (joints,) = (each.joints for each in self.profile.controllers if each.name == controller)
        sent = SentTrajectory(
            stamp_ns=stamp_ns,
            joint_names=joints,
            times_ns=times_ns,
            position=position,
            velocity=np.zeros_like(position) if velocity is None else velocity,
        )
        self._commands[controller].publish(wire.write_trajectory(sent))

    @property
    def armed(self) -> bool:
        """Whether the monitor permits motion."""
        known = self.permission()
        return known is not None and known.permission.armed

    def beat(self) -> None:
        """Shows that the controller lives, and that it follows the permission."""
        beat = wire.Heartbeat(node="control_node", instance="1")
        self._beats.publish(wire.heartbeat_message(beat, self.now_ns))
        known = self.permission()
        state = PermissionState.STANDBY if known is None else known.permission.state
        event = 0 if known is None else known.permission.event
        said = ControlState(mode=Mode(state.value), event=event, profile=self.loaded)
        self._states.publish(wire.STATE.encode(said, self.now_ns))

    def through(self, patience_s: float) -> bool:
        """Returns whether the monitor did in time what was due now; repeats the time, which may be lost."""
        deadline_s = time.monotonic() + patience_s
        while self.simulated and not self.operator.wait(lambda: self._done_ns >= self.now_ns, 0.1):
            if time.monotonic() > deadline_s:
                return False
            self._clock.publish(Clock(clock=wire.time_message(self.now_ns)))
        return True

    def run(self, ticks: int) -> None:
        """Lets some time pass, until the robot is not permitted to move."""
        for _ in range(ticks):
            self.tick()
            assert self.through(PATIENCE_S)
            if not self.armed:
                return

    def arm(self) -> None:
        """Arms when the monitor is ready, and sends the first commands."""
        deadline_s = time.monotonic() + PATIENCE_S
        while not self.armed:
            assert time.monotonic() < deadline_s, self.permission()
            self.tick()
            if self.permission() is None:
                time.sleep(TICK_NS * 1e-9)  # one that runs ahead of a monitor that starts is a pause
            elif self.through(0.2):
                self.refusal()

    def refusal(self) -> str:
        """Asks to arm; returns why not, empty when it did."""
        answer: list[str] = []

        def ask() -> None:
            try:
                self.operator.arm(5.0)
            except StoppedError as error:
                answer.append(str(error))
            else:
                answer.append("")

        if self.simulated:
            ask()
        else:  # time goes on meanwhile
            thread = threading.Thread(target=ask)
            thread.start()
            while thread.is_alive():
                self.tick()
        return answer[0]

    def close(self) -> None:
        """Ends everything."""
        self.process.kill()
        self.process.wait()
        self.operator.close()
        for node in self._nodes:  # a failed test keeps this object, and its domain would stay busy
            node.destroy_node()
        self._context.try_shutdown()
