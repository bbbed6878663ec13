"""What is read from bytes is what rclpy reads, whatever the bytes are; what is written so, rclpy reads."""

from __future__ import annotations

from array import array
from collections.abc import Callable

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from hypothesis import given
from hypothesis import strategies as st
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory

from tendon.core.errors import InvalidDataError, TendonError
from tendon.core.filter_input import FilterInput
from tendon.core.modes import PermissionState
from tendon.core.permission import Permission
from tendon.core.types import Array
from tendon.robots.profile import load_profile
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.wire import joint_states
from tendon.ros2_nodes.wire.joint_states import _UsualForm
from tendon.ros2_nodes.wire.motion import filter_inputs
from tests.laws import law_settings

NAMES = ("a", "bc", "d")
ROW = st.lists(st.floats(width=64), min_size=3, max_size=3).map(np.array)
BEAT = wire.Heartbeat(node="control_node", instance="12-3456789")


def joint_state(stamp_ns: int, position: Array, velocity: Array, names: tuple[str, ...] = NAMES) -> bytes:
    return bytes(serialize_message(wire.joint_state_message(stamp_ns, names, position, velocity)))


def read_twice(read: Callable[[], object]) -> str:
    """Returns what a reader answers, or that it refuses: not with which words."""
    try:
        return repr(read())
    except TendonError:
        return "refused"


@st.composite
def altered(draw: st.DrawFn, data: bytes) -> bytes:
    """Returns bytes with some changed, and cut off somewhere or not."""
    changed = bytearray(data)
    for place in draw(st.lists(st.integers(0, len(changed) - 1), max_size=3)):
        changed[place] = draw(st.sampled_from([0, 1, 2, 8, 255]) | st.integers(0, 255))
    return bytes(changed[: draw(st.just(len(changed)) | st.integers(0, len(changed)))])


@given(st.data(), ROW, ROW, st.sampled_from(["", "base"]), st.sampled_from([0, 3]))
@law_settings(max_examples=300)
def test_a_joint_state_read_from_bytes_is_the_one_rclpy_reads(
    data: st.DataObject, position: Array, velocity: Array, frame: str, efforts: int
) -> None:
    """Frozen, NaN, cut off or altered: the usual form may never read what rclpy would not."""
    message = wire.joint_state_message(7, NAMES, position, velocity)
    message.header.frame_id, message.effort = frame, array("d", [float("nan")] * efforts)
    hostile = data.draw(altered(bytes(serialize_message(message))))
    fast, slow = wire.JointStateReader(("d", "a")), wire.JointStateReader(("d", "a"))
    message.position = message.velocity = array("d", [0.5] * 3)
    for _ in range(2):
        fast.read_bytes(bytes(serialize_message(message)))  # from here on it knows the form

    def by_rclpy() -> object:
        try:
            return slow.read(deserialize_message(hostile, JointState))
        except TendonError:
            raise
        except Exception as error:  # rclpy refuses with its own types
            raise InvalidDataError(str(error)) from error

    assert read_twice(lambda: fast.read_bytes(hostile)) == read_twice(by_rclpy)


def test_usual_joint_states_are_read_without_rclpy_and_new_names_are_not_taken_for_old_ones() -> None:
    message = wire.joint_state_message(1, NAMES, np.arange(3.0), -np.arange(3.0))
    form = _UsualForm(message)
    numbers = form.numbers(joint_state(2, np.arange(3.0), -np.arange(3.0)))
    assert numbers is not None and numbers.tolist() == [[0.0, 1.0, 2.0], [-0.0, -1.0, -2.0]]
    assert form.numbers(joint_state(2, np.arange(3.0), np.arange(3.0), ("a", "bd", "d"))) is None
    reader = wire.JointStateReader(NAMES)
    for order in (NAMES, NAMES[::-1], NAMES, ("x", *NAMES)):
        values = np.array([float(NAMES.index(name)) if name in NAMES else 9.0 for name in order])
        for stamp_ns in (3, 4, 5):
            found_ns, position, velocity = reader.read_bytes(joint_state(stamp_ns, values, -values, order))
            assert (found_ns, position.tolist(), velocity.tolist()) == (stamp_ns, [0.0, 1.0, 2.0], [-0.0, -1.0, -2.0])


def test_no_form_is_made_of_a_huge_frame_or_of_one_that_comes_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of 60 kB held the control loop up for 30 ms."""
    made: list[JointState] = []
    monkeypatch.setattr(joint_states, "_UsualForm", lambda message: made.append(message))
    reader = wire.JointStateReader(NAMES)
    for frame in ("x" * 60_000, "x" * 60_000, "a", "b", "a"):
        message = wire.joint_state_message(1, NAMES, np.arange(3.0), np.zeros(3))
        message.header.frame_id = frame
        assert reader.read_bytes(bytes(serialize_message(message)))[1].tolist() == [0.0, 1.0, 2.0]
    assert not made
    reader.read_bytes(joint_state(1, np.zeros(3), np.zeros(3)))
    reader.read_bytes(joint_state(1, np.zeros(3), np.zeros(3)))
    assert len(made) == 1


def test_a_usual_joint_state_from_the_future_is_refused() -> None:
    reader = wire.JointStateReader(NAMES, now_ns=lambda: 5, ahead_ns=10)
    for _ in range(2):
        reader.read_bytes(joint_state(5, np.zeros(3), np.zeros(3)))
    with pytest.raises(InvalidDataError, match="ahead of this machine's clock"):
        reader.read_bytes(joint_state(16, np.zeros(3), np.zeros(3)))


@given(st.data())
@law_settings(max_examples=200)
def test_a_heartbeat_read_from_bytes_is_the_one_rclpy_reads(data: st.DataObject) -> None:
    hostile = data.draw(altered(wire.heartbeat_bytes(BEAT, 12_345_678_901)))
    found = read_twice(lambda: wire.read_heartbeat_bytes(hostile))
    assert found == read_twice(lambda: wire.read_heartbeat_bytes(hostile)), "the second time it is remembered"
    try:
        header = deserialize_message(hostile, Header)
    except Exception:  # rclpy refuses with its own types
        assert found == "refused"
    else:
        assert found == read_twice(lambda: wire.read_heartbeat(header))


def test_a_heartbeat_is_written_as_rclpy_would() -> None:
    for stamp_ns in (0, 1_795_390_058_286_826_051):
        written = deserialize_message(wire.heartbeat_bytes(BEAT, stamp_ns), Header)
        assert written == wire.heartbeat_message(BEAT, stamp_ns)


def test_a_permission_remembered_from_the_last_message_is_never_taken_for_another() -> None:
    permissions = [
        Permission(state=PermissionState.ARMED, event=event, reason="", speed=speed)
        for event, speed in ((1, 1.0), (1, 1.0), (1, 0.3), (2, 0.3), (1, 1.0))
    ]
    for k, permission in enumerate(permissions):
        data = wire.PERMISSION.encode_bytes(permission, k)
        assert deserialize_message(data, DiagnosticArray) == wire.PERMISSION.encode(permission, k)
        assert wire.PERMISSION.decode_bytes(data) == permission


def _has_time(data: bytes) -> bool:
    try:
        wire.read_stamp_ns(data)
    except InvalidDataError:
        return False
    return True


@given(st.data(), st.lists(st.tuples(ROW, ROW, st.sampled_from([0, 1, 2])), min_size=1, max_size=3), st.booleans())
@law_settings(max_examples=300)
def test_filter_inputs_read_from_bytes_are_those_rclpy_reads(
    data: st.DataObject, rows: list[tuple[Array, Array, int]], reset: bool
) -> None:
    inputs = [
        FilterInput(
            reset=target if reset and k == 0 else None,
            target=target if parts else None,
            velocity=velocity if parts == 2 else None,
            speed=0.5,
            away=velocity if parts else None,
        )
        for k, (target, velocity, parts) in enumerate(rows)
    ]
    for written in wire.filter_input_bytes(5, NAMES, inputs):
        by_rclpy = bytes(serialize_message(deserialize_message(written, JointTrajectory)))
        assert filter_inputs._read_usual(by_rclpy, NAMES) is not None
        hostile = data.draw(altered(written))
        usual = filter_inputs._read_usual(hostile, NAMES)
        if usual is not None and _has_time(hostile):
            kind, points = filter_inputs._read_any(hostile)
            assert kind == usual[0]
            assert [[row.tobytes() for row in p] for p in points] == [[row.tobytes() for row in p] for p in usual[1]]
        read_twice(lambda hostile=hostile: wire.read_filter_inputs(hostile, NAMES))  # type: ignore[misc]


PROFILE = load_profile("panda")


def test_what_joints_say_that_the_profile_does_not_have_is_nobodys_concern() -> None:
    """A passive joint's broadcaster says NaN where an interface is missing."""
    names = [*PROFILE.joint_names, "passive"]
    reader = wire.JointStateReader(PROFILE.joint_names)
    for k in range(4):
        message = JointState(name=names, position=[0.1 * k] * 8 + [np.inf], velocity=[0.0] * 8 + [np.nan])
        message.header.stamp.sec = k + 1
        _, position, velocity = reader.read_bytes(serialize_message(message))
        assert (position == 0.1 * k).all() and not velocity.any()
    message.velocity[2] = np.nan
    with pytest.raises(InvalidDataError, match=r"velocity\[2\] is nan"):
        reader.read_bytes(serialize_message(message))
    message.velocity, message.position = [0.0] * 9, [0.0] * 8
    with pytest.raises(InvalidDataError, match="8 numbers for 9 joints"):
        reader.read_bytes(serialize_message(message))
