"""A graph of real processes under test, with an operator, hand-made chunks and eyes on the robot."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

import numpy as np
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from tendon.core.errors import StoppedError
from tendon.core.profile import load_profile
from tendon.core.types import ActionChunk, Array
from tendon.ros2_nodes import conversion, qos
from tendon.ros2_nodes.operator import Operator

PATIENCE_S = 40.0
PROFILE = load_profile("panda")
STEP_NS = 100_000_000


class RunningGraph:
    """`tendon run` in a session of its own, until `end`."""

    def __init__(self, log: Path, *arguments: str) -> None:
        self.log = log
        with log.open("w") as output:
            self._run = subprocess.Popen(
                [sys.executable, "-m", "tendon.cli", "run", *arguments],
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.operator = Operator("test")
        self.states: list[tuple[float, Array, Array]] = []
        self._reader = conversion.JointStateReader(PROFILE.joint_names)
        node = self.operator.node
        node.create_subscription(JointState, "joint_states", self._measured, qos.STREAM)
        self._waving = threading.Event()

    def _measured(self, message: JointState) -> None:
        stamp_ns, position, velocity = self._reader.read(message)
        self.states.append((stamp_ns * 1e-9, position, velocity))

    @cached_property
    def chunks(self) -> Publisher:
        """Publishes chunks; not made before it is used, as two who may publish them are a fault."""
        return self.operator.node.create_publisher(JointTrajectory, "policy/action_chunk", qos.NEWEST)

    def wait(self, condition: Callable[[], bool], what: str, patience_s: float = PATIENCE_S) -> None:
        """Waits until something is so, or fails with what the graph printed."""
        if not self.operator.wait(condition, patience_s):
            said = {name: self.operator.said(name) for name in ("control_node", "safety_monitor", "policy_node")}
            raise AssertionError(f"not within {patience_s} s: {what}\n{said}\n{self.log.read_text()[-3000:]}")

    def pid(self, node: str) -> int | None:
        """Returns the process id of a node: a child of `tendon run` that runs its module; `None` without one."""
        for status in Path("/proc").glob("[0-9]*/status"):
            try:
                lines = status.read_text().splitlines()
                command = status.with_name("cmdline").read_text().split("\0")
            except OSError:
                continue
            parent = next(int(line.split()[1]) for line in lines if line.startswith("PPid:"))
            if parent == self._run.pid and f"tendon.ros2_nodes.{node}" in command:
                return int(status.parent.name)
        return None

    def signal(self, node: str, number: signal.Signals) -> None:
        """Signals a node's process."""
        pid = self.pid(node)
        assert pid is not None, f"{node} does not run"
        os.kill(pid, number)

    def mode(self) -> str:
        """Returns the control node's mode, as it reports it."""
        return self.operator.said("control_node").get("mode", "")

    def ready(self) -> None:
        """Waits until the graph could be armed; the latch of a fault that ended the graph before is reset."""

        def standby() -> bool:
            if self.operator.said("safety_monitor").get("state") == "latched":
                with contextlib.suppress(StoppedError):
                    self.operator.reset()
            return self.mode() == "standby" and len(self.states) > 10

        self.wait(standby, "ready")

    def arm(self) -> None:
        """Resets if need be, and arms; on a machine with other work it may take more than one attempt."""

        def armed() -> bool:
            requests = [self.operator.arm]
            if "latched" in (self.operator.said("safety_monitor").get("state"), self.mode()):
                requests.insert(0, self.operator.reset)
            for request in requests:
                with contextlib.suppress(StoppedError):
                    request()
            return self.operator.wait(lambda: self.mode() in ("armed", "running"), 1.0)

        self.wait(armed, "armed")

    def set_in_motion(self) -> None:
        """Sends chunks and arms until the robot moves: overload may stop it, which is right and not the point here."""
        self.wave()

        def moves() -> bool:
            self.arm()
            return self.operator.wait(self.moving, 3.0)

        self.wait(moves, "motion")

    def wave(self, names: tuple[str, ...] = PROFILE.joint_names) -> None:
        """Starts to send chunks that swing joint 1 by 0.4 rad around where it is, period 4 s."""
        begin_ns, middle = time.time_ns(), self.states[-1][1].copy()
        self.hold_still()
        self._waving = waving = threading.Event()
        waving.set()

        def send() -> None:
            while waving.is_set():
                stamp_ns = time.time_ns()
                times = stamp_ns + STEP_NS * np.arange(1, 11)
                rows = np.tile(middle, (10, 1))
                rows[:, 0] += 0.4 * np.sin(2 * np.pi * (times - begin_ns) * 1e-9 / 4)
                chunk = ActionChunk(
                    actions=rows, start_ns=stamp_ns + STEP_NS, step_ns=STEP_NS, observation_stamp_ns=stamp_ns
                )
                self.chunks.publish(conversion.chunk_bytes(chunk, names))
                time.sleep(0.1)

        threading.Thread(target=send, daemon=True).start()

    def hold_still(self) -> None:
        """Ends `wave`."""
        self._waving.clear()

    def moving(self) -> bool:
        """Whether the arm moves visibly."""
        return bool(self.states) and bool(np.abs(self.states[-1][2][:7]).max() > 0.1)

    def check_limits(self) -> None:
        """Every measured state was inside the robot's position and speed limits."""
        positions, velocities = (np.array([state[k] for state in self.states]) for k in (1, 2))
        assert (positions >= PROFILE.vector("lower") - 1e-2).all()
        assert (positions <= PROFILE.vector("upper") + 1e-2).all()
        assert (np.abs(velocities[:, :7]) <= 1.1 * PROFILE.vector("velocity")[:7]).all()

    def alive(self) -> bool:
        """Whether `tendon run` still runs."""
        return self._run.poll() is None

    def kill(self) -> None:
        """Kills `tendon run` itself, with no time to say anything to its nodes."""
        self._run.kill()
        self._run.wait(10)

    def end(self) -> int:
        """Presses Ctrl-C and returns the exit code."""
        self.hold_still()
        self._run.send_signal(signal.SIGINT)
        try:
            return self._run.wait(30)
        finally:
            self._run.kill()
            self.operator.close()
