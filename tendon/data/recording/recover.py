"""Recordings that were cut, at any byte: all up to the last whole chunk is given back.

The records of an MCAP file (mcap.dev/spec) are read one after the other until one is not whole or does not have its
checksum. What follows is left out, and the index is made anew.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import struct
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from mcap.data_stream import ReadDataStream, RecordBuilder
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import (
    Channel,
    Chunk,
    ChunkIndex,
    DataEnd,
    Footer,
    McapRecord,
    Message,
    MessageIndex,
    Metadata,
    MetadataIndex,
    Schema,
    Statistics,
    SummaryOffset,
)
from mcap.stream_reader import CRCValidationError, get_chunk_data_stream
from mcap.writer import MCAP0_MAGIC
from zstandard import ZstdError

from tendon.core.errors import InvalidDataError
from tendon.core.files import rename_durably
from tendon.data.recording.episode import BEGIN, END, EpisodeEnd, Outcome, to_metadata
from tendon.data.recording.writer import PART

LARGEST_RECORD = 1 << 30
HEADER = 9
"""Bytes of opcode and length before a record."""
BROKEN = (McapError, CRCValidationError, EOFError, ValueError, RuntimeError, MemoryError, struct.error, ZstdError)
"""What a torn or altered record raises in the readers of mcap, lz4 and zstandard."""

READ: dict[Opcode, Callable[[ReadDataStream], McapRecord]] = {
    Opcode.SCHEMA: Schema.read,
    Opcode.CHANNEL: Channel.read,
    Opcode.CHUNK: Chunk.read,
    Opcode.MESSAGE_INDEX: MessageIndex.read,
    Opcode.METADATA: Metadata.read,
}
"""Records of what we write; others are passed over."""


@dataclass
class Scan:
    """What a file holds up to its last whole record.

    Attributes:
        whole: it has its end and index; nothing is to be done.
        place: where what is good ends.
        size: of the file.
        chunks: their indexes.
        messages: the number on each channel.
        times: first and last log time.
        ended: the episode said how it ended.
    """

    size: int
    whole: bool = False
    place: int = 0
    chunks: list[ChunkIndex] = field(default_factory=list)
    schemas: dict[int, Schema] = field(default_factory=dict)
    channels: dict[int, Channel] = field(default_factory=dict)
    metadata: list[MetadataIndex] = field(default_factory=list)
    messages: dict[int, int] = field(default_factory=dict)
    times: tuple[int, int] | None = None
    begun: bool = False
    ended: bool = False
    last_index: dict[int, MessageIndex] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Messages."""
        return sum(self.messages.values())


def scan(path: Path) -> Scan:
    """Reads a recording up to the last whole record.

    Raises:
        InvalidDataError: it is no MCAP file, or was cut before anything of it was written.
    """
    with path.open("rb") as file:
        found = Scan(size=os.fstat(file.fileno()).st_size)
        if file.read(len(MCAP0_MAGIC)) != MCAP0_MAGIC:
            raise InvalidDataError(f"{path} is no MCAP file: it does not begin with its magic bytes")
        found.place = file.tell()
        while not found.whole and _take(file, found):
            pass
    return found


def _take(file: BinaryIO, found: Scan) -> bool:
    """Takes the next record; returns whether it was whole."""
    begin = file.tell()
    head = file.read(HEADER)
    length = int.from_bytes(head[1:], "little")
    if len(head) < HEADER or length > min(LARGEST_RECORD, found.size - begin - HEADER):
        return False
    opcode = head[0]
    if opcode == Opcode.DATA_END:  # what follows is an index, whole or not
        file.seek(-len(MCAP0_MAGIC), os.SEEK_END)
        found.whole = file.read() == MCAP0_MAGIC and _has_footer(file, found.size)
        return found.whole
    content = file.read(length)
    try:
        record = READ[Opcode(opcode)](ReadDataStream(BytesIO(content))) if opcode in READ else None
        if isinstance(record, Chunk):
            _take_chunk(record, begin, HEADER + length, found)
        elif isinstance(record, MessageIndex):
            _take_index(record, begin, HEADER + length, found)
        elif isinstance(record, Metadata):
            found.metadata.append(MetadataIndex(offset=begin, length=HEADER + length, name=record.name))
            found.begun, found.ended = found.begun or record.name == BEGIN, found.ended or record.name == END
        elif isinstance(record, Schema):
            found.schemas[record.id] = record
        elif isinstance(record, Channel):
            found.channels[record.id] = record
    except BROKEN:
        return False
    found.place = begin + HEADER + length
    return True


def _has_footer(file: BinaryIO, size: int) -> bool:
    length = HEADER + 20
    file.seek(size - len(MCAP0_MAGIC) - length)
    return file.read(1) == bytes([Opcode.FOOTER])


def _take_chunk(chunk: Chunk, begin: int, length: int, found: Scan) -> None:
    index: dict[int, MessageIndex] = {}
    schemas, channels, times = dict[int, Schema](), dict[int, Channel](), list[int]()
    stream, size = get_chunk_data_stream(chunk, validate_crc=True)
    while (place := stream.count) < size:
        opcode, record_length = stream.read1(), stream.read8()
        if opcode == Opcode.MESSAGE:
            message = Message.read(stream, record_length)
            index.setdefault(message.channel_id, MessageIndex(channel_id=message.channel_id, records=[]))
            index[message.channel_id].records.append((message.log_time, place))
            times.append(message.log_time)
        elif opcode == Opcode.SCHEMA:
            schema = Schema.read(stream)
            schemas[schema.id] = schema
        elif opcode == Opcode.CHANNEL:
            channel = Channel.read(stream)
            channels[channel.id] = channel
        else:
            stream.read(record_length)
    found.schemas |= schemas
    found.channels |= channels
    for channel, each in index.items():
        found.messages[channel] = found.messages.get(channel, 0) + len(each.records)
    if times:
        first, last = found.times or (times[0], times[0])
        found.times = min(first, *times), max(last, *times)
    found.last_index = index
    found.chunks.append(
        ChunkIndex(
            chunk_start_offset=begin,
            chunk_length=length,
            compression=chunk.compression,
            compressed_size=len(chunk.data),
            uncompressed_size=chunk.uncompressed_size,
            message_start_time=chunk.message_start_time,
            message_end_time=chunk.message_end_time,
            message_index_offsets={},
            message_index_length=0,
        )
    )


def _take_index(index: MessageIndex, begin: int, length: int, found: Scan) -> None:
    chunk = found.chunks[-1]
    chunk.message_index_offsets[index.channel_id] = begin
    chunk.message_index_length += length


def recover(path: Path, out: Path | None = None) -> Scan:
    """Makes a whole recording of one that was cut; one that is whole already is only copied.

    Args:
        path: the cut file.
        out: the new file, which must not exist; `None` mends the file itself: what is cut off is its torn end.

    Returns:
        What was found.

    Raises:
        InvalidDataError: it is no MCAP file, or holds no whole chunk.
        FileExistsError: there is something at `out`.
    """
    found = scan(path)
    if out is None and found.whole:
        return found
    if not found.whole and not found.begun and not found.chunks:
        raise InvalidDataError(f"{path} was cut before anything was recorded: there is nothing to recover")
    target = path
    if out is not None:
        target = out.with_name(out.name + PART)
        if out.exists():
            raise FileExistsError(17, "exists already", str(out))
        shutil.copyfile(path, target)
    if not found.whole:
        _complete(target, found)
    if out is not None:
        rename_durably(target, out)
    return found


def _complete(path: Path, found: Scan) -> None:
    """Cuts a torn end off, and writes what a whole file ends with. It may be interrupted and done again."""
    with path.open("r+b") as file:
        chunk = found.chunks[-1] if found.chunks else None
        if chunk is not None and len(chunk.message_index_offsets) < len(found.last_index):
            found.place = chunk.chunk_start_offset + chunk.chunk_length
            chunk.message_index_offsets, chunk.message_index_length = {}, 0
            found.metadata = [each for each in found.metadata if each.offset < found.place]
        file.truncate(found.place)
        file.seek(found.place)
        if chunk is not None and not chunk.message_index_offsets:
            for channel, index in found.last_index.items():
                chunk.message_index_offsets[channel] = file.tell()
                _write(file, index)
            chunk.message_index_length = file.tell() - found.place
        if not found.ended:
            end = EpisodeEnd(
                outcome=Outcome.INCOMPLETE,
                problem="the recorder ended before the episode did: recovered up to its last chunk",
                ended_ns=found.times[1] if found.times else 0,
            )
            begin = file.tell()
            _write(file, Metadata(name=END, metadata=to_metadata(end)))
            found.metadata.append(MetadataIndex(offset=begin, length=file.tell() - begin, name=END))
        _write(file, DataEnd(0))
        _write_summary(file, found)
        file.flush()
        os.fsync(file.fileno())


def _write(file: BinaryIO, record: McapRecord) -> None:
    builder = RecordBuilder()
    record.write(builder)
    file.write(builder.end())


def _write_summary(file: BinaryIO, found: Scan) -> None:
    start = file.tell()
    first, last = found.times or (0, 0)
    statistics = Statistics(
        attachment_count=0,
        channel_count=len(found.channels),
        channel_message_counts=found.messages,
        chunk_count=len(found.chunks),
        message_count=found.count,
        metadata_count=len(found.metadata),
        message_start_time=first,
        message_end_time=last,
        schema_count=len(found.schemas),
    )
    groups: list[tuple[Opcode, Iterable[McapRecord]]] = [
        (Opcode.SCHEMA, found.schemas.values()),
        (Opcode.CHANNEL, found.channels.values()),
        (Opcode.STATISTICS, [statistics]),
        (Opcode.CHUNK_INDEX, found.chunks),
        (Opcode.METADATA_INDEX, found.metadata),
    ]
    builder, offsets = RecordBuilder(), []
    for opcode, records in groups:
        begin = builder.count
        for record in records:
            record.write(builder)
        offsets.append(
            SummaryOffset(group_opcode=opcode, group_start=start + begin, group_length=builder.count - begin)
        )
    offset_start = start + builder.count
    for offset in offsets:
        offset.write(builder)
    summary = builder.end()
    footer = RecordBuilder()
    Footer(summary_start=start, summary_offset_start=offset_start, summary_crc=0).write(footer)
    content = footer.end()
    crc = zlib.crc32(content[: HEADER + 16], zlib.crc32(summary))
    file.write(summary + content[:-4] + crc.to_bytes(4, "little") + MCAP0_MAGIC)


def recover_folder(folder: Path) -> list[Path]:
    """Gives each recording of a folder that was cut its end and its name; returns those files.

    One that another process is writing is left alone. One that holds nothing is removed.
    """
    mended = []
    for part in sorted(folder.glob(f"*.mcap{PART}")):
        target = part.with_name(part.name.removesuffix(PART))
        with part.open("r+b") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            if target.exists():
                continue
            try:
                recover(part)
            except InvalidDataError:
                if file.read(len(MCAP0_MAGIC)) in (b"", MCAP0_MAGIC):  # cut before its first record was written
                    part.unlink()
                continue
            rename_durably(part, target)
        mended.append(target)
    return mended
