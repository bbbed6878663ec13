"""Reads a recording: what it says of itself, and its messages in the order in which they were received."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcap.reader import make_reader
from mcap.records import Metadata
from mcap.writer import MCAP0_MAGIC

from tendon.core.errors import InvalidDataError
from tendon.data.recording.episode import BEGIN, END, VERSION, EpisodeBegin, EpisodeEnd, from_metadata
from tendon.data.recording.scan import BROKEN as TORN
from tendon.data.recording.schemas import typestore
from tendon.data.recording.writer import Sample

BROKEN = (*TORN, KeyError, AssertionError, IndexError, OSError)


@dataclass(frozen=True, kw_only=True)
class TopicSummary:
    """What is recorded of a topic.

    Attributes:
        kind: type of its messages.
        count: of them.
    """

    kind: str
    count: int


class McapRecording:
    """One finished file, of Tendon's recorder or of another that writes MCAP with ROS 2 messages.

    Args:
        path: of it.

    Raises:
        InvalidDataError: it is no MCAP file, is cut, has another profile than ROS 2, or says things of itself that
            this version does not understand.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("rb") as file:
            if file.read(len(MCAP0_MAGIC)) != MCAP0_MAGIC:
                what = "does not begin with its magic bytes" if file.tell() else "is empty"
                raise InvalidDataError(f"{path} is no MCAP file: it {what}")
            file.seek(0)
            try:
                reader = make_reader(file)
                header, summary = reader.get_header(), reader.get_summary()
                metadata = {each.name: each.metadata for each in self._metadata(reader)}
            except BROKEN as error:
                raise InvalidDataError(
                    f"{path} is no whole MCAP file ({str(error) or type(error).__name__}): `tendon data recover` gives "
                    "back what is whole"
                ) from error
        if header.profile != "ros2":
            raise InvalidDataError(f"{path} has profile {header.profile!r}, must be ros2")
        if summary is None or summary.statistics is None:
            raise InvalidDataError(f"{path} has no index: `tendon data recover` makes one")
        statistics = summary.statistics
        try:
            self.begin = from_metadata(EpisodeBegin, metadata[BEGIN]) if BEGIN in metadata else None
            self.end = from_metadata(EpisodeEnd, metadata[END]) if END in metadata else None
        except InvalidDataError as error:
            raise InvalidDataError(f"{path}: {error}") from error
        if self.begin is not None and self.begin.version != VERSION:
            raise InvalidDataError(
                f"{path} is a recording of version {self.begin.version}, this Tendon reads {VERSION}: take the Tendon "
                "that recorded it"
            )
        self.first_ns, self.last_ns = statistics.message_start_time, statistics.message_end_time
        self.topics = {
            channel.topic: TopicSummary(
                kind=summary.schemas[channel.schema_id].name if channel.schema_id in summary.schemas else "",
                count=statistics.channel_message_counts.get(channel.id, 0),
            )
            for channel in summary.channels.values()
        }

    @staticmethod
    def _metadata(reader: Any) -> Iterator[Metadata]:
        yield from reader.iter_metadata()

    @property
    def fault(self) -> str:
        """Why not all that happened is in it; empty where it is."""
        if self.end is None:
            return "it does not say how it ended"
        return (self.end.problem or "messages are missing") if self.end.bad else ""

    @property
    def seconds(self) -> float:
        """From the first message to the last."""
        return (self.last_ns - self.first_ns) * 1e-9

    def samples(self, topics: Collection[str] | None = None) -> Iterator[Sample]:
        """Yields messages in the order in which they were received.

        Raises:
            InvalidDataError: a chunk cannot be read.
        """
        if topics is not None and not topics:
            return
        with self.path.open("rb") as file:
            try:
                for schema, channel, message in make_reader(file, validate_crcs=True).iter_messages(topics):
                    yield Sample(
                        topic=channel.topic,
                        kind="" if schema is None else schema.name,
                        log_ns=message.log_time,
                        publish_ns=message.publish_time,
                        number=message.sequence,
                        data=message.data,
                    )
            except BROKEN as error:
                raise InvalidDataError(
                    f"{self.path} cannot be read: {str(error) or type(error).__name__}: `tendon data recover` gives "
                    "back what is whole"
                ) from error

    def messages(self, topics: Collection[str] | None = None) -> Iterator[tuple[Sample, Any]]:
        """Yields each message with what it says, an object with the fields of its type.

        Raises:
            InvalidDataError: a message is none of its type.
        """
        for sample in self.samples(topics):
            yield sample, decode(sample)


def decode(sample: Sample) -> Any:
    """Returns what a message says, with the fields of its type; arrays share its memory where they can.

    Raises:
        InvalidDataError: it is none of its type, or of a type that is not known.
    """
    try:
        return typestore().deserialize_cdr(sample.data, sample.kind)
    except Exception as error:  # rosbags' generated code raises whatever the bytes lead to
        raise InvalidDataError(
            f"{sample.topic}: {len(sample.data)} bytes are no {sample.kind}: {type(error).__name__}: {error}"
        ) from error
