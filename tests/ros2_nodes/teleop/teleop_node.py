"""The teleoperation node with a gamepad that is a FIFO: `gamepad:PATH` opens PATH, and a file PATH.unplugged pulls it.

The name is that of the node's module: simulated time waits only for processes that run what they say they are.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import evdev
from evdev import InputDevice

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tendon.ros2_nodes.teleop_node import main
from tests.teleop.rigs import PipeDevice


class FifoDevice(PipeDevice):
    """What is written to a FIFO, read as python-evdev reads a device."""

    def __init__(self, path: str) -> None:
        self._unplugged = Path(f"{path}.unplugged")
        if self._unplugged.exists():
            raise FileNotFoundError(f"{path} is unplugged")
        super().__init__(os.open(path, os.O_RDWR | os.O_NONBLOCK))

    def read(self) -> Iterator[Any]:
        if self._unplugged.exists():
            os.close(self.fd)
        return InputDevice.read(self)


if __name__ == "__main__":
    evdev.InputDevice = FifoDevice  # type: ignore[misc]
    sys.exit(main())
