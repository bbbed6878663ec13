"""What a bad machine does to a process tree: other work beside it, one core, no priority, pauses."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

BUSY_PROCESSES = 3


@dataclass(frozen=True, kw_only=True)
class Condition:
    """How a command is run.

    Attributes:
        prefix: what stands before its command line.
        busy: processes beside it that never rest, at nice 0.
    """

    prefix: tuple[str, ...] = ()
    busy: int = 0


NO_REALTIME = ("setpriv", "--bounding-set=-sys_nice", "--")
CONDITIONS = {
    "idle": Condition(),
    "busy": Condition(busy=BUSY_PROCESSES),
    "one-core": Condition(prefix=("taskset", "-c", "0")),
    "no-realtime": Condition(prefix=NO_REALTIME),
    "nice": Condition(prefix=(*NO_REALTIME, "nice", "-n", "19")),
}


def _spin(parent: int) -> None:
    while os.getppid() == parent:
        for _ in range(100_000):
            pass


@contextlib.contextmanager
def beside(busy: int) -> Iterator[None]:
    """Runs busy processes as long as the context lasts."""
    loops = [multiprocessing.Process(target=_spin, args=(os.getpid(),), daemon=True) for _ in range(busy)]
    for loop in loops:
        loop.start()
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.join()


def tree(root: int) -> list[int]:
    """Returns a process and all that descend from it, parents first."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    found = [root]
    for pid in found:
        found += children.get(pid, [])
    return found


def pause(root: int, pause_s: float) -> None:
    """Stops a process and all that descend from it for a while: to them, the machine stands still."""
    pids = tree(root)
    for number in (signal.SIGSTOP, signal.SIGCONT):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        if number is signal.SIGSTOP:
            time.sleep(pause_s)


def start(condition: Condition, command: list[str], environment: dict[str, str]) -> subprocess.Popen[str]:
    """Starts a command under a condition, what it prints in a pipe, in a session of its own."""
    return subprocess.Popen(
        [*condition.prefix, *command],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
