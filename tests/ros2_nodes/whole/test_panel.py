"""`tendon run` on a real terminal: the panel says READY and what to type, Ctrl-C stops the robot and ends the graph."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tendon.core.causes import Cause
from tendon.safety.event_log import log_files, read_log
from tests.ros2_nodes.running_graph import PATIENCE_S

pytestmark = pytest.mark.graph


START = (
    "import fcntl, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
    "from tendon.cli import main; sys.exit(main(['run', *sys.argv[1:]]))"
)
"""`tendon run` as a shell starts it: the terminal is the one that controls it, whose end is a SIGHUP."""


class Terminal:
    """A pseudo-terminal of 80x24 and what was written to it."""

    def __init__(self) -> None:
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.text = ""
        self._closing = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while not self._closing:
            if select.select([self.master], [], [], 0.1)[0]:
                data = os.read(self.master, 65536)
                self.text += re.sub(r"\x1b\[[0-9;]*m", "", data.decode(errors="replace"))

    def close(self) -> None:
        """Closes the window."""
        self._closing = True
        self._reader.join()
        os.close(self.slave)
        os.close(self.master)


def until(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + PATIENCE_S
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.1)
    return condition()


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    """A window that is closed in the end."""
    opened = Terminal()
    yield opened
    with contextlib.suppress(OSError):
        opened.close()


def start(terminal: Terminal, state: Path, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", START, *arguments],
        stdin=terminal.slave,
        stdout=terminal.slave,
        stderr=terminal.slave,
        env={**os.environ, "TERM": "xterm", "TENDON_STATE": str(state)},
        start_new_session=True,
    )


def test_the_panel_of_a_real_graph(terminal: Terminal, tmp_path: Path) -> None:
    graph = start(terminal, tmp_path, "policy:=none")
    try:
        assert until(lambda: "safety arm" in terminal.text), terminal.text[-3000:]
        assert until(lambda: re.search(r"joint states +\d+\.\d Hz", terminal.text) is not None)
        assert re.search(r"(?<!NOT) READY ", terminal.text)
        graph.send_signal(signal.SIGINT)
        assert graph.wait(30) == 0
    finally:
        graph.kill()
    assert until(lambda: "the robot is at rest" in terminal.text.rpartition("\x1b[?1049l")[2])
    (log,) = (tmp_path / "log").glob("*.graph.log")
    assert str(log) in terminal.text.rpartition("\x1b[?1049l")[2].replace("\r\n", "")
    assert "safety_monitor | " in log.read_text()


@pytest.mark.parametrize(
    "arguments", [pytest.param([], id="panel"), pytest.param(["--plain", "home_on_exit:=true"], marks=pytest.mark.laws)]
)
def test_a_closed_terminal_stops_the_robot_first(terminal: Terminal, tmp_path: Path, arguments: list[str]) -> None:
    """The kernel sends SIGHUP, and every write to the terminal fails from then on."""
    graph = start(terminal, tmp_path, "backend:=mock", "policy:=none", "arm:=true", *arguments)
    try:
        assert until(lambda: "ARMED" in terminal.text), terminal.text[-3000:]
        terminal.close()
        assert graph.wait(60) == 0
    finally:
        graph.kill()
    event_log = log_files(tmp_path / "log")[-1]
    events = read_log(event_log).events
    assert events[-1]["kind"] == "end"
    assert any(event.get("cause") == Cause.REQUESTED.value for event in events)
    for log in (tmp_path / "log").glob("*.graph.log"):
        assert "the robot is at rest" in log.read_text()
