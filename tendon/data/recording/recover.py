"""Recordings that were cut or altered, at any byte: all that is whole is given back, and what is lost is named.

Where only the end is missing, the file's bytes stay and the index is made anew. Where something within is, its whole
messages are written to a new file.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import itertools
import mmap
import os
import shutil
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from mcap.data_stream import ReadDataStream, RecordBuilder
from mcap.opcode import Opcode
from mcap.records import DataEnd, Footer, McapRecord, Metadata, MetadataIndex, Statistics, SummaryOffset
from mcap.writer import MCAP0_MAGIC, Writer

from tendon.core.errors import InvalidDataError
from tendon.core.files import rename_durably
from tendon.data.recording.episode import END, LONGEST_NOTE, EpisodeEnd, Outcome, to_metadata
from tendon.data.recording.records import to_bytes
from tendon.data.recording.scan import HEADER, Scan, chunk_messages, scan
from tendon.data.recording.schemas import typestore
from tendon.data.recording.writer import COMPRESSIONS, PART

RECOVERED = ".recovered"
"""In the name of what was recovered of a file by hand, before `.mcap`."""
DAMAGED = ".damaged"
"""Behind the name of a file that was altered within, or cut, beside what was recovered of it."""
LARGEST_EMPTY = 1 << 16
"""Bytes of the largest file without a whole record that is taken for one that was cut at its begin."""


def recover(path: Path, out: Path | None = None) -> Scan:
    """Makes a whole recording of one that was cut or altered; where it is whole already, nothing is written.

    Args:
        path: the file.
        out: the new file, which must not exist; `None` mends the file itself, where only its end is torn.

    Returns:
        What was found.

    Raises:
        InvalidDataError: it is no MCAP file, holds no whole chunk, or is to be mended and was altered within.
        FileExistsError: there is something at `out`.
    """
    found = scan(path)
    _give_back(path, out, found)
    return found


def _give_back(path: Path, out: Path | None, found: Scan) -> None:
    """Does what `recover` says with a file that was read."""
    if found.whole and (out is None or not path.name.endswith(PART)):  # one that has not its name yet is given it
        return
    if found.begin is None and not found.chunks:
        raise InvalidDataError(f"{path} was cut before anything was recorded: there is nothing to recover")
    if out is None:
        if found.within:
            raise InvalidDataError(f"{path} was altered within: recover it to a new file")
        _complete(path, found)
        return
    if out.exists():
        raise FileExistsError(17, "exists already", str(out))
    target = out.with_name(out.name + PART)
    if target.exists() and target.samefile(path):
        target = out.with_name(out.name + ".new")
    try:
        if found.within:
            _rewrite(path, target, found)
        else:
            shutil.copyfile(path, target)
            if found.whole:
                with target.open("rb+") as file:
                    os.fsync(file.fileno())
            else:
                _complete(target, found)
        rename_durably(target, out)
    except BaseException:
        target.unlink(missing_ok=True)
        raise


def recover_part(part: Path, out: Path) -> Scan:
    """Recovers a file that has not its name yet, so that no recorder does it again; see `recover`.

    When the new file is on the disk, the old one is removed where that is the whole of it, else it is NAME.damaged.
    Where its place cannot be written, as on a disk that fails, it stays as it is.

    Raises:
        BlockingIOError: it is being written.
    """
    with part.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BlockingIOError(errno.EAGAIN, "is being written: wait until that has ended", str(part)) from error
        found = scan(part)
        _give_back(part, out, found)
        try:
            if found.whole:
                part.unlink()
            else:
                free = _free(part.with_name(part.name.removesuffix(PART)))
                rename_durably(part, free.with_name(free.name + DAMAGED))
        except OSError as error:
            if error.errno not in (errno.EROFS, errno.EACCES, errno.EPERM):
                raise
    return found


def _rewrite(path: Path, target: Path, found: Scan) -> None:
    """Writes the whole messages of a file to a new one, in chunks as they were."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        compression = found.chunks[0].compression if found.chunks else "lz4"
        with target.open("wb") as fresh:
            writer = Writer(fresh, chunk_size=1 << 62, compression=COMPRESSIONS[compression or "none"])
            writer.start(profile=found.profile, library="tendon")
            for index in found.metadata:
                begin, end = index.offset + HEADER, index.offset + index.length
                record = Metadata.read(ReadDataStream(BytesIO(content[begin:end])))
                if record.name != END:
                    writer.add_metadata(record.name, record.metadata)
            schemas = {0: 0} | {
                number: writer.register_schema(each.name, each.encoding, each.data)
                for number, each in found.schemas.items()
            }
            channels = {
                number: writer.register_channel(
                    each.topic, each.message_encoding, schemas[each.schema_id], each.metadata
                )
                for number, each in found.channels.items()
            }
            for chunk in found.chunks:
                for message in chunk_messages(content, chunk):
                    if message.channel_id in channels:
                        writer.add_message(
                            channel_id=channels[message.channel_id],
                            log_time=message.log_time,
                            publish_time=message.publish_time,
                            sequence=message.sequence,
                            data=message.data,
                        )
                writer.flush()
            writer.add_metadata(END, to_metadata(_ending(content, found)))
            writer.finish()
            fresh.flush()
            os.fsync(fresh.fileno())


def _ending(content: mmap.mmap, found: Scan) -> EpisodeEnd:
    """Returns how an episode ended of which not all of a file is left."""
    lost = sum(each.end - each.begin for each in found.lost)
    if found.end is not None and not lost and not found.orphans:
        return found.end
    if found.end is not None:
        problem = f"{lost} bytes of the file were altered, and {found.orphans} messages of unknown topics left out"
        return replace(found.end, problem="; ".join(filter(None, (found.end.problem, problem))))
    return EpisodeEnd(
        outcome=Outcome.INCOMPLETE,
        notes=tuple(_notes(content, found)),
        problem="the recorder ended before the episode did: recovered up to its last chunk",
        ended_ns=found.times[1] if found.times else 0,
    )


def _notes(content: mmap.mmap, found: Scan) -> Iterator[str]:
    """Yields a person's words about the episode, from the topic that its begin names."""
    topic = "" if found.begin is None else found.begin.roles.others.get("note", "")
    numbers = {number for number, channel in found.channels.items() if channel.topic == topic}
    for chunk in found.chunks if numbers else ():
        for message in chunk_messages(content, chunk):
            if message.channel_id in numbers:
                with contextlib.suppress(Exception):  # bytes that are no text: whatever rosbags' code raises
                    text: Any = typestore().deserialize_cdr(message.data, "std_msgs/msg/String")
                    yield str(text.data)[:LONGEST_NOTE]


def _complete(path: Path, found: Scan) -> None:
    """Cuts a torn end off, and writes what a whole file ends with. It may be interrupted and done again."""
    with path.open("r+b") as file:
        chunk = found.chunks[-1] if found.chunks else None
        if chunk is not None and len(chunk.message_index_offsets) < len(found.last_index):
            found.place = chunk.chunk_start_offset + chunk.chunk_length
            chunk.message_index_offsets, chunk.message_index_length = {}, 0
            found.end = None if any(each.offset >= found.place for each in found.metadata) else found.end
            found.metadata = [each for each in found.metadata if each.offset < found.place]
        file.truncate(found.place)
        file.seek(found.place)
        if chunk is not None and not chunk.message_index_offsets:
            for channel, index in found.last_index.items():
                chunk.message_index_offsets[channel] = file.tell()
                file.write(to_bytes(index))
            chunk.message_index_length = file.tell() - found.place
        if found.end is None:
            begin = file.tell()
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                end = _ending(content, found)
            file.write(to_bytes(Metadata(name=END, metadata=to_metadata(end))))
            found.metadata.append(MetadataIndex(offset=begin, length=file.tell() - begin, name=END))
        file.write(to_bytes(DataEnd(0)))
        _write_summary(file, found)
        file.flush()
        os.fsync(file.fileno())


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
    content = to_bytes(Footer(summary_start=start, summary_offset_start=offset_start, summary_crc=0))
    crc = zlib.crc32(content[: HEADER + 16], zlib.crc32(summary))
    file.write(summary + content[:-4] + crc.to_bytes(4, "little") + MCAP0_MAGIC)


def recover_folder(folder: Path) -> list[Path]:
    """Gives each recording of a folder that was cut its end and its name; returns those files.

    One that another process is writing is left alone. One that holds nothing is removed. One that was altered within
    stays, as NAME.damaged, beside what was recovered of it. Where a name is another's, it is NAME-2.
    """
    mended = []
    for part in sorted(folder.glob(f"*.mcap{PART}")):
        target = _free(part.with_name(part.name.removesuffix(PART)))
        with part.open("r+b") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            try:
                found = scan(part)
                within = found.within
                _give_back(part, target if within else None, found)
            except InvalidDataError:
                small = os.fstat(file.fileno()).st_size <= LARGEST_EMPTY
                if small and file.read(len(MCAP0_MAGIC)) in (b"", MCAP0_MAGIC):  # cut before its first record
                    part.unlink()
                continue
            rename_durably(part, target.with_name(target.name + DAMAGED) if within else target)
        mended.append(target)
    return mended


def _free(path: Path) -> Path:
    names = (path.with_stem(f"{path.stem}-{k}" if k > 1 else path.stem) for k in itertools.count(1))
    return next(each for each in names if not each.exists() and not each.with_name(each.name + DAMAGED).exists())
