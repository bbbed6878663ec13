"""A person at a terminal: a real pty with a key that repeats as terminals repeat it, and eyes on how the robot goes."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import TracebackType

import numpy as np
from trajectory_msgs.msg import JointTrajectory

from tendon.core.types import Array
from tendon.graph import topics
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import RobotProfile
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.clients.operator import Operator

REPEAT_S = 0.033
"""Between two repeats of a key: 30 a second, what desktops set."""
DELAY_S = 0.4
"""From a press to its first repeat."""
COLUMNS, LINES = 118, 30
STEADY = 0.95
"""Part of the speed before below which the tool stays once it brakes."""


class Typist:
    """Runs a command on a pty of its own, and types.

    Args:
        command: such as that of a node, or `tendon teleop keyboard`.
        environment: of it.
        clock_ns: the time of the graph, for `typed_ns`.
        delay_s: from a press to the first repeat; 0 for a hand that taps as fast as a key repeats.

    Attributes:
        typed_ns: when the last key was sent, as far as this process knew.
        doubt_ns: how far the time had gone on when this process next saw it change. On a busy machine it hears of a
            simulated time late.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str] = os.environ,
        clock_ns: Callable[[], int] = time.monotonic_ns,
        delay_s: float = DELAY_S,
    ) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        self.process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**environment, "TERM": "xterm-256color"},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)
        self._clock_ns, self._delay_s = clock_ns, delay_s
        self._key, self._pressed_s = b"", 0.0
        self.typed_ns = self.doubt_ns = 0
        self._screen = bytearray()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="typist", daemon=True)
        self._thread.start()

    def __enter__(self) -> Typist:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.end()

    def hold(self, key: str) -> None:
        """Presses a key, and keeps it down."""
        self._pressed_s = time.monotonic()
        self._key = key.encode()

    def tap(self, key: str) -> None:
        """Presses a key and lets go before it repeats."""
        self._write(key.encode())

    def release(self) -> None:
        """Lets go."""
        self._key = b""

    @property
    def screen(self) -> str:
        """All that was drawn, with the terminal's own codes."""
        return self._screen.decode(errors="replace")

    def await_panel(self, patience_s: float = 60.0) -> None:
        """Waits until the panel asks for a press, or fails with what the terminal shows."""
        deadline = time.monotonic() + patience_s
        while " FREE " not in self.screen:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"no panel: {self.screen[-2000:]}")
            time.sleep(0.05)

    def close_terminal(self) -> None:
        """Closes the window: the kernel hangs up."""
        self.release()
        self._closing.set()
        self._thread.join()
        os.close(self._master)
        self._master = -1

    def end(self) -> int:
        """Presses Ctrl-C; returns the exit code."""
        self.release()
        if self._master >= 0 and self.process.poll() is None:
            with contextlib.suppress(OSError):
                self._write(b"\x03")
        try:
            self.process.wait(10.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
        code = self.process.wait()
        self._closing.set()
        self._thread.join()
        if self._master >= 0:
            os.close(self._master)
            self._master = -1
        return code

    def signal(self, number: signal.Signals) -> None:
        """Signals the process."""
        self.process.send_signal(number)

    def _write(self, data: bytes) -> None:
        os.write(self._master, data)
        self.typed_ns, self.doubt_ns = self._clock_ns(), 0

    def _run(self) -> None:
        due_s, key, pressed_s = 0.0, b"", 0.0
        while not self._closing.is_set():
            with contextlib.suppress(OSError):
                if select.select([self._master], [], [], 0.004)[0]:
                    self._screen += os.read(self._master, 65536)
            self.doubt_ns = self.doubt_ns or self._clock_ns() - self.typed_ns
            now_s = time.monotonic()
            if self._key != key or self._pressed_s != pressed_s:
                key, pressed_s, due_s = self._key, self._pressed_s, 0.0
            if key and now_s >= due_s:
                first = due_s == 0.0
                due_s = now_s + (self._delay_s if first and self._delay_s else REPEAT_S)
                with contextlib.suppress(OSError):
                    self._write(key)


class ToolWatch:
    """The speed of the tool as the commands say it, by their stamps.

    Args:
        operator: of the graph.
        profile: its robot.
        controller: of the arm.
    """

    def __init__(self, operator: Operator, profile: RobotProfile, controller: int = 0) -> None:
        spec = profile.controllers[controller]
        self._kinematics, self._home = Kinematics(profile), profile.vector("home")
        self._columns = [profile.joint_names.index(name) for name in spec.joints]
        self.samples: list[tuple[int, Array, Array]] = []
        take = partial(self._take)
        operator.node.create_subscription(JointTrajectory, topics.commands(spec), take, qos.EACH, raw=True)

    def _take(self, data: bytes) -> None:
        command = wire.read_trajectory(data)
        if len(command.velocity):
            self.samples.append((command.stamp_ns + command.times_ns[0], command.position[0], command.velocity[0]))

    def _speed(self, sample: tuple[int, Array, Array]) -> float:
        position, velocity = np.array(self._home), np.zeros(len(self._home))
        position[self._columns], velocity[self._columns] = sample[1], sample[2]
        turning = 0.05 * float(np.abs(velocity).max())
        return float(np.linalg.norm(self._kinematics.tool_velocity(position, velocity))) + turning

    def speed(self) -> float:
        """Returns it now [m/s]; a tool that turns in place has some too."""
        return self._speed(self.samples[-1]) if self.samples else 0.0

    def slowest(self, since_ns: int) -> float:
        """Returns the lowest speed since a moment [m/s]."""
        return min((self._speed(sample) for sample in self.samples.copy() if sample[0] >= since_ns), default=0.0)

    def position(self) -> Array:
        """Returns (3,) where the tool was commanded to be last [m]."""
        position = np.array(self._home)
        position[self._columns] = self.samples[-1][1]
        return self._kinematics.tool_pose(position)[0]

    def braking_s(self, since_ns: int) -> float | None:
        """Returns how long after a moment the tool went slower for good; `None` when it did not, or was not in motion.

        Speeds vary by a few percent, so it counts from the last sample that is not slower: never too early.
        """
        samples = self.samples.copy()
        before = [self._speed(sample) for sample in samples if since_ns - 300_000_000 <= sample[0] <= since_ns]
        steady = STEADY * float(np.median(before)) if before else 0.0
        fast = [sample[0] for sample in samples if self._speed(sample) >= steady]
        slow = next((sample[0] for sample in samples if fast and sample[0] > max(fast[-1], since_ns)), None)
        return None if slow is None or not steady else (slow - since_ns) * 1e-9
