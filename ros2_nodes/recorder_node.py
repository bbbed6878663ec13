"""Records every topic of the graph, one MCAP file an episode (docs/how-to/record.md).

Services `recorder/start`, `keep`, `success`, `failure`, `discard` (std_srvs/Trigger); `recorder/note` (std_msgs/String)
takes words about the episode. Its diagnostics say what is being recorded, how much waits for the disk, and what was
lost. Nothing in here is waited for by the robot: the disk has a thread of its own, behind a bounded queue. Simulated
time waits for the recorder as for every node, so that a simulation faster than the disk is slowed and loses nothing.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from std_msgs.msg import String
from std_srvs.srv import Trigger

from tendon.core.errors import ConfigError, InvalidDataError, StoppedError
from tendon.core.node_status import Level, NodeStatus, RecorderStatus
from tendon.data.recording.episode import LONGEST_NOTE, EpisodeBegin, Outcome
from tendon.data.recording.pictures import transform_of
from tendon.data.recording.session import RecordingSession, Settings
from tendon.data.recording.writer import Sample
from tendon.graph import topics
from tendon.graph.recorded import recorded_topics, roles
from tendon.graph.running.state import RECORDER_NODE
from tendon.ros2_nodes.base.runtime import Urgency, run_node
from tendon.ros2_nodes.base.shell import NodeShell
from tendon.ros2_nodes.recorder.inputs import RecordedInputs
from tendon.ros2_nodes.recorder.provenance import hashes
from tendon.ros2_nodes.wire.cdr import deserialize

TAKE_S = 0.004
"""Between two looks for messages: two come meanwhile of what comes 500 times a second, and a queue holds 200."""
LOOK_S = 0.2
DISK_S = 2.0
"""How long an answer waits for the disk."""
FINISH_S = 8.0
"""How long the end of the graph waits for the disk."""
OUTCOMES = {
    topics.RECORD_KEEP: Outcome.UNKNOWN,
    topics.RECORD_SUCCESS: Outcome.SUCCESS,
    topics.RECORD_FAILURE: Outcome.FAILURE,
}


class RecorderNode(NodeShell):
    """Hands what comes to a `RecordingSession`."""

    def __init__(self) -> None:
        super().__init__(RECORDER_NODE, batched=True)
        folder = Path(self.setting("recordings", "outputs/recordings")).expanduser()
        transform = transform_of(self.setting("images", "raw"))
        try:
            self._session = RecordingSession(Settings(folder=folder, transform=transform))
        except OSError as error:
            raise ConfigError(f"recordings:={folder} cannot be written: {error.strerror}; choose another") from error
        self._kept = 0
        self._note_topic = str(self.resolve_topic_name(topics.RECORD_NOTE))
        wanted = recorded_topics(self.profile)
        resolved = {each.name: str(self.resolve_topic_name(each.name)) for each in wanted}
        self._task = resolved[topics.FOLLOWED_INSTRUCTION]
        used = {name: self.setting(name, "") for name in ("bundle", "suite", "residual")}
        used["policy"] = used.pop("bundle")
        self._begin = EpisodeBegin(
            robot=self._profile_setting,
            started_ns=0,
            simulated=self.time.simulated,
            hashes=hashes(self.profile, **used),
            names={name: text for name, text in used.items() if text},
            operator=self.setting("operator", ""),
            seed=self.setting("seed", ""),
            roles=roles(self.profile, resolved),
        )
        self._at_once = self.setting("at_once", True)
        self._taking, self._held_ns = threading.Lock(), None
        self._inputs = RecordedInputs(self, wanted, self._put, self._session.lose, time.time_ns)
        for name, outcome in OUTCOMES.items():
            self.create_service(Trigger, name, partial(self._answer, partial(self._keep, outcome)))
        self.create_service(Trigger, topics.RECORD_START, partial(self._answer, self._start))
        self.create_service(Trigger, topics.RECORD_DISCARD, partial(self._answer, self._discard))
        self.every(0.02, self.beat)
        self.every(LOOK_S, self._inputs.look)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="recorder", daemon=True)

    _held_ns: int | None

    def start(self) -> None:
        """Begins to take messages, and an episode where that is wanted."""
        for path in self._session.recovered:
            self.get_logger().warning(f"{path} was cut by a crash: recovered up to its last chunk")
        if self._at_once:
            try:
                self._start()
            except StoppedError as error:
                self.get_logger().error(str(error))
        self._thread.start()

    def _run(self) -> None:
        while not self._closing.is_set():
            self._take()
            held_ns = self._held_ns
            if held_ns is not None and not self._session.full:
                self._held_ns = None
                self.pass_time(held_ns)
            time.sleep(TAKE_S)

    def _take(self) -> None:
        with self._taking:
            self.take_messages()

    def through(self, now_ns: int) -> bool:
        """Returns whether simulated time may go on: not while the disk is behind."""
        self._take()
        if self._session.full:
            self._held_ns = now_ns
            return False
        return True

    def _put(self, sample: Sample) -> None:
        self._session.put(sample)
        if sample.topic == self._note_topic:
            self._note(sample)

    def _note(self, sample: Sample) -> None:
        try:
            self._session.note(str(deserialize(sample.data, String).data)[:LONGEST_NOTE])
        except (InvalidDataError, StoppedError) as error:
            self.complain(topics.RECORD_NOTE, str(error))

    def _start(self) -> str:
        with self._taking:
            newest = dict(self._inputs.newest)
            now_ns = time.time_ns()
            begin = replace(self._begin, started_ns=now_ns, instruction=self._inputs.text(self._task))
            opening = self._session.start(begin)
            for sample in newest.values():
                self._session.put(replace(sample, log_ns=now_ns))
        try:
            path = opening.result(DISK_S)
        except FutureTimeout:
            self._session.discard()
            raise StoppedError(f"nothing is recorded: the disk opened no file within {DISK_S:g} s: try again") from None
        except StoppedError as error:
            raise StoppedError(f"nothing is recorded: {error}: make room, or choose another recordings:=") from error
        self.get_logger().info(f"recording {path}")
        return f"recording {path}"

    def _keep(self, outcome: Outcome) -> str:
        self._take()
        problem, path, ending = self._session.problem, self._session.path, self._session.keep(outcome)
        try:
            said = f"kept {ending.result(DISK_S)}: {outcome.value}"
        except FutureTimeout:
            said = f"keeping {path}: {outcome.value}; the disk is still writing it, see `tendon status`"
        except StoppedError as error:
            raise StoppedError(
                f"NOT kept as {outcome.value}: {error}: make room; the recorder's next start gives back what was "
                "written, with outcome incomplete"
            ) from error
        self._kept += 1
        said += f"; it is BAD: {problem}" if problem else ""
        self.get_logger().info(said)
        return said

    def _discard(self) -> str:
        path = self._session.path
        self._session.discard()
        self.get_logger().info(f"discarded {path}")
        return f"discarded {path}"

    def _answer(self, work: Callable[[], str], _: Any, response: Trigger.Response) -> Trigger.Response:
        try:
            response.message, response.success = work(), True
        except StoppedError as error:
            response.message, response.success = str(error), False
        return response

    def health(self) -> tuple[Level, str]:
        """Returns what is being recorded, and what is missing of it."""
        if problem := self._session.problem:
            return Level.ERROR, problem
        if unknown := self._inputs.unknown:
            return Level.WARN, "; ".join(f"{topic}: {why}" for topic, why in unknown.items())
        if (path := self._session.path) is None:
            return Level.OK, "ready: `tendon record start` begins an episode"
        return Level.OK, f"recording {path.name}"

    def describe(self, status: NodeStatus) -> NodeStatus:
        """Returns a status with how far the episode is."""
        session, progress = self._session, self._session.progress
        return RecorderStatus(
            **vars(status),
            episode="" if session.path is None else str(session.path),
            seconds=round(session.seconds, 1),
            messages=progress.messages,
            megabytes=round(progress.bytes / 1e6, 1),
            queued_megabytes=round(progress.queued_bytes / 1e6, 1),
            dropped=(progress.dropped.total() if progress.dropped else 0),
            lost=session.lost,
            kept=self._kept,
        )

    def close(self) -> None:
        """Takes what has come, keeps the episode, and waits for the disk."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(1.0)
        self._take()
        if self._session.recording:
            try:
                self._keep(Outcome.UNKNOWN)
            except StoppedError as error:
                self.get_logger().error(str(error))
        if not self._session.close(FINISH_S):
            print(f"the disk was not done within {FINISH_S:.0f} s: the next start recovers the episode", flush=True)
        super().close()


def main() -> int:
    """Runs the node."""
    return run_node(RecorderNode, Urgency.THIRD, images=True)


if __name__ == "__main__":
    sys.exit(main())
