"""Record with keys: space starts and keeps, s success, f failure, d discards, q leaves.

A line says all the while what is being recorded, how long, and what is missing of it; an episode that no key ended is
told with what became of it. Leaving ends nothing: an episode that is being recorded goes on.

Example:
  tendon record keys
"""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from tendon.cli.episode_ends import EpisodeEnds
from tendon.cli.keys import Keys
from tendon.cli.operator import ask
from tendon.cli.recording import call
from tendon.core.errors import StoppedError
from tendon.core.node_status import RecorderStatus
from tendon.graph import topics
from tendon.graph.running.state import RECORDER_NODE, SILENT_S

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
    ends = EpisodeEnds()
    with keys, contextlib.suppress(KeyboardInterrupt, EOFError):
        while (key := keys.read(LOOK_S)) not in LEAVE:
            status, age_s = operator.reports.newest(RecorderStatus), operator.reports.age_s(RECORDER_NODE)
            silent_s = 0.0 if age_s is None or age_s < SILENT_S else age_s
            heard = None if silent_s else status
            if ended := ends.look(heard):
                _tell(ended)
            if key:
                _do(operator, key, heard, ends)
            print(f"\r\x1b[K{line_of(heard, silent_s)}", end="", flush=True)
    print()


def _do(operator: Operator, key: str, status: RecorderStatus | None, ends: EpisodeEnds) -> None:
    recording = status is not None and bool(status.episode)
    services = {**KEYS, " ": topics.RECORD_KEEP if recording else topics.RECORD_START}
    if key not in services:
        return
    try:
        said = call(operator, services[key])
        ends.by_key = services[key] != topics.RECORD_START
    except StoppedError as error:
        said = str(error)
    _tell(said)


def _tell(said: str) -> None:
    print(f"\r\x1b[K{time.strftime('%H:%M:%S')} {said}")


def line_of(status: RecorderStatus | None, silent_s: float = 0.0) -> str:
    """Returns a line about the recorder, which was heard last before `silent_s` where it is silent."""
    if silent_s:
        return f"the recorder is silent for {silent_s:.0f} s: `tendon status` says whether the graph still runs"
    if status is None:
        return "waiting for the recorder"
    if not status.episode:
        return f"ready, {status.kept} kept; space starts the next"
    missing = f", {status.dropped} dropped, {status.lost} lost" if status.dropped or status.lost else ""
    queued = f", {status.queued_megabytes:.0f} MB wait for the disk" if status.queued_megabytes >= 1.0 else ""
    name = status.episode.rsplit("/", 1)[-1]
    return f"{name} {status.seconds:.0f} s, {status.messages} messages, {status.megabytes:.1f} MB{queued}{missing}"
