"""The wire's law: every value survives its message, and any message at all is a value or a clear error."""

from __future__ import annotations

import dataclasses
import types
import typing
from array import array
from collections.abc import Mapping
from enum import Enum

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from hypothesis import given
from hypothesis import strategies as st
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from tendon.core.causes import Cause
from tendon.core.errors import InvalidDataError
from tendon.core.filter_input import FilterInput
from tendon.core.modes import Mode, PermissionState
from tendon.core.node_status import (
    ControlStatus,
    Level,
    MockStatus,
    MonitorStatus,
    NodeStatus,
    PolicyStatus,
    SimulationStatus,
)
from tendon.core.permission import Permission
from tendon.graph import topics
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.wire.status.first_name import first_name
from tendon.ros2_nodes.wire.status.forms import LONGEST
from tendon.ros2_nodes.wire.world_state import world_state, world_state_message
from tendon.safety.camera_watch import Frame
from tendon.safety.reports import ControlState, MonitorState, ResponseRequest, TaskState
from tendon.safety.response import Response
from tendon.sim.world_state import WorldState
from tests.laws import law_settings

KINDS = {
    wire.PERMISSION: (Permission,),
    wire.STATE: (ControlState, MonitorState, ResponseRequest),
    wire.DIAGNOSTICS: (
        NodeStatus,
        ControlStatus,
        MonitorStatus,
        PolicyStatus,
        SimulationStatus,
        MockStatus,
    ),
    wire.TASK: (TaskState,),
}
TOPICS = {topic.name: topic for topic in KINDS}
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
LEAVES: dict[type, st.SearchStrategy[object]] = {
    str: TEXT,
    bool: st.booleans(),
    int: st.integers(),
    float: st.floats(allow_nan=False, allow_infinity=False),
}
STAMP_NS = st.integers(0, 2**31 * 10**9 - 1)
HOSTILE = st.sampled_from(
    ["", "nan", "inf", "-1e999", "1e999", "9" * 5000, "x" * (LONGEST + 1), "true", "ARMED", "0", "1.5", "\u0664"]
)


def values_of(hint: typing.Any) -> st.SearchStrategy[typing.Any]:
    """Returns any values of a type."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is types.UnionType:
        return st.none() | values_of(inner[0])
    if origin is tuple:
        return st.lists(values_of(inner[0]), max_size=3).map(tuple)
    if origin is Mapping:
        return st.dictionaries(TEXT, values_of(inner[1]), max_size=3)
    if hint is Permission:
        fields = {"state": PermissionState, "event": int, "reason": str, "cause": Cause, "policy": str}
        return st.builds(Permission, speed=st.floats(0, 1), **{name: values_of(of) for name, of in fields.items()})
    if dataclasses.is_dataclass(hint):
        hints = typing.get_type_hints(hint)
        names = [field.name for field in dataclasses.fields(hint)]
        return st.builds(hint, **{name: values_of(hints[name]) for name in names})
    return st.sampled_from(hint) if issubclass(hint, Enum) else LEAVES[hint]


ANY = st.one_of(*(st.tuples(st.just(topic), values_of(kind)) for topic, kinds in KINDS.items() for kind in kinds))


@st.composite
def hostile_arrays(draw: st.DrawFn) -> DiagnosticArray:
    """Returns a good message with a few things wrong, or nonsense."""
    topic, value = draw(ANY)
    message = topic.encode(value, 5)
    (status,) = message.status
    for _ in range(draw(st.integers(0, 3))):
        pair = draw(st.sampled_from(status.values)) if status.values else KeyValue()
        match draw(st.integers(0, 6)):
            case 0:
                pair.value = draw(HOSTILE | TEXT)
            case 1:
                pair.key = draw(HOSTILE | TEXT)
            case 2:
                status.values = [each for each in status.values if each is not pair]
            case 3:
                status.values = [*status.values, KeyValue(key=pair.key, value=draw(HOSTILE))]
            case 4:
                status.level = bytes([draw(st.integers(0, 255))])
            case 5:
                status.name = draw(HOSTILE | TEXT | st.sampled_from(["control_node", "safety_monitor"]))
            case _:
                status.message = draw(HOSTILE)
    message.status = draw(st.sampled_from([[status], [], [status, status], [DiagnosticStatus()]]) | st.just([status]))
    return message


@given(ANY, STAMP_NS)
@law_settings(max_examples=300)
def test_every_value_survives_the_bytes_of_its_message(
    topic_and_value: tuple[wire.StatusTopic[typing.Any], wire.Stated], stamp_ns: int
) -> None:
    topic, value = topic_and_value
    message = topic.encode(value, stamp_ns)
    data = serialize_message(message)
    found = topic.decode_bytes(data)
    assert found == value and type(found) is type(value)
    assert (message.status[0].name, message.status[0].level[0]) == (value.node, value.level)
    assert wire.time_ns(message.header.stamp) == wire.read_stamp_ns(data) == stamp_ns


@given(hostile_arrays(), st.sampled_from(list(KINDS)))
@law_settings(max_examples=500)
def test_any_message_is_a_value_or_an_error_that_names_its_topic(
    message: DiagnosticArray, topic: wire.StatusTopic[typing.Any]
) -> None:
    try:
        value = topic.decode(message)
    except InvalidDataError as error:
        assert str(error).startswith(topic.name) and len(str(error)) < 1000
        return
    assert topic.decode(topic.encode(value, 0)) == value
    assert isinstance(wire.unreadable_request(message), str)


@given(st.binary(max_size=200), st.sampled_from(list(KINDS)))
@law_settings()
def test_any_bytes_are_a_value_or_an_error(data: bytes, topic: wire.StatusTopic[typing.Any]) -> None:
    data = b"\0\1\0\0" + data
    assert isinstance(first_name(data), str)
    with pytest.raises(InvalidDataError, match=topic.name):
        topic.decode_bytes(data)


PERMITTED = Permission(state=PermissionState.ARMED, event=7, reason="")


def changed(**pairs: str | None) -> DiagnosticArray:
    """Returns the message of a permission with other values; `None` leaves a key out."""
    message = wire.PERMISSION.encode(PERMITTED, 0)
    (status,) = message.status
    values = {pair.key: pair.value for pair in status.values} | pairs
    status.values = [KeyValue(key=key, value=text) for key, text in values.items() if text is not None]
    return message


@pytest.mark.parametrize(
    ("message", "says"),
    [
        (changed(state=None), "key state is missing, expected one of standby, armed, latched"),
        (changed(state="flying"), "key state is 'flying', expected one of standby, armed, latched"),
        (changed(event="1.5"), "key event is '1.5', expected a whole number"),
        (changed(cause="bad luck"), "key cause is 'bad luck', expected one of requested, tracking,"),
        (changed(state="latched"), "a latched permission has no cause"),
        (changed(speed="nan"), "key speed is 'nan', expected a finite number"),
        (changed(speed="2"), "speed 2.0, must be from 0 to 1"),
        (changed(policy="x" * 10**6), "expected a text of at most 4096 characters"),
        (changed(sped="1"), "key 'sped' is unknown; did you mean speed"),
        (changed(version="2"), "version is '2', expected 1: install the same Tendon everywhere"),
        (changed(type="control"), "type is 'control', expected one of permission"),
        (changed(type=None), "key type is missing, it is not Tendon's"),
        (changed(**{f"key {k}": "" for k in range(2000)}), "expected at most 1000"),
        (DiagnosticArray(), "0 statuses in a message, expected 1"),
    ],
)
def test_what_is_wrong_is_named_with_topic_key_value_and_what_was_expected(message: DiagnosticArray, says: str) -> None:
    with pytest.raises(InvalidDataError) as error:
        wire.PERMISSION.decode(message)
    assert str(error.value).startswith("safety/permission") and says in str(error.value)


def test_a_key_that_is_there_twice_is_refused() -> None:
    message = changed()
    message.status[0].values.append(KeyValue(key="state", value="standby"))
    with pytest.raises(InvalidDataError, match="a key is there twice"):
        wire.PERMISSION.decode(message)


def test_a_message_of_a_driver_is_told_from_a_broken_one_of_ours() -> None:
    with pytest.raises(wire.ForeignMessageError):
        wire.DIAGNOSTICS.decode(DiagnosticArray(status=[DiagnosticStatus(name="lidar")]))
    with pytest.raises(InvalidDataError) as error:
        wire.PERMISSION.decode(changed(event="x"))
    assert not isinstance(error.value, wire.ForeignMessageError)


def test_nobody_else_speaks_for_the_monitor_or_the_controller() -> None:
    message = wire.STATE.encode(ControlState(mode=Mode.ARMED, event=1), 0)
    message.status[0].name = "policy_node"
    with pytest.raises(InvalidDataError, match="said by another node, expected control_node"):
        wire.STATE.decode(message)


def test_a_wish_that_cannot_be_read_is_seen_to_be_one() -> None:
    """The safety monitor takes it for a stop: it was meant to restrict."""
    wish = ResponseRequest(node="detector", level=Level.OK, text="", response=Response.SLOW)
    message = wire.STATE.encode(wish, 0)
    for pair in message.status[0].values:
        pair.value = "sloww" if pair.key == "response" else pair.value
    with pytest.raises(InvalidDataError, match="key response is 'sloww', expected one of full, slow, hold, stop"):
        wire.STATE.decode(message)
    assert wire.unreadable_request(message) == "detector"
    assert wire.unreadable_request(wire.STATE.encode(ControlState(mode=Mode.ARMED, event=1), 0)) == ""


@given(st.builds(Header, frame_id=TEXT | HOSTILE | st.sampled_from(["1 a 1", "1 a 1 2", "2 a 1", "1 a ", "1 a 1 -2"])))
def test_any_sign_of_life_is_one_or_an_error(message: Header) -> None:
    for read, write in (
        (wire.read_heartbeat, lambda beat: wire.heartbeat_message(beat, 0)),
        (wire.read_done, wire.done_message),
    ):
        try:
            value = read(message)
        except InvalidDataError as error:
            assert "frame_id is" in str(error) or "version is" in str(error)
            continue
        assert read(write(value)) == value


@given(
    st.integers(0, 4),
    st.integers(0, 3),
    st.lists(st.floats(width=64), max_size=40),
    st.lists(TEXT | st.sampled_from(["opening", "joint0", "item0.x"]), max_size=5),
)
@law_settings()
def test_any_state_of_the_world_is_one_or_an_error(
    joints: int, items: int, numbers: list[float], names: list[str]
) -> None:
    good = WorldState(time_ns=1, joint_position=(0.5,) * joints, poses=((0.25,) * 7,) * items, openings=(0.1,))
    message = world_state_message(1, "pick/1", good)
    assert world_state(message) == (1, "pick/1", good)
    for hostile in (JointState(name=message.name, position=numbers), JointState(name=names, position=numbers)):
        try:
            _, _, state = world_state(hostile)
        except InvalidDataError as error:
            assert str(error).startswith(topics.WORLD_STATE)
        else:
            assert np.isfinite(state.joint_position).all()


ROW = st.lists(st.floats(width=64), max_size=3).map(lambda row: array("d", row))


@given(
    st.sampled_from(["reset", "step", "", "x" * 5000]),
    st.lists(st.builds(JointTrajectoryPoint, positions=ROW, velocities=ROW, effort=ROW), max_size=3),
)
@law_settings()
def test_any_filter_input_is_one_or_an_error(kind: str, points: list[JointTrajectoryPoint]) -> None:
    message = JointTrajectory(header=Header(frame_id=kind), points=points)
    try:
        given_inputs = wire.read_filter_inputs(serialize_message(message), ("a", "b"))
    except InvalidDataError as error:
        assert str(error).startswith(topics.FILTER_INPUT) and len(str(error)) < 1000
    else:
        assert (given_inputs.reset is None) is (kind == "step")


def test_filter_inputs_survive_their_messages_to_the_last_bit() -> None:
    pose, target, rate = np.array([0.1, 0.2]), np.array([np.nan, 1e300]), np.array([-0.0, 0.3])
    inputs = [
        FilterInput(reset=pose, target=None, velocity=None, speed=0.3),
        FilterInput(reset=None, target=target, velocity=rate, speed=1.0, away=pose),
    ]
    written = list(wire.filter_input_bytes(5, ("a", "b"), inputs))
    by_rclpy = [bytes(serialize_message(deserialize_message(each, JointTrajectory))) for each in written]
    for again, each in zip(by_rclpy, written, strict=True):
        assert repr(deserialize_message(again, JointTrajectory)) == repr(deserialize_message(each, JointTrajectory))
    start, steps = (wire.read_filter_inputs(each, ("a", "b")) for each in by_rclpy)
    assert (start.stamp_ns, start.steps) == (5, ()) and start.reset is not None and start.reset.tolist() == [0.1, 0.2]
    assert [step.speed for step in steps.steps] == [0.3, 1.0] and steps.steps[0].target is None
    assert steps.steps[1].target.tobytes() == target.tobytes()
    assert steps.steps[1].velocity.tobytes() == rate.tobytes()
    assert steps.steps[0].away is None and steps.steps[1].away.tobytes() == pose.tobytes()


@given(st.text(max_size=400) | st.from_regex(r"[12] [a-z]{0,3} ([0-9]{0,30} ){0,4}[0-9]*", fullmatch=True))
@law_settings()
def test_any_word_on_a_frame_is_one_or_an_error(text: str) -> None:
    try:
        camera, frame = wire.read_frame(Header(frame_id=text))
    except InvalidDataError as error:
        assert str(error).startswith(topics.FRAMES) and len(str(error)) < 2000
    else:
        assert wire.frame_message(camera, frame).frame_id.split(" ")[1] == camera


def test_what_is_said_of_a_frame_survives_its_message() -> None:
    frame = Frame.of(12_345_678_901, bytes(range(256)) * 40)
    message = deserialize_message(serialize_message(wire.frame_message("wrist", frame)), Header)
    assert wire.read_frame(message) == ("wrist", frame)


@pytest.mark.parametrize("read", [wire.read_heartbeat, wire.read_done, wire.read_frame])
def test_a_header_of_another_version_is_refused_with_what_to_do(read: typing.Callable[[Header], object]) -> None:
    good = {
        wire.read_heartbeat: wire.heartbeat_message(wire.Heartbeat(node="a", instance="1"), 0),
        wire.read_done: wire.done_message(wire.Done(node="a", pid=1, stamp_ns=0, commands=0)),
        wire.read_frame: wire.frame_message("wrist", Frame.of(0, b"1234")),
    }[read]
    read(good)
    assert good.frame_id.startswith("1 ")
    with pytest.raises(InvalidDataError, match="version is '2', expected 1: install the same Tendon everywhere"):
        read(Header(frame_id="2" + good.frame_id[1:] + " more"))
    with pytest.raises(InvalidDataError, match=r"frame_id is .*, must be 1 "):
        read(Header(frame_id=good.frame_id[2:]))
