"""The start and end of a node's process: memory, scheduling and transport set up, then one loop until a signal.

Why each setting is there is measured in `docs/results.md` by `benchmarks/transport.py`.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import gc
import os
import re
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tendon.core.errors import ConfigError, MissingDependencyError, TendonError
from tendon.graph.description import EXIT_REFUSED
from tendon.graph.supervisor import SUPERVISOR_VARIABLE

if TYPE_CHECKING:
    from tendon.ros2_nodes.shell import NodeShell


SHARED_MEMORY = Path("/dev/shm")
_SPIN_S = 0.1
_LOCK = re.compile(r"fastrtps_(?:[0-9a-f]{16}|port\d{1,5})_(?:el|sl)")
_PR_SET_PDEATHSIG = 1


def require_ros() -> None:
    """Checks that rclpy can be imported.

    Raises:
        MissingDependencyError: it cannot; the message says how to get it.
    """
    try:
        import rclpy
    except ImportError as error:
        raise MissingDependencyError(
            f'ROS 2 for Python is missing ({error}): pip install "tendon[ros]", or source a ROS 2 Jazzy installation'
        ) from error
    del rclpy


def rmw_name() -> str:
    """Returns the name of the ROS middleware that would be used.

    Raises:
        ConfigError: it does not load.
    """
    import rclpy

    try:
        return str(rclpy.get_rmw_implementation_identifier())
    except (ImportError, RuntimeError) as error:
        raise ConfigError(f"RMW_IMPLEMENTATION={os.environ.get('RMW_IMPLEMENTATION', '')}: {error}") from error


def prepare_process() -> None:
    """Sets up this process for steady loops and large messages. Call it before `rclpy.init`."""
    spare = bytearray(31 << 20)  # freeing one big block raises malloc's mmap threshold, so image buffers are reused
    del spare
    gc.freeze()
    sys.setswitchinterval(5e-4)
    os.environ.setdefault("FASTRTPS_DEFAULT_PROFILES_FILE", str(Path(__file__).with_name("transport.xml")))
    parent = os.environ.get(SUPERVISOR_VARIABLE)
    if parent is not None:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGINT)
        if os.getppid() != int(parent):  # it died before the line above
            raise SystemExit(1)


def prefer_this_process() -> str:
    """Asks for real-time scheduling of all threads started from here on, and returns what was allowed."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    except OSError:
        try:
            os.setpriority(os.PRIO_PROCESS, 0, -10)
        except OSError:
            return "normal"
        return "nice -10"
    return "SCHED_FIFO 10"


def clean_shared_memory() -> int:
    """Removes Fast DDS segments whose owner was killed, and returns how many. They are locked while in use."""
    removed = 0
    for lock in SHARED_MEMORY.glob("fastrtps_*"):
        if not _LOCK.fullmatch(lock.name):
            continue
        with contextlib.suppress(OSError), lock.open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            segment = lock.with_name(lock.name[:-3])
            for path in (segment, lock, lock.with_name(f"sem.{segment.name}_mutex")):
                path.unlink(missing_ok=True)
            removed += 1
    return removed


def run_node(make: Callable[[], NodeShell]) -> int:
    """Runs one node in this process until SIGINT or SIGTERM, and returns the process's exit code.

    Args:
        make: constructs the node; called after rclpy is ready.
    """
    stopping = False

    def stop(*_: object) -> None:
        nonlocal stopping
        stopping = True

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    try:
        require_ros()
        prepare_process()
        return _spin(make, lambda: stopping)
    except TendonError as error:
        print(f"refused: {error}", file=sys.stderr, flush=True)
        return EXIT_REFUSED
    except Exception:  # the top of a node: say what happened and die, the supervisor decides what follows
        traceback.print_exc()
        return 1


def _spin(make: Callable[[], NodeShell], stopping: Callable[[], bool]) -> int:
    import rclpy
    from rclpy.experimental import EventsExecutor

    rclpy.init(args=sys.argv, signal_handler_options=rclpy.signals.SignalHandlerOptions.NO)
    try:
        node = make()
        try:
            executor = EventsExecutor()
            executor.add_node(node)
            node.start()
            while not stopping():
                executor.spin_once(_SPIN_S)  # spin() of this executor runs nothing in the Jazzy wheels
                node.check()
            node.finish(lambda: executor.spin_once(_SPIN_S))
        finally:
            node.close()
    finally:
        rclpy.try_shutdown()
    return 0
