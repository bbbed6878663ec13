"""Reads an MCAP file that may be torn or altered at any byte, and says what of it is whole.

Each record (mcap.dev/spec) must have its own form and a chunk its checksum. Behind one that has not, the next chunk or
metadata record that has is looked for.
"""

from __future__ import annotations

import mmap
import os
import re
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import (
    Channel,
    Chunk,
    ChunkIndex,
    Footer,
    Header,
    McapRecord,
    Message,
    MessageIndex,
    Metadata,
    MetadataIndex,
    Schema,
    Statistics,
)
from mcap.stream_reader import CRCValidationError, get_chunk_data_stream
from mcap.writer import MCAP0_MAGIC
from zstandard import ZstdError

from tendon.core.errors import InvalidDataError
from tendon.data.recording.episode import BEGIN, END, EpisodeBegin, EpisodeEnd, from_metadata
from tendon.data.recording.records import to_bytes

HEADER = 9
"""Bytes of opcode and length before a record."""
FOOTER = HEADER + 20
DATA_END = bytes([Opcode.DATA_END]) + (4).to_bytes(8, "little")
"""How the record begins that separates data from index."""
BROKEN = (McapError, CRCValidationError, EOFError, ValueError, RuntimeError, MemoryError, struct.error, ZstdError)
"""What a torn or altered record raises in the readers of mcap, lz4 and zstandard."""
CANDIDATE = re.compile(
    rb"\x06(?=.{36}(?:\x00\x00\x00\x00|\x03\x00\x00\x00lz4|\x04\x00\x00\x00zstd))|\x0c(?=.{7}\x00...\x00)", re.DOTALL
)
"""How a chunk begins, and a metadata record."""

READ: dict[Opcode, Callable[[ReadDataStream], McapRecord]] = {
    Opcode.HEADER: Header.read,
    Opcode.SCHEMA: Schema.read,
    Opcode.CHANNEL: Channel.read,
    Opcode.METADATA: Metadata.read,
}
"""Records without a checksum that stand outside of chunks."""


@dataclass(frozen=True, kw_only=True)
class Loss:
    """Bytes of a file that cannot be read, or cannot be trusted.

    Attributes:
        begin: the first.
        end: behind the last.
        after_ns: log time of the last message before them; `None` where there is none.
        before_ns: of the first message behind them; likewise.
        index_only: they held no message.
    """

    begin: int
    end: int
    after_ns: int | None
    before_ns: int | None
    index_only: bool


@dataclass
class Scan:
    """What of a file is whole.

    Attributes:
        size: of the file.
        whole: it has its end and index, and nothing is lost; nothing is to be done.
        place: where the last whole record ends.
        profile: that its header names.
        chunks: their indexes.
        messages: the number on each channel that is known.
        orphans: messages whose channel is described nowhere.
        expected: number of messages that the index states; `None` without one.
        times: first and last log time.
        begin: what the episode says that it is of, if it does.
        end: how the episode ended, if it says so.
        altered: something in between is not as it was written, whether it was needed or not.
    """

    size: int
    whole: bool = False
    place: int = 0
    profile: str = "ros2"
    chunks: list[ChunkIndex] = field(default_factory=list)
    schemas: dict[int, Schema] = field(default_factory=dict)
    channels: dict[int, Channel] = field(default_factory=dict)
    metadata: list[MetadataIndex] = field(default_factory=list)
    messages: dict[int, int] = field(default_factory=dict)
    orphans: int = 0
    expected: int | None = None
    times: tuple[int, int] | None = None
    begin: EpisodeBegin | None = None
    end: EpisodeEnd | None = None
    altered: bool = False
    losses: list[Loss] = field(default_factory=list)
    last_index: dict[int, MessageIndex] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Messages."""
        return sum(self.messages.values())

    @property
    def within(self) -> bool:
        """Whether more than its end is missing: its bytes cannot stay where they are."""
        return self.altered or self.orphans > 0 or any(each.end < self.size for each in self.losses)

    @property
    def lost(self) -> list[Loss]:
        """Losses that may have held messages."""
        return [each for each in self.losses if not each.index_only]


def scan(path: Path) -> Scan:
    """Reads a recording to its end.

    Raises:
        InvalidDataError: it is no MCAP file.
    """
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                scanner = _Scanner(content)
                found = scanner.run()
                if scanner.content[: len(MCAP0_MAGIC)] == MCAP0_MAGIC or found.chunks:
                    return found
    raise InvalidDataError(f"{path} is no MCAP file: it does not begin with its magic bytes")


def chunk_messages(content: mmap.mmap | bytes, index: ChunkIndex) -> Iterator[Message]:
    """Yields the messages of a chunk that `scan` found whole."""
    begin = index.chunk_start_offset + HEADER
    chunk = Chunk.read(ReadDataStream(BytesIO(content[begin : begin + index.chunk_length - HEADER])))
    for _, record in _records(chunk):
        if isinstance(record, Message):
            yield record


def _records(chunk: Chunk) -> Iterator[tuple[int, Schema | Channel | Message | None]]:
    """Yields place and content of each record of a chunk, and at last where they end.

    Raises:
        One of `BROKEN`: it has not its checksum, or a record is none.
    """
    stream, size = get_chunk_data_stream(chunk, validate_crc=True)
    while (place := stream.count) < size:
        opcode, length = stream.read1(), stream.read8()
        if opcode == Opcode.MESSAGE:
            yield place, Message.read(stream, length)
        elif opcode == Opcode.SCHEMA:
            yield place, Schema.read(stream)
        elif opcode == Opcode.CHANNEL:
            yield place, Channel.read(stream)
        else:
            stream.read(length)
    yield size, None


class _Scanner:
    def __init__(self, content: mmap.mmap) -> None:
        self.content = content
        self.found = Scan(size=len(content))
        self._schemas: list[Schema] = []
        self._channels: list[Channel] = []
        self._index_end = 0
        self._summary_start = self._read_summary()

    def run(self) -> Scan:
        """Goes through the file."""
        found, at = self.found, len(MCAP0_MAGIC)
        lost = None if self.content[:at] == MCAP0_MAGIC else 0
        index_end, spans = 0, list[tuple[int, int, bool]]()
        while at < found.size:
            end = self._take(at)
            if end is None:
                if lost is None:
                    lost, index_end = at, self._index_end
                candidate = CANDIDATE.search(self.content, at + 1)
                at = candidate.start() if candidate else found.size
            else:
                if lost is not None:
                    spans.append((lost, at, at <= index_end))
                    lost = None
                found.place = at = end
        if lost is not None:
            spans.append((lost, found.size, self._is_index(lost) or found.size <= index_end))
        found.losses = [self._loss(*span) for span in spans]
        self._settle()
        return found

    def _settle(self) -> None:
        """Adds definitions that no chunk has, and counts messages without one."""
        found = self.found
        found.altered |= any(found.schemas.setdefault(each.id, each) != each for each in self._schemas)
        found.altered |= any(found.channels.setdefault(each.id, each) != each for each in self._channels)
        for number, channel in list(found.channels.items()):
            if channel.schema_id and channel.schema_id not in found.schemas:
                del found.channels[number]
        for number in [each for each in found.messages if each not in found.channels]:
            found.orphans += found.messages.pop(number)
        if any(each.encoding.startswith("ros2") for each in found.schemas.values()) and found.profile != "ros2":
            found.altered, found.profile = True, "ros2"
        nameless = found.whole and found.begin is not None and found.end is None  # the record of its end is
        found.altered |= nameless
        if found.losses or found.within:
            found.whole = False

    def _loss(self, begin: int, end: int, index_only: bool) -> Loss:
        before = [each for each in self.found.chunks if each.chunk_start_offset < begin]
        behind = [each for each in self.found.chunks if each.chunk_start_offset >= end]
        return Loss(
            begin=begin,
            end=end,
            after_ns=max((each.message_end_time for each in before), default=None),
            before_ns=min((each.message_start_time for each in behind), default=None),
            index_only=index_only,
        )

    def _is_index(self, at: int) -> bool:
        """Whether a file's data end here, and only its index follows."""
        return self.content[at : at + HEADER] == DATA_END

    def _read_summary(self) -> int:
        """Takes what the index defines, where it has its checksum; returns where it begins, or -1."""
        at = self.found.size - len(MCAP0_MAGIC) - FOOTER
        tail = self.content[max(0, at) :]
        if at < 0 or tail[:HEADER] != bytes([Opcode.FOOTER]) + (20).to_bytes(8, "little"):
            return -1
        footer = Footer.read(ReadDataStream(BytesIO(tail[HEADER:])))
        if tail[FOOTER:] != MCAP0_MAGIC:
            return -1
        behind_data = self.content.rfind(DATA_END, 0, at) + len(DATA_END) + 4
        for start in (footer.summary_start or at, behind_data):  # the second where bytes before it are missing
            summary = self.content[start:at]
            if not footer.summary_crc or zlib.crc32(tail[: FOOTER - 4], zlib.crc32(summary)) == footer.summary_crc:
                break
        else:
            return -1
        stream = ReadDataStream(BytesIO(summary))
        try:
            while stream.count < len(summary):
                opcode, length = stream.read1(), stream.read8()
                inner = ReadDataStream(BytesIO(stream.read(length)))
                if opcode == Opcode.SCHEMA:
                    schema = Schema.read(inner)
                    self.found.schemas[schema.id] = schema
                elif opcode == Opcode.CHANNEL:
                    channel = Channel.read(inner)
                    self.found.channels[channel.id] = channel
                elif opcode == Opcode.STATISTICS:
                    self.found.expected = Statistics.read(inner).message_count
        except BROKEN:
            return -1
        return footer.summary_start or at

    def _take(self, at: int) -> int | None:
        """Takes the record at a place; returns where it ends, or `None` where none is whole."""
        head = self.content[at : at + HEADER]
        end = at + HEADER + int.from_bytes(head[1:], "little")
        if len(head) < HEADER or end > self.found.size:
            return None
        if head[0] == Opcode.DATA_END:  # what follows is an index, whole or not
            self.found.whole = end == self._summary_start
            return self.found.size if self.found.whole else None
        try:
            return end if self._take_record(head[0], at, end) else None
        except BROKEN:
            return None

    def _take_record(self, opcode: int, at: int, end: int) -> bool:
        """Takes a record; returns whether it may be there."""
        found = self.found
        if at == len(MCAP0_MAGIC) and opcode != Opcode.HEADER:  # no reader opens such a file
            found.altered = True
        if opcode == Opcode.CHUNK and not self._has_form(at, end):
            return False
        content = self.content[at:end]
        stream = ReadDataStream(BytesIO(content[HEADER:]))
        if opcode == Opcode.CHUNK:
            self._take_chunk(Chunk.read(stream), at, end)
            return True
        if opcode == Opcode.MESSAGE_INDEX:
            return self._take_index(MessageIndex.read(stream), at, end)
        if opcode not in READ:  # of other writers: ours has none
            return opcode in (Opcode.ATTACHMENT, Opcode.MESSAGE) and found.begin is None and not found.altered
        record = READ[Opcode(opcode)](stream)
        if to_bytes(record) != content:  # such as lengths that reach beyond its end
            return False
        if isinstance(record, Metadata):
            if record.name == BEGIN:
                found.begin = from_metadata(EpisodeBegin, record.metadata)
            elif record.name == END:
                found.end = from_metadata(EpisodeEnd, record.metadata)
            found.metadata.append(MetadataIndex(offset=at, length=end - at, name=record.name))
        elif isinstance(record, Schema):
            self._schemas.append(record)
        elif isinstance(record, Channel):
            self._channels.append(record)
        elif isinstance(record, Header):
            found.profile = record.profile
        return True

    def _has_form(self, at: int, end: int) -> bool:
        """Whether the lengths within a chunk make up its own: cheap, before its bytes are copied."""
        begin = at + HEADER + 28
        name = int.from_bytes(self.content[begin : begin + 4], "little")
        data = int.from_bytes(self.content[begin + 4 + name : begin + 12 + name], "little")
        return begin + 12 + name + data == end

    def _take_chunk(self, chunk: Chunk, at: int, end: int) -> None:
        found, index, times, size = self.found, dict[int, MessageIndex](), list[int](), 0
        schemas, channels = dict[int, Schema](), dict[int, Channel]()
        for place, record in _records(chunk):
            if isinstance(record, Message):
                of_channel = index.setdefault(record.channel_id, MessageIndex(record.channel_id, []))
                of_channel.records.append((record.log_time, place))
                times.append(record.log_time)
            elif isinstance(record, Schema):
                schemas[record.id] = record
            elif isinstance(record, Channel):
                channels[record.id] = record
            size = place
        found.schemas |= schemas
        found.channels |= channels
        for channel, each in index.items():
            found.messages[channel] = found.messages.get(channel, 0) + len(each.records)
        first, last = (min(times), max(times)) if times else (chunk.message_start_time, chunk.message_end_time)
        if times:
            before = found.times or (first, last)
            found.times = min(before[0], first), max(before[1], last)
        if (first, last, size) != (chunk.message_start_time, chunk.message_end_time, chunk.uncompressed_size):
            found.altered = True
        found.last_index = index
        self._index_end = end + sum(HEADER + 6 + 16 * len(each.records) for each in index.values())
        found.chunks.append(
            ChunkIndex(
                chunk_start_offset=at,
                chunk_length=end - at,
                compression=chunk.compression,
                compressed_size=len(chunk.data),
                uncompressed_size=size,
                message_start_time=first,
                message_end_time=last,
                message_index_offsets={},
                message_index_length=0,
            )
        )

    def _take_index(self, index: MessageIndex, at: int, end: int) -> bool:
        """Takes the index of the last chunk; returns whether it is one."""
        known = self.found.last_index.get(index.channel_id)
        if known is None or sorted(index.records) != sorted(known.records) or end > self._index_end:
            return False
        chunk = self.found.chunks[-1]
        chunk.message_index_offsets[index.channel_id] = at
        chunk.message_index_length += end - at
        return True
