"""Messages for tests of recordings, as bytes of classic CDR that rosbags writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tendon.data.recording.episode import EpisodeBegin, EpisodeEnd, Roles
from tendon.data.recording.schemas import typestore
from tendon.data.recording.writer import Durability, EpisodeWriter, Sample

MS = 1_000_000
BEGIN = EpisodeBegin(
    robot="panda",
    started_ns=1,
    instruction="do it",
    hashes={"profile": "abc"},
    roles=Roles(joint_names=("a",), cameras={"a": "/a"}),
)


def text(number: int, topic: str = "/text") -> Sample:
    """A String with its number."""
    message = typestore().types["std_msgs/msg/String"](data=f"number {number} " + "x" * (number % 50))
    data = bytes(typestore().serialize_cdr(message, "std_msgs/msg/String"))
    return Sample(
        topic=topic,
        kind="std_msgs/msg/String",
        log_ns=(1000 + number) * MS,
        publish_ns=(999 + number) * MS,
        number=number,
        data=data,
    )


def write(
    path: Path, samples: list[Sample], chunk_bytes: int = 1000, compression: str = "lz4", begin: EpisodeBegin = BEGIN
) -> Path:
    """Writes a whole recording of small chunks."""
    writer = EpisodeWriter(path, begin, Durability(chunk_bytes=chunk_bytes, chunk_s=1e9), compression)
    for sample in samples:
        writer.write(sample)
    return writer.finish(EpisodeEnd())


def texts(count: int) -> list[Sample]:
    """Strings on two topics."""
    return [text(k, f"/text{k % 2}") for k in range(count)]


def both_readers(path: Path) -> Iterator[list[tuple[str, int, bytes]]]:
    """Yields what `mcap` and `rosbags` read of a file: neither is ours."""
    from mcap.reader import make_reader

    with path.open("rb") as file:
        yield [(c.topic, m.log_time, m.data) for _, c, m in make_reader(file, validate_crcs=True).iter_messages()]
    from rosbags.highlevel import AnyReader

    with AnyReader([path]) as reader:
        yield [(c.topic, stamp, bytes(data)) for c, stamp, data in reader.messages()]
