"""Hands on devices: what is written to a FIFO that a node takes for a device, and an arm that somebody leads."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from tendon.core.types import Array

SAID_S = 0.01
"""An arm says where it is 100 times a second."""


def with_fifos(command: Sequence[str]) -> list[str]:
    """Returns the command of the teleoperation node whose devices are FIFOs, from that of the real one."""
    interpreter, _, _, *arguments = command
    return [interpreter, str(Path(__file__).with_name("teleop_node.py")), *arguments]


class Wire:
    """The person's end of a device that is a FIFO (see `teleop_node.py`).

    Args:
        path: of the FIFO.
    """

    def __init__(self, path: Path) -> None:
        self.path, self._unplugged = path, Path(f"{path}.unplugged")
        if not path.exists():
            os.mkfifo(path)
        self._fd = os.open(path, os.O_RDWR | os.O_NONBLOCK)

    def write(self, data: bytes) -> None:
        """Lets the device say something; what nobody reads is lost."""
        try:
            os.write(self._fd, data)
        except BlockingIOError:
            os.read(self._fd, 1 << 20)

    def plug(self) -> None:
        """Plugs the device in."""
        self._unplugged.unlink(missing_ok=True)

    def unplug(self) -> None:
        """Pulls its plug."""
        self._unplugged.touch()


class LedArm:
    """An arm whose first joint somebody turns: says where its joints are until it falls silent.

    Args:
        say: sends (n,) positions [rad].
        home: (n,) where it begins.
        clock_ns: the time in which it goes.

    Attributes:
        silent: while it is set, the arm says nothing.
    """

    def __init__(self, say: Callable[[Array], None], home: Array, clock_ns: Callable[[], int]) -> None:
        self._say, self._position, self._clock_ns = say, np.array(home), clock_ns
        self._speed, self._since_ns = 0.0, clock_ns()
        self.silent, self._ended = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="led arm", daemon=True)

    def __enter__(self) -> LedArm:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def go(self, speed: float) -> None:
        """Turns the joint on at a speed [rad/s]."""
        self._speed = speed

    def jump(self, angle: float) -> None:
        """Turns the joint by an angle [rad] at once."""
        self._position[0] += angle

    def _run(self) -> None:
        while not self._ended.wait(SAID_S):
            now_ns = self._clock_ns()
            self._position[0] += self._speed * (now_ns - self._since_ns) * 1e-9
            self._since_ns = now_ns
            if not self.silent.is_set():
                self._say(self._position)
