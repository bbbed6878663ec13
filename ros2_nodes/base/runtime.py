"""The start and end of a node's process: memory, scheduling and transport set up, then one loop until a signal.

Why each setting is there is measured in `docs/results/transport.md` by `benchmarks/studies/transport.py`.
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
import tempfile
import traceback
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from tendon.core.distribution import pip_install
from tendon.core.errors import ConfigError, MissingDependencyError, TendonError
from tendon.graph.description import EXIT_REFUSED, PRIORITY_VARIABLE, RANGE_VARIABLE
from tendon.graph.running.ending import END_REQUESTS, on_end_request
from tendon.graph.running.process_group import SUPERVISOR_VARIABLE
from tendon.ros2_nodes.base.middleware import require_middleware

if TYPE_CHECKING:
    from tendon.ros2_nodes.base.shell import NodeShell


_NICE = -10


class Urgency(Enum):
    """Which process goes before which."""

    FIRST = 10
    """What keeps the robot safe: SCHED_FIFO with this priority."""
    SECOND = 5
    """A simulated robot, likewise. It needs a second of CPU to load, and must not hold up the others."""
    THIRD = 0
    """Cameras and inference: preferred to what else runs on the machine, but long enough to need the scheduler."""


TRANSPORT_VARIABLE = "FASTRTPS_DEFAULT_PROFILES_FILE"
SHARED_MEMORY = Path("/dev/shm")
_LOCK = re.compile(r"fastrtps_(?:[0-9a-f]{16}|port\d{1,5})_(?:el|sl)")
_PR_SET_PDEATHSIG = 1


def require_ros() -> None:
    """Checks that rclpy can be imported, and gives it a place for its log files and settings of its transport.

    Raises:
        MissingDependencyError: it cannot; the message says how to get it.
        ConfigError: `RMW_IMPLEMENTATION` names a middleware that is not installed.
    """
    require_middleware()
    try:
        import rclpy
    except ImportError as error:
        raise MissingDependencyError(
            f"ROS 2 for Python is missing ({error}): {pip_install('ros')}, or source a ROS 2 Jazzy installation"
        ) from error
    del rclpy
    _choose_log_folder()
    _use_transport("transport_others.xml")


def _choose_log_folder() -> None:
    """Gives ROS's own log files a place where theirs cannot be written: without one no context starts, nor any stop."""
    named = os.environ.get("ROS_LOG_DIR")
    usual = Path(named or Path(os.environ.get("ROS_HOME") or "~/.ros", "log"))
    for folder in (usual, Path(tempfile.gettempdir(), f"tendon-ros-log-{os.getuid()}")):
        with contextlib.suppress(OSError, RuntimeError):  # RuntimeError: a user without a home folder
            place = folder.expanduser()
            place.mkdir(parents=True, exist_ok=True)
            if os.access(place, os.W_OK):
                if folder is not usual:
                    os.environ["ROS_LOG_DIR"] = str(place)
                    if named:
                        print(f"ROS_LOG_DIR {named} cannot be written: {place} is used", file=sys.stderr)
                return


def prepare_process(images: bool = False) -> None:
    """Sets up this process for steady loops and large messages. Call it before `rclpy.init`.

    Args:
        images: it sends or takes images, for which shared memory is faster; others keep better time without.
    """
    spare = bytearray(31 << 20)  # freeing one big block raises malloc's mmap threshold, so image buffers are reused
    del spare
    gc.freeze()
    sys.setswitchinterval(5e-4)
    _choose_transport(images)
    parent = os.environ.get(SUPERVISOR_VARIABLE)
    if parent is not None:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGINT)
        if os.getppid() != int(parent):  # it died before the line above
            raise SystemExit(1)


def _choose_transport(images: bool) -> None:
    name = "transport_images.xml" if images else "transport_small.xml"
    local = not images and os.environ.get(RANGE_VARIABLE) == "LOCALHOST"
    if _use_transport("transport_small_local.xml" if local else name) and local:
        os.environ[RANGE_VARIABLE] = "SYSTEM_DEFAULT"


def _use_transport(name: str) -> bool:
    """Sets the Fast DDS profile; returns false, and leaves it, where the user has set one of his own that is there."""
    folder = Path(__file__).parent
    place = os.environ.get(TRANSPORT_VARIABLE)
    if place and Path(place).parent != folder:
        if Path(place).is_file():
            return False
        print(f"{TRANSPORT_VARIABLE} names {place}, which is no file: Tendon's own is used", file=sys.stderr)
    os.environ[TRANSPORT_VARIABLE] = str(folder / name)
    return True


GONE_S = 10
"""A process ends at most this long after its node was closed; its robot was stopped before."""


def prefer_this_process(urgency: Urgency) -> None:
    """Asks for the scheduling of all threads started from here on; where it is not allowed, nothing changes."""
    if os.environ.get(PRIORITY_VARIABLE) == "normal":
        return
    with contextlib.suppress(OSError):
        if urgency is Urgency.THIRD:
            os.setpriority(os.PRIO_PROCESS, 0, _NICE)
            if os.getsid(0) == os.getpid():  # Linux shares out CPU by session first; `tendon run` gives us our own
                Path("/proc/self/autogroup").write_text(str(_NICE))
        else:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(urgency.value))


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


def run_node(make: Callable[[], NodeShell], urgency: Urgency, images: bool = False) -> int:
    """Runs one node in this process until SIGINT, SIGTERM or SIGHUP, and returns the process's exit code.

    Args:
        make: constructs the node; called after rclpy is ready.
        urgency: of this process.
        images: see `prepare_process`.
    """
    prefer_this_process(urgency)
    stopping = False

    def stop(*_: object) -> None:
        nonlocal stopping
        stopping = True

    on_end_request(stop)
    try:
        require_ros()
        prepare_process(images)
        return _spin(make, lambda: stopping)
    except TendonError as error:
        print(f"refused: {error}", file=sys.stderr, flush=True)
        return EXIT_REFUSED
    except Exception:  # the top of a node: say what happened and die, the process group decides what follows
        traceback.print_exc()
        return 1


def _spin(make: Callable[[], NodeShell], stopping: Callable[[], bool]) -> int:
    import rclpy
    from rclpy.experimental import EventsExecutor

    try:
        rclpy.init(args=sys.argv, signal_handler_options=rclpy.signals.SignalHandlerOptions.NO)
    except RuntimeError as error:  # a file or argument after --ros-args, or the middleware
        raise ConfigError(f"ROS does not start: {error}") from error
    try:
        node = make()
        try:
            node.refuse_unknown()
            executor = EventsExecutor()
            executor.add_node(node)
            node.start()
            node.join_time()

            def turn() -> None:
                executor.spin_once(node.turn())  # for one event; its spin() runs nothing in the Jazzy wheels

            while not stopping():
                turn()
            node.finish(turn)
        finally:
            node.close()
            # Fast DDS may wait for ever for a callback of a participant that goes, and holds Python's lock meanwhile.
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(GONE_S)
    finally:
        for number in END_REQUESTS:  # a second one, while Python ends, is no other end
            signal.signal(number, signal.SIG_IGN)
        rclpy.try_shutdown()
    return 0
