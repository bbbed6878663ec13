"""`tendon run` as a child of a test process: it ends with it, whatever ends that one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tendon.core.errors import StoppedError
from tendon.graph.running.process_group import SUPERVISOR_VARIABLE

PATIENCE_S = 30.0
"""To stop the robot and end the nodes."""


class GraphProcess:
    """`tendon run` in a session of its own, so that Ctrl-C in the terminal does not reach it before `end` does.

    When the thread that started it is gone, even by `kill -9`, the kernel interrupts it: it stops the robot and ends
    its nodes.

    Args:
        arguments: of `tendon run`.
        log: file for what it prints.
        environment: of it and its nodes.
    """

    def __init__(self, arguments: Sequence[str], log: Path, environment: Mapping[str, str] = os.environ) -> None:
        self.log = log
        with log.open("w", encoding="utf-8") as output:
            self._run = subprocess.Popen(
                [sys.executable, "-m", "tendon.cli", "run", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**environment, SUPERVISOR_VARIABLE: str(os.getpid())},
            )

    def alive(self) -> bool:
        """Returns whether `tendon run` still runs."""
        return self._run.poll() is None

    def said(self, lines: int) -> str:
        """Returns the last lines that it and its nodes printed."""
        return "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])

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
        """Signals a node's process.

        Raises:
            StoppedError: there is no such process.
        """
        pid = self.pid(node)
        if pid is None:
            raise StoppedError(f"{node} does not run in this graph, so it gets no {number.name}: see {self.log}")
        os.kill(pid, number)

    def kill(self) -> None:
        """Kills `tendon run` itself, with no time to say anything to its nodes: they end by themselves."""
        self._run.kill()
        self._run.wait(PATIENCE_S)

    def end(self) -> int:
        """Presses Ctrl-C and returns the exit code, when the robot is stopped and the nodes have ended."""
        self._run.send_signal(signal.SIGINT)
        try:
            return self._run.wait(PATIENCE_S)
        finally:
            self._run.kill()
