"""Episode after episode to a folder: start, keep with an outcome, discard, note. No ROS in it."""

from __future__ import annotations

import contextlib
import re
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path

from tendon.core.errors import StoppedError
from tendon.data.recording.episode import EpisodeBegin, EpisodeEnd, Outcome
from tendon.data.recording.recover import recover_folder
from tendon.data.recording.schemas import typestore
from tendon.data.recording.thread import QUEUE_BYTES, Progress, WriterThread
from tendon.data.recording.writer import Durability, EpisodeWriter, Sample, Transform

_NAME = re.compile(r"episode-(\d{6})(\.recovered)?\.mcap(\.part|\.damaged)?")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Where and how to record.

    Attributes:
        folder: of the episodes; it is made.
        compression: of the chunks: none, lz4 or zstd.
        queue_bytes: how much may wait for the disk.
        durability: what a crash may cost.
        transform: makes, for each episode, what changes each message before it is written, in the thread of the disk.
    """

    folder: Path
    compression: str = "lz4"
    queue_bytes: int = QUEUE_BYTES
    durability: Durability = field(default_factory=Durability)
    transform: Callable[[], Transform] | None = None


class RecordingSession:
    """Records one episode at a time. Called from one thread; none of its methods waits for the disk but `close`.

    Args:
        settings: where and how.

    Raises:
        OSError: the folder cannot be made or read.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        settings.folder.mkdir(parents=True, exist_ok=True)
        self.recovered = recover_folder(settings.folder)
        typestore()  # a second of work, for which the first chunk must not wait
        self._thread = WriterThread(settings.queue_bytes, settings.transform)
        self._next = 0
        self._opening: Future[Path] | None = None
        self._lost: Counter[str] = Counter()
        self._notes: list[str] = []
        self._started_s = 0.0

    @property
    def recording(self) -> bool:
        """Whether an episode is being recorded, or will be when its file is open."""
        opening = self._opening
        return opening is not None and not (opening.done() and opening.exception())

    @property
    def path(self) -> Path | None:
        """The file of the episode, once it is open; `None` while there is none."""
        opening = self._opening
        return opening.result() if opening is not None and opening.done() and self.recording else None

    @property
    def seconds(self) -> float:
        """How long the episode is, in wall time."""
        return time.monotonic() - self._started_s if self.recording else 0.0

    def start(self, begin: EpisodeBegin) -> Future[Path]:
        """Begins an episode; messages are taken from now on.

        Returns:
            Its file, which has its name when it is finished, as soon as it is open; or the StoppedError that says why
            nothing is recorded.

        Raises:
            StoppedError: one is being recorded.
        """
        if self.recording:
            raise StoppedError("an episode is being recorded: keep or discard it first")
        self._lost, self._notes, self._started_s = Counter(), [], time.monotonic()
        self._opening = self._thread.begin(lambda: self._open(begin))
        return self._opening

    def _open(self, begin: EpisodeBegin) -> EpisodeWriter:
        """Opens the next file that is nobody's, other recorders' in the folder included. In the thread of the disk."""
        settings = self._settings
        found = (m for p in settings.folder.iterdir() if (m := _NAME.fullmatch(p.name)))
        self._next = max(self._next, 1 + max((int(m[1]) for m in found), default=-1))
        while True:
            path = settings.folder / f"episode-{self._next:06d}.mcap"
            self._next += 1
            with contextlib.suppress(FileExistsError):
                return EpisodeWriter(path, begin, settings.durability, settings.compression)

    def put(self, sample: Sample) -> None:
        """Takes a message, if an episode is being recorded."""
        if self.recording:
            self._thread.put(sample)

    def lose(self, topic: str, count: int) -> None:
        """Takes note of messages that a publisher has sent and that never came."""
        if self.recording:
            self._lost[topic] += count

    def note(self, text: str) -> None:
        """Adds a person's words to the episode.

        Raises:
            StoppedError: none is being recorded.
        """
        self._require()
        self._notes.append(text)

    def keep(self, outcome: Outcome) -> Future[Path]:
        """Ends the episode.

        Returns:
            Its file as soon as it is on the disk, or the StoppedError that says why it is not.

        Raises:
            StoppedError: none is being recorded.
        """
        self._require()
        self._opening = None
        problem = "messages were lost on the way to the recorder" if self._lost else ""
        end = EpisodeEnd(
            outcome=outcome, lost=dict(self._lost), notes=tuple(self._notes), problem=problem, ended_ns=time.time_ns()
        )
        return self._thread.end(end)

    def discard(self) -> Future[Path]:
        """Ends the episode and removes its file.

        Returns:
            Where it was as soon as it is removed, or the StoppedError that says why it is not.

        Raises:
            StoppedError: none is being recorded.
        """
        self._require()
        self._opening = None
        return self._thread.end(None)

    def _require(self) -> None:
        if not self.recording:
            raise StoppedError("no episode is being recorded: start one")

    @property
    def progress(self) -> Progress:
        """How far the writing is."""
        return self._thread.progress()

    @property
    def full(self) -> bool:
        """Whether half of the queue waits for the disk."""
        return self.progress.queued_bytes > self._settings.queue_bytes // 2

    @property
    def lost(self) -> int:
        """How many messages of the episode never came."""
        return self._lost.total()

    @property
    def problem(self) -> str:
        """What is wrong with the episode; empty when nothing is."""
        progress = self.progress
        dropped = progress.dropped or Counter()
        return "; ".join(
            filter(
                None,
                (
                    progress.problem,
                    f"the disk or the encoding of pictures is too slow: {dropped.total()} messages were dropped"
                    if dropped
                    else "",
                    f"{self.lost} messages were lost on the way here" if self._lost else "",
                ),
            )
        )

    def wait(self, timeout_s: float) -> bool:
        """Returns whether all is on the disk in time."""
        return self._thread.wait(timeout_s)

    def close(self, timeout_s: float = 10.0) -> bool:
        """Keeps the episode that is being recorded, and ends; returns whether all is on the disk."""
        if self.recording:
            self.keep(Outcome.UNKNOWN)
        return self._thread.close(timeout_s)
