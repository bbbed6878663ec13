"""A record of an MCAP file, as its bytes."""

from __future__ import annotations

from mcap.data_stream import RecordBuilder
from mcap.records import McapRecord


def to_bytes(record: McapRecord) -> bytes:
    """Returns a record as a file has it."""
    builder = RecordBuilder()
    record.write(builder)
    return builder.end()
