"""A graph of real processes under test, with an operator, hand-made chunks and eyes on the robot."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

import numpy as np
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from tendon.core.causes import Cause
from tendon.core.errors import StoppedError
from tendon.core.modes import Mode, PermissionState, Source
from tendon.core.node_status import Level, PolicyStatus
from tendon.core.types import ActionChunk, Array
from tendon.graph.domain import domain_id, in_use
from tendon.robots.profile import RobotProfile, load_profile
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.clients.operator import Operator
from tendon.safety.reports import MonitorState
from tendon.testing.process import GraphProcess

PATIENCE_S = 90.0
STANDSTILL_S = 10.0
PROFILE = load_profile("panda")
STEP_NS = 100_000_000
BESIDE_THE_ROBOT = ("control_node", "safety_monitor", "camera_node")


class RunningGraph(GraphProcess):
    """`tendon run` until `end`, in the ROS domain of these tests.

    Args:
        log: file for what it prints.
        arguments: of `tendon run`.
        profile: of the robot it runs.
        source: whose chunks `wave` sends.
        joint: which one they swing.
    """

    def __init__(
        self, log: Path, *arguments: str, profile: RobotProfile = PROFILE, source: str = "policy", joint: int = 0
    ) -> None:
        self.profile, self._source, self.joint = profile, source, joint
        in_company = in_use(domain_id())
        self.arguments = arguments
        super().__init__(arguments, log)
        # Whoever is in the domain before `tendon run` makes it look around for 5 s instead of 1.
        deadline = time.monotonic() + PATIENCE_S
        while not (in_company or in_use(domain_id())) and self.alive() and time.monotonic() < deadline:
            time.sleep(0.02)
        given = dict(text.split(":=", 1) for text in arguments)
        simulated = given.get("backend", "sim") != "hardware" and given.get("clock") != "realtime"
        self.operator = Operator("test", simulated_time=simulated, namespace=given.get("namespace", ""))
        self.operator.at_rest()  # from here on it listens to joint states
        self.states: list[tuple[float, Array, Array]] = []
        self._reader = wire.JointStateReader(profile.joint_names)
        node = self.operator.node
        node.create_subscription(JointState, "joint_states", self._measured, qos.STREAM)
        self._waving = threading.Event()

    def _measured(self, message: JointState) -> None:
        stamp_ns, position, velocity = self._reader.read(message)
        self.states.append((stamp_ns * 1e-9, position, velocity))

    def now_ns(self) -> int:
        """Returns the time of the graph."""
        return self.operator.time.now_ns()

    def pause(self, pause_s: float) -> None:
        """Lets some of the graph's time pass; wall time where that stands still for long."""
        until_ns, backstop_s = self.now_ns() + round(pause_s * 1e9), time.monotonic() + 10 * pause_s + STANDSTILL_S
        while self.now_ns() < until_ns and time.monotonic() < backstop_s:
            time.sleep(0.002)

    @cached_property
    def chunks(self) -> Publisher:
        """Publishes chunks; not made before it is used, as two who may publish them are a fault."""
        return self.operator.node.create_publisher(JointTrajectory, f"{self._source}/action_chunk", qos.NEWEST)

    def wait(self, condition: Callable[[], bool], what: str, patience_s: float = PATIENCE_S) -> None:
        """Waits until something is so, or fails with what the graph printed."""
        if not self.operator.wait(condition, patience_s):
            nodes = ("control_node", "safety_monitor", "policy_node")
            said = self.operator.reports.state(nodes)
            raise AssertionError(f"not within {patience_s} s: {what}\n{said}\n{self.log.read_text()[-3000:]}")

    def mode(self) -> Mode | None:
        """Returns the control node's mode, as it reports it."""
        return self.operator.mode()

    def state(self) -> PermissionState | None:
        """Returns the state of the safety monitor's permission."""
        return self.operator.permission()

    def reason(self) -> str:
        """Returns why the safety monitor permits what it does."""
        monitor = self.operator.reports.newest(MonitorState)
        return "" if monitor is None else monitor.permission.reason

    def cause(self) -> Cause | None:
        """Returns the same as a code; `None` when there is nothing to say."""
        monitor = self.operator.reports.newest(MonitorState)
        return None if monitor is None else monitor.permission.cause

    def policy(self) -> PolicyStatus:
        """Returns how the policy node is; empty before it was heard."""
        silent = PolicyStatus(node="policy_node", level=Level.STALE, text="", policy="")
        return self.operator.reports.newest(PolicyStatus) or silent

    def ready(self) -> None:
        """Waits until the graph could be armed; the latch of a fault that ended the graph before is reset."""

        def standby() -> bool:
            if self.state() is PermissionState.LATCHED:
                with contextlib.suppress(StoppedError):
                    self.operator.reset()
            return self.mode() is Mode.STANDBY and len(self.states) > 10

        self.wait(standby, "ready")

    def arm(self) -> None:
        """Resets if need be, and arms; on a machine with other work it may take more than one attempt."""

        def armed() -> bool:
            requests = [self.operator.arm]
            if self.state() is PermissionState.LATCHED or self.mode() is Mode.LATCHED:
                requests.insert(0, self.operator.reset)
            for request in requests:
                with contextlib.suppress(StoppedError):
                    request()
            return self.operator.wait(permitted, 1.0)

        def permitted() -> bool:
            # Both: what the monitor last reported may be the fault of a test before, later than the control node moves.
            mode = self.mode()
            return mode is not None and mode.moving and self.state() is PermissionState.ARMED

        self.wait(armed, "armed")

    def stop(self) -> None:
        """Stops the robot; on a machine with other work an answer may take longer than an operator waits."""

        def latched() -> bool:
            with contextlib.suppress(StoppedError):
                self.operator.stop()
            return self.operator.wait(lambda: self.mode() is Mode.LATCHED, 1.0)

        self.wait(latched, "latched")

    def set_in_motion(self) -> None:
        """Sends chunks and arms until the robot moves."""
        self.wave()
        self.arm_until_it_moves()

    def arm_until_it_moves(self) -> None:
        """Overload, and cameras that begin late, may stop it again, which is right and not the point of most tests."""

        def moves() -> bool:
            self.arm()
            return self.operator.wait(self.moving, 3.0)

        self.wait(moves, "motion")

    def wave(self, names: tuple[str, ...] | None = None) -> None:
        """Starts to send chunks that swing a joint by 0.4 rad around where it is, period 4 s."""
        named = names or self.profile.joint_names
        begin_ns, middle = self.now_ns(), self.states[-1][1].copy()
        self.hold_still()
        self._waving = waving = threading.Event()
        waving.set()

        def send() -> None:
            while waving.is_set():
                stamp_ns = self.now_ns()
                times = stamp_ns + STEP_NS * np.arange(1, 11)
                rows = np.tile(middle, (10, 1))
                rows[:, self.joint] += 0.4 * np.sin(2 * np.pi * (times - begin_ns) * 1e-9 / 4)
                chunk = ActionChunk(
                    actions=rows, start_ns=stamp_ns + STEP_NS, step_ns=STEP_NS, observation_stamp_ns=stamp_ns
                )
                if self._source == Source.TELEOP.value:  # pressed anew each time, whatever ended the hold before
                    self.chunks.publish(wire.held_chunk_bytes(chunk, named, stamp_ns))
                else:
                    self.chunks.publish(wire.chunk_bytes(chunk, named))
                time.sleep(0.02 if self._source == Source.TELEOP.value else 0.1)

        threading.Thread(target=send, daemon=True).start()

    def hold_still(self) -> None:
        """Ends `wave`."""
        self._waving.clear()

    def moving(self) -> bool:
        """Whether the arm moves visibly."""
        arm = self.profile.group_indices("arm")
        return bool(self.states) and bool(np.abs(self.states[-1][2][arm]).max() > 0.1)

    def stand_still(self, pause_s: float) -> None:
        """Lets every process stand still for a while but those of the robot side, as a PC does for its robot."""
        pids = [pid for node in BESIDE_THE_ROBOT if (pid := self.pid(node)) is not None]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(pause_s)
        for pid in pids:
            os.kill(pid, signal.SIGCONT)

    def check_limits(self) -> None:
        """Every measured state was inside the robot's position and speed limits."""
        positions, velocities = (np.array([state[k] for state in self.states]) for k in (1, 2))
        assert (positions >= self.profile.vector("lower") - 1e-2).all()
        assert (positions <= self.profile.vector("upper") + 1e-2).all()
        arm = self.profile.group_indices("arm")
        assert (np.abs(velocities[:, arm]) <= 1.1 * self.profile.vector("velocity")[arm]).all()

    def end(self) -> int:
        """Presses Ctrl-C and returns the exit code."""
        self.hold_still()
        try:
            return super().end()
        finally:
            self.operator.close()
