"""A thread that writes, and a queue before it that never makes who puts something in wait.

The queue is bounded by bytes. What finds it full is dropped and counted, and the episode is bad: it says so while it is
recorded and in the file. A disk that fails ends the episode's file where it is, to be recovered; the robot goes on.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path

from tendon.core.errors import InvalidDataError, StoppedError
from tendon.data.recording.episode import EpisodeEnd
from tendon.data.recording.writer import EpisodeWriter, Sample, Transform

QUEUE_BYTES = 256 << 20
"""Three seconds of three raw cameras 640x480 at 30 Hz."""
OVERHEAD = 240
"""Bytes that a message in the queue costs beside its own, rounded up from 225 measured."""
LOOK_S = 0.1


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far the writing is.

    Attributes:
        messages: of the episode that were written.
        bytes: of them.
        queued_bytes: that wait.
        dropped: topic to messages of the episode that found the queue full.
        problem: why the episode cannot be written any more; empty while it can.
        finished: the file that was finished last.
    """

    messages: int = 0
    bytes: int = 0
    queued_bytes: int = 0
    dropped: Counter[str] | None = None
    problem: str = ""
    finished: Path | None = None


_Put = tuple[str, str, int, int, int, bytes]
"""A sample while it waits. Python's collector looks at each object again and again, 34 ms for 100 000 samples during
which nothing else runs, but at a plain tuple of plain values only once."""


@dataclass(frozen=True)
class _Begin:
    open: Callable[[], EpisodeWriter]
    answer: Future[Path]


@dataclass(frozen=True)
class _End:
    end: EpisodeEnd | None
    """`None` discards."""
    answer: Future[Path]


class WriterThread:
    """Writes episodes in the order in which they were put in. All methods may be called from any thread.

    Args:
        queue_bytes: how much may wait.
        transform: makes, for each episode, what changes each message before it is written.
    """

    def __init__(self, queue_bytes: int = QUEUE_BYTES, transform: Callable[[], Transform] | None = None) -> None:
        self._most, self._begin_transform = queue_bytes, transform
        self._transform: Transform | None = None
        self._changed = threading.Condition()
        self._queue: deque[_Put | _Begin | _End] = deque()
        self._bytes = 0
        self._dropped: Counter[str] = Counter()
        self._progress = Progress()
        self._writer: EpisodeWriter | None = None
        self._closing = self._working = False
        self._thread = threading.Thread(target=self._run, name="mcap writer", daemon=True)
        self._thread.start()

    def begin(self, open_writer: Callable[[], EpisodeWriter]) -> Future[Path]:
        """Begins an episode; `open_writer` is called in the thread.

        Returns:
            Its file as soon as it is open, or the StoppedError that says why it cannot be.
        """
        begin = _Begin(open_writer, Future())
        with self._changed:
            self._dropped = Counter()
            self._queue.append(begin)
            self._changed.notify()
        return begin.answer

    def put(self, sample: Sample) -> bool:
        """Takes a message; returns whether there was room for it."""
        size = len(sample.data) + OVERHEAD
        with self._changed:
            if self._bytes + size > self._most:
                self._dropped[sample.topic] += 1
                return False
            self._bytes += size
            self._queue.append(
                (sample.topic, sample.kind, sample.log_ns, sample.publish_ns, sample.number, sample.data)
            )
            self._changed.notify()
            return True

    def end(self, end: EpisodeEnd | None) -> Future[Path]:
        """Ends the episode; `None` discards it. What was dropped is added to what it says.

        Returns:
            Its file as soon as it is finished or removed, or the StoppedError that says why it cannot be.
        """
        with self._changed:
            if end is not None and self._dropped:
                slow = "the disk or the encoding of pictures was too slow: messages were dropped"
                problem = "; ".join(filter(None, (end.problem, slow)))
                end = replace(end, dropped=dict(self._dropped), problem=problem)
            ending = _End(end, Future())
            self._queue.append(ending)
            self._changed.notify()
        return ending.answer

    def progress(self) -> Progress:
        """Returns how far it is."""
        with self._changed:
            return replace(self._progress, queued_bytes=self._bytes, dropped=Counter(self._dropped))

    def wait(self, timeout_s: float) -> bool:
        """Returns whether all that was put in is written in time."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._queue and not self._working, timeout_s)

    def close(self, timeout_s: float = 10.0) -> bool:
        """Ends the thread when all is written; returns whether that was in time."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._working = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: bool(self._queue) or self._closing, LOOK_S)
                if not self._queue and self._closing:
                    return
                batch, self._queue = self._queue, deque()
                self._working = True
            while batch:
                self._do(batch.popleft())  # what was written must not wait in memory for the rest
            self._tend()

    def _do(self, each: _Put | _Begin | _End) -> None:
        try:
            if isinstance(each, tuple):
                self._write(each)
            elif isinstance(each, _Begin):
                self._note(Progress(finished=self._progress.finished))
                self._writer = each.open()
                self._transform = None if self._begin_transform is None else self._begin_transform()
                each.answer.set_result(self._writer.path)
            elif (file := self._finish(each.end)) is not None:
                each.answer.set_result(file)
            else:
                each.answer.set_exception(StoppedError(self._progress.problem))
        except Exception as error:  # the top of this thread: whoever waits for an answer gets one, and all can see it
            self._fail(error)
            if not isinstance(each, tuple):
                each.answer.set_exception(StoppedError(self._progress.problem))

    def _write(self, put: _Put) -> None:
        topic, kind, log_ns, publish_ns, number, data = put
        with self._changed:
            self._bytes -= len(data) + OVERHEAD
        if (writer := self._writer) is None:
            return
        sample = Sample(topic=topic, kind=kind, log_ns=log_ns, publish_ns=publish_ns, number=number, data=data)
        try:
            writer.write(sample if self._transform is None else self._transform(sample))
        except InvalidDataError as error:  # a type that is not known, an encoder that fails: the others are written
            self._note(replace(self._progress, problem=str(error)))

    def _tend(self) -> None:
        if (writer := self._writer) is None:
            return
        try:
            writer.tend()
        except Exception as error:  # as in `_do`
            self._fail(error)
            return
        self._note(replace(self._progress, messages=writer.messages, bytes=writer.bytes))

    def _finish(self, end: EpisodeEnd | None) -> Path | None:
        """Returns the episode's file; `None` where it could not be written any more, which `progress` says."""
        writer, self._writer = self._writer, None
        if writer is None:
            return None
        self._note(replace(self._progress, messages=writer.messages, bytes=writer.bytes))
        if end is None:
            writer.discard()
            return writer.path
        try:
            problem = "; ".join(filter(None, (end.problem, self._progress.problem)))
            self._note(replace(self._progress, finished=writer.finish(replace(end, problem=problem))))
        except Exception:
            self._writer = writer  # `_fail` leaves its file
            raise
        return writer.path

    def _fail(self, error: Exception) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.abandon()
        where: object = "the recording"
        why = f"{type(error).__name__}: {error}"
        if isinstance(error, OSError):
            where, why = error.filename, error.strerror or str(error)
        where = where if writer is None else writer.part
        left = "; the episode is incomplete" if writer is not None else ""
        self._note(replace(self._progress, problem=f"{where} cannot be written: {why}{left}"))

    def _note(self, progress: Progress) -> None:
        with self._changed:
            self._progress = progress
