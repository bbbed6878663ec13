"""The event log: lines of JSON, each with a hash over the line before and itself, so that no line can be altered alone.

A thread of its own writes. Whoever logs only appends to a queue that is bounded in lines and in bytes: a disk that is
full or slow loses lines, which are counted and reported in the log, and delays nobody.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tendon.core.errors import IntegrityError
from tendon.safety.latch import state_folder

QUEUE, QUEUE_BYTES = 4096, 32 << 20
"""Lines that wait at most, and the memory that they take: 20 s of a moving robot, of eight joints or of thirty."""
MAX_BYTES = 128 << 20
"""A file larger than this is followed by another, whose first line holds the hash of the last."""
FILES = 16
"""Files that are kept of a robot in a domain."""
BATCH = 256
"""Lines of one write."""
SYNC_S = 1.0
GATHER_S = 0.05
"""How long lines are gathered before they are written. A moving robot logs 300 a second; a thread that woke up for each
would take the interpreter from the monitor as often."""
_MARK = ',"sha256":"'
_END = '"}'
_DIGITS = 64


class EventLog:
    """One run's log.

    Args:
        folder: where files are made, named after `prefix` and the time.
        prefix: such as "panda-0": robot and ROS domain.
        header: for the first line of each file: profile digest, filter parameters.
    """

    def __init__(self, folder: Path, prefix: str, header: Mapping[str, Any]) -> None:
        self._folder, self._prefix, self._header = folder, prefix, dict(header)
        self._queue: deque[tuple[str, int, dict[str, Any], int]] = deque()
        self._put_bytes = self._taken_bytes = 0  # each is counted by one thread
        self._reported = 0
        self.lost = 0
        """Lines that were dropped since the start."""
        self.problem = ""
        """Why lines are not written now; empty when they are."""
        self.path: Path | None = None
        self._file: int | None = None
        self._size = self._parts = self._count = 0
        self._hash = ""
        self._ready = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="event log", daemon=True)
        self._thread.start()

    def put(self, kind: str, **values: Any) -> None:
        """Logs one event; returns at once. Values are what JSON knows, and are not changed any more. One thread."""
        size = _size(values)
        if len(self._queue) >= QUEUE or self._put_bytes - self._taken_bytes + size > QUEUE_BYTES:
            self.lost += 1
            return
        self._put_bytes += size
        self._queue.append((kind, time.time_ns(), values, size))
        self._ready.set()

    def close(self, timeout_s: float = 1.0) -> None:
        """Ends the thread when everything is written, or after a while."""
        self._closing = True
        self._ready.set()
        self._thread.join(timeout_s)

    def _run(self) -> None:
        synced = time.monotonic()
        while not (self._closing and not self._queue):
            if self._ready.wait(SYNC_S) and not self._closing:
                time.sleep(GATHER_S)
            self._ready.clear()
            last = self._closing
            try:
                while self._queue:
                    self._write_all()
                if self._file is not None and time.monotonic() - synced > SYNC_S:
                    os.fsync(self._file)
                    synced = time.monotonic()
                self.problem = ""
            except OSError as error:
                self.problem = f"the event log cannot be written: {error.strerror}"
                if last:
                    break
                if not self._closing:
                    time.sleep(SYNC_S)
                self._ready.set()
        if self._file is not None:
            os.close(self._file)

    def _write_all(self) -> None:
        """Writes what waits, in one call; a part that the disk did not take is cut off again and waits on."""
        if self._file is None or self._size > MAX_BYTES:
            self._open()
        file = self._file
        if file is None:
            return
        waiting = [self._queue[k] for k in range(min(BATCH, len(self._queue)))]
        bodies = [_body(kind, at_ns, values) for kind, at_ns, values, _ in waiting]
        lost = self.lost
        if lost > self._reported:
            bodies.insert(0, _body("dropped", time.time_ns(), {"lines": lost - self._reported}))
        lines, link = [], self._hash
        for body in bodies:
            line, link = seal(body, link)
            lines.append(line)
        data = "".join(lines).encode()
        try:
            if os.write(file, data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError:
            os.ftruncate(file, self._size)
            os.lseek(file, self._size, os.SEEK_SET)
            raise
        self._size += len(data)
        self._hash, self._reported = link, lost
        for *_, size in waiting:
            self._queue.popleft()
            self._taken_bytes += size

    def _open(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        name = f"{self._prefix}-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{os.getpid()}-{self._parts}.jsonl"
        path = self._folder / name
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        line, link = seal(_body("header", time.time_ns(), {**self._header, "after": self._hash}), "")
        data = line.encode()
        try:
            if os.write(file, data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError:
            os.close(file)
            path.unlink()
            raise
        if self._file is not None:
            os.close(self._file)
        self._file, self.path, self._hash, self._size = file, path, link, len(data)
        self._parts += 1
        for old in log_files(self._folder, self._prefix)[:-FILES]:
            old.unlink(missing_ok=True)


def _size(value: Any) -> int:
    """Returns about how much memory a value of JSON takes [bytes]; of a list of numbers its first one tells."""
    size = sys.getsizeof(value)
    if isinstance(value, dict):
        return size + sum(map(_size, value.values()))
    if not isinstance(value, list | tuple) or not value:
        return size
    if isinstance(value[0], float):
        return size + len(value) * sys.getsizeof(value[0])
    return size + sum(map(_size, value))


def _body(kind: str, at_ns: int, values: Mapping[str, Any]) -> str:
    return json.dumps({"kind": kind, "at": at_ns, **values}, separators=(",", ":"))


def seal(body: str, link: str) -> tuple[str, str]:
    """Returns the line of a JSON object, and the hash that the next line continues.

    Args:
        body: of the object, without spaces around.
        link: the hash of the line before; empty for the first.
    """
    digest = hashlib.sha256((link + body).encode()).hexdigest()
    return f"{body[:-1]}{_MARK}{digest}{_END}\n", digest


def log_files(folder: Path, prefix: str = "") -> list[Path]:
    """Returns the logs in a folder, the oldest first."""
    return sorted(
        folder.glob(f"{prefix}-*.jsonl" if prefix else "*.jsonl"), key=lambda path: (path.stat().st_mtime_ns, path.name)
    )


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A log that was read.

    Attributes:
        events: the lines, as far as each continues the one before.
        altered: number of the first line that does not, from 1; `None` when all do.
        cut: whether the file ends within a line, as when the machine lost power.
    """

    events: tuple[dict[str, Any], ...]
    altered: int | None
    cut: bool

    @property
    def whole(self) -> bool:
        """Whether every line is as it was written."""
        return self.altered is None and not self.cut


def read_log(path: Path) -> Reading:
    """Reads a log and checks its chain.

    Raises:
        IntegrityError: there is no such file, or no line of it can have come from an event log.
    """
    fix = f"name a RUN.jsonl of {state_folder() / 'log'}"
    try:
        data = path.read_bytes()
    except OSError as error:
        raise IntegrityError(f"no event log at {path}: {error.strerror}; {fix}") from error
    if _MARK.encode() not in data:
        raise IntegrityError(f"{path} is no event log: expected lines of JSON that end in a sha256; {fix}")
    events: list[dict[str, Any]] = []
    link = ""
    lines = data.split(b"\n")
    rest = lines.pop()
    for number, line in enumerate(lines, start=1):
        opened = _open_line(line, link)
        if opened is None:
            return Reading(events=tuple(events), altered=number, cut=False)
        event, link = opened
        events.append(event)
    return Reading(events=tuple(events), altered=None, cut=bool(rest) or not lines)


def _open_line(line: bytes, link: str) -> tuple[dict[str, Any], str] | None:
    """Returns the object of a line and its hash; `None` when the line does not continue `link`."""
    tail = len(_MARK) + _DIGITS + len(_END)
    try:
        text = line.decode()
        body = f"{text[:-tail]}}}"
        event = json.loads(body)
    except ValueError:
        return None
    sealed, digest = seal(body, link)
    if not isinstance(event, dict) or sealed != f"{text}\n":
        return None
    return event, digest


def lines_of(events: tuple[dict[str, Any], ...], kind: str) -> Iterator[dict[str, Any]]:
    """Yields the events of a kind."""
    return (event for event in events if event["kind"] == kind)
