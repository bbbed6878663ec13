"""Record with keys: space starts and keeps, s success, f failure, d discards, q leaves.

A line says all the while what is being recorded, how long, and what is missing of it. Leaving ends nothing: an episode
that is being recorded goes on.

Example:
  tendon record keys
"""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from tendon.cli.keys import Keys
from tendon.cli.operator import ask
from tendon.cli.recording import call
from tendon.core.errors import StoppedError
from tendon.core.node_status import RecorderStatus
from tendon.graph import topics

if TYPE_CHECKING:
    from tendon.ros2_nodes.clients.operator import Operator

KEYS = {"s": topics.RECORD_SUCCESS, "f": topics.RECORD_FAILURE, "d": topics.RECORD_DISCARD}
LEAVE = ("q", "\x04")
LOOK_S = 0.2


def command() -> int:
    """Reads keys until q or Ctrl-C.

    Raises:
        ConfigError: it is not called on a terminal.
        StoppedError: there is no graph.
        MissingDependencyError: ROS is not installed.
    """
    keys = Keys("in a script take tendon record start, success, failure, discard")
    ask("tendon_record", lambda operator: _listen(operator, keys))
    return 0


def _listen(operator: Operator, keys: Keys) -> None:
    print("space starts and keeps, s success, f failure, d discards, q leaves")
    with keys, contextlib.suppress(KeyboardInterrupt, EOFError):
        while (key := keys.read(LOOK_S)) not in LEAVE:
            status = operator.reports.newest(RecorderStatus)
            if key:
                _do(operator, key, status)
            print(f"\r\x1b[K{line_of(status)}", end="", flush=True)
    print()


def _do(operator: Operator, key: str, status: RecorderStatus | None) -> None:
    recording = status is not None and bool(status.episode)
    services = {**KEYS, " ": topics.RECORD_KEEP if recording else topics.RECORD_START}
    if key not in services:
        return
    try:
        said = call(operator, services[key])
    except StoppedError as error:
        said = str(error)
    print(f"\r\x1b[K{time.strftime('%H:%M:%S')} {said}")


def line_of(status: RecorderStatus | None) -> str:
    """Returns a line about the recorder."""
    if status is None:
        return "waiting for the recorder"
    if not status.episode:
        return f"ready, {status.kept} kept; space starts the next"
    missing = f", {status.dropped} dropped, {status.lost} lost" if status.dropped or status.lost else ""
    queued = f", {status.queued_megabytes:.0f} MB wait for the disk" if status.queued_megabytes >= 1.0 else ""
    name = status.episode.rsplit("/", 1)[-1]
    return f"{name} {status.seconds:.0f} s, {status.messages} messages, {status.megabytes:.1f} MB{queued}{missing}"
