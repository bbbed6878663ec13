"""The teleoperation node with devices that are FIFOs: `gamepad:PATH`, `spacemouse:PATH`, `lerobot:PATH`.

Whoever writes to the FIFO is the hand (`hands.Wire`), and a file PATH.unplugged pulls the plug. The libraries between,
python-evdev and pyspacemouse, are the real ones. The name is that of the node's module: simulated time waits only for
processes that run what they say they are.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import evdev
import pyspacemouse
from evdev import InputDevice

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tendon.ros2_nodes.teleop_node import main
from tendon.teleop import opening
from tests.teleop.rigs import FakeHid, FakeTeleoperator, PipeDevice, spacemouse_device


class Cable:
    """The device's end of a FIFO."""

    def __init__(self, path: Path | str) -> None:
        self._path, self._unplugged = path, Path(f"{path}.unplugged")
        self.fd = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        self._rest = b""

    def check(self) -> None:
        """Raises `FileNotFoundError` when the plug is pulled."""
        if self._unplugged.exists():
            raise FileNotFoundError(f"{self._path} is unplugged")

    def lines(self) -> list[str]:
        """Returns the lines that came since the last time."""
        with contextlib.suppress(BlockingIOError):
            self._rest += os.read(self.fd, 65536)
        *lines, self._rest = self._rest.split(b"\n")
        return [line.decode() for line in lines]


class FifoDevice(PipeDevice):
    """What is written to a FIFO, read as python-evdev reads a device."""

    def __init__(self, path: str) -> None:
        self._cable = Cable(path)
        self._cable.check()
        super().__init__(self._cable.fd)

    def read(self) -> Iterator[Any]:
        try:
            self._cable.check()
        except FileNotFoundError:
            os.close(self.fd)
        return InputDevice.read(self)


class FifoHid(FakeHid):
    """Reports that are written to a FIFO, one a line in hexadecimal."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._cable = Cable(path)
        self._cable.check()

    def read(self, size: int) -> bytes:
        self._cable.check()
        self.waiting += map(bytes.fromhex, self._cable.lines())
        return super().read(size)


class FifoTeleoperator(FakeTeleoperator):
    """Joint positions that are written to a FIFO, as one mapping a line [degrees]."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._cable, self.action = Cable(path), {}
        while not self.action:
            self._hear()
        self.action_features = dict.fromkeys(self.action, float)

    def _hear(self) -> None:
        for line in self._cable.lines()[-1:]:
            self.action = json.loads(line)

    def connect(self, calibrate: bool = True) -> None:
        self._cable.check()

    def get_action(self) -> dict[str, float]:
        self._cable.check()
        self._hear()
        return super().get_action()


if __name__ == "__main__":
    evdev.InputDevice = FifoDevice  # type: ignore[misc]
    pyspacemouse.open_by_path = lambda path, axis_convention: spacemouse_device(FifoHid(path))
    opening.make_teleoperator = FifoTeleoperator
    sys.exit(main())
