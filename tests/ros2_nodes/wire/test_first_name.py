"""Reports of nodes are kept as bytes and read when asked for, whatever their header looks like."""

from __future__ import annotations

import struct

import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from hypothesis import given
from hypothesis import strategies as st
from rclpy.serialization import serialize_message

from tendon.ros2_nodes.wire.status.first_name import first_name
from tests.laws import law_settings

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)


@law_settings()
@given(TEXT, TEXT, TEXT)
def test_the_name_is_found_without_reading_the_message(frame: str, name: str, message: str) -> None:
    """For every length of what stands before it: words are aligned in the wire format."""
    report = DiagnosticArray()
    report.status = [
        DiagnosticStatus(name=name, level=b"\x01", message=message, values=[KeyValue(key="a", value="1")]),
        DiagnosticStatus(name="second"),
    ]
    report.header.frame_id = frame
    assert first_name(serialize_message(report)) == name


def test_a_report_of_nobody_has_no_name() -> None:
    assert first_name(serialize_message(DiagnosticArray())) == ""


@pytest.mark.parametrize("name", ["control_node", ""])
def test_bytes_in_the_other_order_are_left_to_rclpy(name: str) -> None:
    """Big-endian, made by hand: header, one status of a name, message, hardware id and no values."""

    def text(value: str) -> bytes:
        data = value.encode() + b"\0"
        return struct.pack(">I", len(data)) + data + bytes(-len(data) % 4)

    body = struct.pack(">iI", 1, 2) + text("") + struct.pack(">IB3x", 1, 2) + text(name) + text("") * 2
    assert first_name(b"\x00\x00\x00\x00" + body + struct.pack(">I", 0)) == name
