"""Starts the processes of a graph, prefixes what they say, restarts them within limits, and ends them in order."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Protocol

from tendon.core.errors import StoppedError
from tendon.graph.description import RESPAWN_DELAY_S, Graph, Process
from tendon.graph.running.restarts import Restarts

SUPERVISOR_VARIABLE = "TENDON_SUPERVISOR"
"""Tells a process who started it: it ends when that one is gone."""

PATIENCE_S = ((signal.SIGTERM, 5.0), (signal.SIGINT, 2.0), (signal.SIGKILL, 2.0))
"""How a process is asked to end, and how long each request is given. A node takes the first two alike, but one that
still imports its modules would answer SIGINT with a traceback."""

_POLL_S = 0.05
_COLOURS = (36, 32, 33, 35, 34, 96, 92, 93)


class Output(Protocol):
    """Where lines go, such as stdout."""

    def write(self, text: str, /) -> object:
        """Takes a line."""

    def flush(self) -> None:
        """Brings it there."""

    def isatty(self) -> bool:
        """Returns whether colours are wanted."""


@dataclass
class _Child:
    process: Process
    colour: int
    restarts: Restarts
    popen: subprocess.Popen[str] | None = None
    reader: threading.Thread | None = None
    start_at: float = 0.0
    ended: bool = False


class ProcessGroup:
    """Runs a graph until it is interrupted or a process cannot be kept alive.

    Each child has its own session, so Ctrl-C in a terminal reaches only this process, which stops the
    robot before anything else. A child that dies is restarted as `Restarts` allows; that arms nothing: arming is a
    child of its own that runs once.

    Args:
        graph: what to run.
        stop_robot: stops the robot and returns whether it was seen at rest, or raises `StoppedError` where nobody
            answers; called once, before the children are ended.
        output: where lines go.
    """

    def __init__(self, graph: Graph, stop_robot: Callable[[], bool] | None = None, output: Output = sys.stdout) -> None:
        self._graph = graph
        self._stop_robot = stop_robot
        self._output = output
        self._coloured = output.isatty()
        self._lock = threading.Lock()
        self._width = max(len(process.name) for process in graph.processes)
        self._children = [
            _Child(process=process, colour=_COLOURS[i % len(_COLOURS)], restarts=Restarts(process))
            for i, process in enumerate(graph.processes)
        ]
        self._ending = False  # no threading.Event: its lock may be held by the thread that a signal handler interrupts
        self._code = 0

    @property
    def ending(self) -> bool:
        """Whether the graph is being ended."""
        return self._ending

    def request_end(self) -> None:
        """Makes `run` end the graph. Any thread, or a signal handler."""
        self._ending = True

    def run(self) -> int:
        """Runs the graph and returns an exit code: 0 when it was asked to end and no process had died before."""
        for child in self._children:
            self._start(child)
        try:
            while not self._ending:
                for child in self._children:
                    self._look_at(child)
                time.sleep(_POLL_S)
        finally:
            self._end_all()
        return self._code

    def pid(self, name: str) -> int | None:
        """Returns the process id of a running process of the graph."""
        for child in self._children:
            if child.process.name == name and child.popen is not None and child.popen.poll() is None:
                return child.popen.pid
        return None

    def _start(self, child: _Child) -> None:
        environment = {**os.environ, **self._graph.environment, SUPERVISOR_VARIABLE: str(os.getpid())}
        # rclpy from PyPI re-executes Python once to set LD_LIBRARY_PATH; exec keeps the pid and the session.
        child.popen = subprocess.Popen(
            child.process.command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        child.reader = threading.Thread(target=self._copy, args=(child, child.popen.stdout), daemon=True)
        child.reader.start()

    def _look_at(self, child: _Child) -> None:
        if child.ended:
            return
        if child.popen is None:
            if time.monotonic() >= child.start_at:
                self._start(child)
            return
        code = child.popen.poll()
        if code is not None:
            _signal_group(child.popen.pid, signal.SIGKILL)
            self._died(child, code)

    def _died(self, child: _Child, code: int) -> None:
        child.popen = None
        if child.process.once and code == 0:
            child.ended = True
            return
        self._code = self._code or (code if code > 0 else 1)
        now_s = time.monotonic()
        how, hopeless = child.restarts.died(code, now_s)
        if not hopeless:
            stays = "" if child.process.optional else " (the robot stays stopped until safety/reset and safety/arm)"
            self._say(child, f"{how}; restarting it{stays}")
            child.start_at = now_s + RESPAWN_DELAY_S
            return
        child.ended = True
        if child.process.optional:
            self._say(child, f"{how}; the graph goes on without it")
            return
        self._say(child, f"{how}; ending the graph")
        self.request_end()

    def _bring_to_rest(self, stop_robot: Callable[[], bool]) -> None:
        try:
            if stop_robot():
                self._log("the robot is at rest")
            else:
                self._log("the robot is stopped and latched, but was not seen at rest: look at it")
                self._code = self._code or 1
        except StoppedError:
            self._log("no answer: the robot side plays its own stop")

    def _end_all(self) -> None:
        running = [child for child in self._children if child.popen is not None]
        if self._stop_robot is not None:
            self._log("stopping the robot")
            self._bring_to_rest(self._stop_robot)
        for request, patience_s in PATIENCE_S:
            for child in running:
                if child.popen is not None:
                    _signal_group(child.popen.pid, request)
            deadline = time.monotonic() + patience_s
            while running and time.monotonic() < deadline:
                running = [child for child in running if child.popen is not None and child.popen.poll() is None]
                time.sleep(_POLL_S)
            for child in running:
                self._say(child, f"did not end within {patience_s:.0f} s of {request.name}")
        for child in self._children:
            if child.popen is not None:
                _signal_group(child.popen.pid, signal.SIGKILL)
            if child.reader is not None:
                child.reader.join(1.0)

    def _copy(self, child: _Child, stream: IO[str] | None) -> None:
        for line in stream or ():
            self._say(child, line.rstrip("\n"))

    def _say(self, child: _Child, line: str) -> None:
        name = child.process.name.rjust(self._width)
        self._write(f"\x1b[{child.colour}m{name} |\x1b[0m {line}" if self._coloured else f"{name} | {line}")

    def _log(self, line: str) -> None:
        self._write(f"{'tendon'.rjust(self._width)} | {line}")

    def _write(self, line: str) -> None:
        # A full disk or a closed terminal costs lines: a child that cannot print would stand still.
        with self._lock, contextlib.suppress(OSError, ValueError):
            self._output.write(line + "\n")
            self._output.flush()


def _signal_group(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)
