"""One episode to one MCAP file that is readable up to its last chunk at every moment.

A chunk is closed after `Durability.chunk_s` or `chunk_bytes`, whichever comes first, and handed to the kernel, where a
killed process cannot take it back; `fdatasync` follows at most every `sync_s`, for the loss of power. While it is
written the file is called `NAME.mcap.part`; it gets its name when its index is written and on the disk.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from mcap.records import Channel, Schema
from mcap.writer import CompressionType, Writer

from tendon.core.files import naming, rename_durably
from tendon.data.recording.episode import BEGIN, END, EpisodeBegin, EpisodeEnd, to_metadata
from tendon.data.recording.records import to_bytes
from tendon.data.recording.schemas import definition

PART = ".part"
COMPRESSIONS = {"none": CompressionType.NONE, "lz4": CompressionType.LZ4, "zstd": CompressionType.ZSTD}


@dataclass(frozen=True, kw_only=True)
class Durability:
    """What a crash may cost.

    Attributes:
        chunk_s: longest time that a message is in this process only.
        chunk_bytes: largest chunk before compression.
        sync_s: longest time that a chunk is in the kernel only.
    """

    chunk_s: float = 0.5
    chunk_bytes: int = 4 << 20
    sync_s: float = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """One message as it came.

    Attributes:
        topic: absolute.
        kind: such as `sensor_msgs/msg/Image`.
        log_ns: when it was received, wall time.
        publish_ns: its stamp, or where it has none when it was sent.
        number: its publisher's count, 0 where there is none.
        data: classic CDR.
    """

    topic: str
    kind: str
    log_ns: int
    publish_ns: int
    number: int
    data: bytes


Transform = Callable[[Sample], Sample]
"""Makes a message into what is recorded of it; raises InvalidDataError where that cannot be."""


class EpisodeWriter:
    """Writes one episode. Called from one thread; any call may raise OSError.

    Args:
        path: of the finished file, such as `episode-000001.mcap`; neither it nor an unfinished one may exist.
        begin: what is known of it.
        durability: what a crash may cost.
        compression: of the chunks: none, lz4 or zstd.
    """

    def __init__(
        self, path: Path, begin: EpisodeBegin, durability: Durability | None = None, compression: str = "lz4"
    ) -> None:
        self.path, self.part = path, path.with_name(path.name + PART)
        self._durability = durability or Durability()
        self._file = self.part.open("xb", buffering=0)
        fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # whoever recovers sees that it is being written
        self._output = _Whole(self._file.fileno())
        self._mcap = Writer(
            cast(BinaryIO, self._output),
            chunk_size=self._durability.chunk_bytes,
            compression=COMPRESSIONS[compression],
        )
        self._schemas: dict[str, int] = {}
        self._channels: dict[str, int] = {}
        self.messages = self.bytes = 0
        self._flushed_s = time.monotonic()
        self._syncer = _Syncer(self._file.fileno(), self._durability.sync_s)
        try:
            if path.exists():  # whoever had the unfinished one before has finished it
                raise FileExistsError(errno.EEXIST, "exists already", str(path))
            with naming(self.part):
                self._mcap.start(profile="ros2", library="tendon")
                self._mcap.add_metadata(BEGIN, to_metadata(begin))
                self._mcap.flush()
        except OSError:
            self.discard()
            raise

    def write(self, sample: Sample) -> None:
        """Takes a message.

        Raises:
            InvalidDataError: the type of its topic is not known.
        """
        channel = self._channels.get(sample.topic) or self._channel(sample.topic, sample.kind)
        self._mcap.add_message(
            channel_id=channel,
            log_time=sample.log_ns,
            publish_time=sample.publish_ns,
            sequence=sample.number & 0xFFFFFFFF,
            data=sample.data,
        )
        self.messages += 1
        self.bytes += len(sample.data)
        self.tend()

    def _channel(self, topic: str, kind: str) -> int:
        if kind not in self._schemas:
            text = definition(kind).encode()
            self._schemas[kind] = self._mcap.register_schema(kind, "ros2msg", text)
            self._repeat(Schema(id=self._schemas[kind], name=kind, encoding="ros2msg", data=text))
        metadata = {"offered_qos_profiles": ""}  # rosbag2 looks for the key
        number = self._channels[topic] = self._mcap.register_channel(topic, "cdr", self._schemas[kind], metadata)
        self._repeat(
            Channel(id=number, topic=topic, message_encoding="cdr", schema_id=self._schemas[kind], metadata=metadata)
        )
        return number

    def _repeat(self, record: Schema | Channel) -> None:
        """Writes a definition outside of chunks too: others could not be read without the chunk that defines them."""
        self._output.write(to_bytes(record))

    def tend(self) -> None:
        """Closes the chunk when that is due; call it several times a second, also when nothing comes."""
        now_s = time.monotonic()
        if now_s - self._flushed_s >= self._durability.chunk_s:
            self._mcap.flush()
            self._flushed_s = now_s
        self._syncer.check()

    def finish(self, end: EpisodeEnd) -> Path:
        """Writes what is left, the end and the index, and gives the file its name."""
        self._mcap.flush()
        self._mcap.add_metadata(END, to_metadata(end))
        self._mcap.finish()
        self._syncer.close()
        os.fsync(self._file.fileno())
        self._file.close()
        rename_durably(self.part, self.path)
        return self.path

    def discard(self) -> None:
        """Removes the file."""
        self._syncer.close()
        self._file.close()
        self.part.unlink(missing_ok=True)

    def abandon(self) -> None:
        """Leaves what is on the disk as it is, after an OSError."""
        self._syncer.close()
        with contextlib.suppress(OSError):
            self._file.close()


class _Syncer:
    """Syncs a file every so often in a thread of its own: a busy disk takes seconds for it, and chunks need not wait.

    Args:
        number: of the open file.
        period_s: between two.
    """

    def __init__(self, number: int, period_s: float) -> None:
        self._number, self._period_s = number, period_s
        self._closing = threading.Event()
        self._error: OSError | None = None
        self._thread = threading.Thread(target=self._run, name="fdatasync", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._closing.wait(self._period_s):
            try:
                os.fdatasync(self._number)
            except OSError as error:
                self._error = error
                return

    def check(self) -> None:
        """Raises what the disk said to the last sync, if that was an error."""
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """Ends the thread."""
        self._closing.set()
        self._thread.join()


class _Whole:
    """A file whose `write` takes all or raises: the kernel may take a part, as on a full disk."""

    def __init__(self, number: int) -> None:
        self._number, self._place = number, 0

    def write(self, data: bytes) -> int:
        left = memoryview(data)
        while left:
            written = os.write(self._number, left)
            self._place += written
            left = left[written:]
        return len(data)

    def tell(self) -> int:
        return self._place

    def flush(self) -> None:
        """Nothing is buffered here."""
