"""Trajectories as bytes: what is written rclpy reads, what is read is what rclpy reads, whatever the bytes are."""

from __future__ import annotations

import numpy as np
import pytest
from builtin_interfaces.msg import Duration
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from rclpy.serialization import deserialize_message, serialize_message
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from tendon.core.errors import InvalidDataError
from tendon.core.types import ActionChunk, SentTrajectory
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.wire import SECOND_NS, read_stamp_ns, read_trajectory, write_trajectory
from tendon.ros2_nodes.wire.motion import trajectories
from tests.laws import law_settings

ANY = st.floats(width=64)
NAME = st.text(st.characters(blacklist_characters="\0", blacklist_categories=("Cs",)), max_size=12)
STAMP_NS = st.integers(0, 2**31 * SECOND_NS - 1)


@st.composite
def sent_trajectories(draw: st.DrawFn) -> SentTrajectory:
    """Returns any of at least one point and one joint."""
    count, width = draw(st.integers(1, 6)), draw(st.integers(1, 9))
    rows = arrays(np.float64, (count, width), elements=ANY)
    times_ns = draw(st.lists(STAMP_NS, min_size=count, max_size=count))
    return SentTrajectory(
        stamp_ns=draw(STAMP_NS),
        joint_names=tuple(draw(st.lists(NAME, max_size=9))),
        times_ns=times_ns,
        position=draw(rows),
        velocity=draw(st.just(np.empty((count, 0))) | rows),
    )


def message_of(sent: SentTrajectory, frame: str = "") -> JointTrajectory:
    """Returns the same, made by rclpy's means."""
    message = JointTrajectory(joint_names=list(sent.joint_names))
    message.header.frame_id = frame
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(sent.stamp_ns, SECOND_NS)
    for k, time_ns in enumerate(sent.times_ns):
        second, nanosecond = divmod(time_ns, SECOND_NS)
        point = JointTrajectoryPoint(time_from_start=Duration(sec=second, nanosec=nanosecond))
        point.positions = sent.position[k].tolist()
        point.velocities = sent.velocity[k].tolist()
        message.points.append(point)
    return message


def fields(message: JointTrajectory) -> tuple[object, ...]:
    """Returns what we read of a message; rows as bytes, because NaN is not equal to itself."""
    stamp, points = message.header.stamp, message.points
    times = [point.time_from_start.sec * SECOND_NS + point.time_from_start.nanosec for point in points]
    rows = [(point.positions.tobytes(), point.velocities.tobytes()) for point in points]
    return stamp.sec * SECOND_NS + stamp.nanosec, tuple(message.joint_names), times, rows


def by_rclpy(data: bytes) -> tuple[object, ...]:
    return fields(deserialize_message(data, JointTrajectory))


def by_us(data: bytes) -> tuple[object, ...]:
    read = read_trajectory(data)
    rows = [(p.tobytes(), v.tobytes()) for p, v in zip(read.position, read.velocity, strict=True)]
    return read.stamp_ns, read.joint_names, read.times_ns, rows


@given(sent_trajectories())
@law_settings(max_examples=200)
def test_what_is_written_rclpy_reads_and_so_do_we(sent: SentTrajectory) -> None:
    data = write_trajectory(sent)
    assert fields(message_of(sent)) == by_rclpy(data) == by_us(data)
    assert read_stamp_ns(data) == sent.stamp_ns


@given(sent_trajectories(), NAME)
@law_settings(max_examples=200)
def test_a_message_of_rclpy_is_read_without_it(sent: SentTrajectory, frame: str) -> None:
    data = serialize_message(message_of(sent, frame))
    assert trajectories._read_regular(data, trajectories._head(data)) is not None
    assert by_us(data) == by_rclpy(data)


@given(sent_trajectories(), st.data())
@law_settings(max_examples=500)
def test_altered_bytes_are_read_as_rclpy_reads_them_or_refused(sent: SentTrajectory, data: st.DataObject) -> None:
    altered = bytearray(write_trajectory(sent))
    for place in data.draw(st.lists(st.integers(0, len(altered) - 1), max_size=3)):
        altered[place] = data.draw(st.sampled_from([0, 1, 2, 8, 255]) | st.integers(0, 255))
    altered = altered[: data.draw(st.just(len(altered)) | st.integers(0, len(altered)))]
    try:
        found = by_us(bytes(altered))
    except InvalidDataError:
        return
    assert found == by_rclpy(bytes(altered))


@pytest.mark.parametrize(
    ("field", "value"), [("accelerations", [0.1]), ("effort", [0.1]), ("velocities", [0.1]), ("positions", [])]
)
def test_points_of_any_other_form_are_left_to_rclpy(field: str, value: list[float]) -> None:
    message = JointTrajectory(joint_names=["a", "b"])
    message.points = [JointTrajectoryPoint(positions=[1.0, 2.0]) for _ in range(3)]
    for point in message.points:
        setattr(point, field, value)
    data = serialize_message(message)
    assert trajectories._read_regular(data, trajectories._head(data)) is None
    assert by_us(data) == by_rclpy(data)


def test_points_of_different_sizes_are_refused() -> None:
    message = JointTrajectory(joint_names=["a", "b"])
    message.points = [JointTrajectoryPoint(positions=row) for row in ([1.0, 2.0], [1.0])]
    with pytest.raises(InvalidDataError, match=r"points of \[1, 2\] positions"):
        read_trajectory(serialize_message(message))


@pytest.mark.parametrize("data", [b"", b"\0\1\0\0", b"\0\1\0\0" + bytes(7)])
def test_no_message_has_no_stamp(data: bytes) -> None:
    with pytest.raises(InvalidDataError, match="no header"):
        read_stamp_ns(data)


def test_a_chunk_of_who_teleoperates_names_its_press() -> None:
    rows = np.arange(6.0).reshape(3, 2)
    chunk = ActionChunk(actions=rows, start_ns=5 * 10**9, step_ns=20_000_000, observation_stamp_ns=4 * 10**9)
    for hold_ns in (0, 1, 1_795_557_529_553_038_662):
        data = wire.held_chunk_bytes(chunk, ("a", "b"), hold_ns)
        back = wire.held_chunk(data, ("b", "a"))
        assert back.hold_ns == hold_ns and back.chunk.start_ns == chunk.start_ns
        assert back.chunk.actions.tolist() == rows[:, ::-1].tolist()
        message = deserialize_message(data, JointTrajectory)
        assert message.header.frame_id == f"1 {hold_ns}" and len(message.points) == 3
    for frame, said in (
        ("", "must be 1 HOLD"),
        ("1", "must be 1 HOLD"),
        ("1 -3", "must be"),
        ("2 5", "version is '2'"),
    ):
        with pytest.raises(InvalidDataError, match=said):
            wire.held_chunk(wire.chunk_bytes(chunk, ("a", "b"), frame), ("a", "b"))
