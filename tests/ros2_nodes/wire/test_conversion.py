"""Messages and core types: by name, exact both ways, and nothing wrong gets in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from rclpy.serialization import deserialize_message, serialize_message
from trajectory_msgs.msg import JointTrajectory

from tendon.core.errors import InvalidDataError, MismatchError
from tendon.core.types import ActionChunk, Array, Command, Image, Trajectory
from tendon.robots.profile import load_profile
from tendon.robots.trajectory_controller import TrajectoryController
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.wire import world_state
from tendon.sim.tabletop.scene import sample_scene
from tendon.sim.world_state import WorldState
from tests.laws import law_settings

PROFILE = load_profile("panda")
NAMES = PROFILE.joint_names
STAMP_NS = 1_795_230_978_123_456_789
FINITE = st.floats(-1e6, 1e6)


def make_chunk(actions: Array) -> ActionChunk:
    return ActionChunk(actions=actions, start_ns=STAMP_NS + 10**8, step_ns=10**8, observation_stamp_ns=STAMP_NS)


@given(arrays(np.float64, st.tuples(st.integers(2, 20), st.just(8)), elements=FINITE), st.permutations(NAMES))
@law_settings(max_examples=30)
def test_a_chunk_survives_the_message_in_any_joint_order(actions: Array, names: list[str]) -> None:
    given_chunk = make_chunk(actions)
    message = deserialize_message(wire.chunk_bytes(given_chunk, NAMES), JointTrajectory)
    order = [NAMES.index(name) for name in names]
    message.joint_names = names
    for point in message.points:
        point.positions = np.array(point.positions)[order]
    found = wire.chunk(serialize_message(message), NAMES)
    assert np.array_equal(found.actions, given_chunk.actions)
    assert (found.start_ns, found.step_ns, found.observation_stamp_ns) == (STAMP_NS + 10**8, 10**8, STAMP_NS)


def break_message(how: str) -> bytes:
    message = deserialize_message(wire.chunk_bytes(make_chunk(np.zeros((3, 8))), NAMES), JointTrajectory)
    if how == "missing joint":
        message.joint_names = list(NAMES[:-1])
    elif how == "unknown joint":
        message.joint_names = [*NAMES[:-1], "elbow"]
    elif how == "repeated joint":
        message.joint_names = [*NAMES, NAMES[0]]
    elif how == "nan":
        message.points[1].positions[2] = float("nan")
    elif how == "short point":
        message.points[1].positions = [0.0] * 7
    elif how == "uneven":
        message.points[2].time_from_start.nanosec += 1
    elif how == "one point":
        message.points = message.points[:1]
    elif how == "backwards":
        message.points = message.points[::-1]
    elif how == "cut off":
        return bytes(serialize_message(message)[:-120])
    return bytes(serialize_message(message))


@pytest.mark.parametrize(
    "how",
    [
        "missing joint",
        "unknown joint",
        "repeated joint",
        "nan",
        "short point",
        "uneven",
        "one point",
        "backwards",
        "cut off",
    ],
)
def test_a_broken_chunk_is_rejected_whole(how: str) -> None:
    with pytest.raises((MismatchError, InvalidDataError)):
        wire.chunk(break_message(how), NAMES)


def test_a_command_reaches_each_controller_with_its_own_joints_exactly() -> None:
    rng = np.random.default_rng(0)
    velocity = rng.normal(size=(4, 8))
    velocity[-1] = 0.0
    command = Command(
        stamp_ns=STAMP_NS,
        trajectory=Trajectory(
            position=rng.normal(size=(4, 8)),
            velocity=velocity,
            acceleration=np.zeros((4, 8)),
            time_from_start_ns=(10**7, 2 * 10**7, 3 * 10**7, 10**9 + 1),
        ),
    )
    seen: list[str] = []
    for controller, data in wire.command_bytes(command, PROFILE):
        columns = [NAMES.index(name) for name in controller.joints]
        accepted = wire.read_trajectory(data)
        assert accepted.stamp_ns == STAMP_NS
        assert accepted.times_ns == list(command.trajectory.time_from_start_ns)
        assert np.array_equal(accepted.position, command.trajectory.position[:, columns])
        assert np.array_equal(accepted.velocity, velocity[:, columns])
        TrajectoryController(controller.joints, np.zeros(len(columns))).accept(accepted, STAMP_NS)
        seen += controller.joints
    assert sorted(seen) == sorted(NAMES)


def test_a_joint_state_is_read_by_name_and_its_order_may_change() -> None:
    reader = wire.JointStateReader(NAMES)
    values = dict(zip(NAMES, np.arange(8.0), strict=True))
    for names in (list(NAMES), [*reversed(NAMES), "wheel"]):
        position = np.array([values.get(name, 99.0) for name in names])
        message = wire.joint_state_message(STAMP_NS, names, position, -position)
        stamp_ns, found, velocity = reader.read(message)
        assert stamp_ns == STAMP_NS
        assert found.tolist() == list(range(8))
        assert velocity.tolist() == [-float(k) for k in range(8)]


@pytest.mark.parametrize("change", ["missing", "repeated", "no velocity", "infinite"])
def test_a_broken_joint_state_is_an_error_and_never_reads_as_zero(change: str) -> None:
    names, position = list(NAMES), np.ones(8)
    if change == "missing":
        names, position = names[1:], position[1:]
    message = wire.joint_state_message(STAMP_NS, names, position, position)
    if change == "repeated":
        message.name[1] = message.name[0]
    elif change == "no velocity":
        message.velocity = []
    elif change == "infinite":
        message.position[3] = float("inf")
    with pytest.raises((MismatchError, InvalidDataError)):
        wire.JointStateReader(NAMES).read(message)


EFFORTS = replace(
    PROFILE, joints=tuple(replace(joint, contact_effort=30.0) for joint in PROFILE.joints[:7]) + PROFILE.joints[7:]
)
"""The Panda, whose arm must say what it bears, and whose hand need not."""


def with_effort(effort: list[float]) -> bytes:
    message = wire.joint_state_message(STAMP_NS, NAMES[::-1], np.zeros(8), np.zeros(8), np.array(effort[::-1]))
    return bytes(serialize_message(message))


def test_efforts_are_read_by_name_and_only_where_the_profile_limits_one() -> None:
    nan = float("nan")
    found = wire.EffortReader(EFFORTS).read_bytes(with_effort([*range(7), nan]))
    assert found is not None and found[:7].tolist() == list(range(7)) and np.isnan(found[7])
    assert wire.EffortReader(PROFILE).read_bytes(b"") is None


@pytest.mark.parametrize(
    ("effort", "message"),
    [
        ([], "no effort for panda_joint1, panda_joint2.*let the driver publish it"),
        ([*[0.0] * 6, float("nan"), 0.0], "no effort for panda_joint7, which the profile limits"),
        ([*[0.0] * 6, float("inf"), 0.0], "no effort for panda_joint7"),
        ([0.0] * 7, "7 efforts for 8 joints"),
    ],
)
def test_an_effort_that_is_limited_and_not_said_is_an_error(effort: list[float], message: str) -> None:
    with pytest.raises((MismatchError, InvalidDataError), match=message):
        wire.EffortReader(EFFORTS).read_bytes(with_effort(effort))


def test_a_joint_state_from_the_future_is_refused_and_the_next_true_one_is_read() -> None:
    """Taken once, a stamp an hour ahead makes all that follow look old: the robot is locked out."""
    reader = wire.JointStateReader(NAMES, now_ns=lambda: STAMP_NS, ahead_ns=30_000_000)
    with pytest.raises(InvalidDataError, match="3600000 ms ahead of this machine's clock, allowed 30"):
        reader.read(wire.joint_state_message(STAMP_NS + 3600 * 10**9, NAMES, np.zeros(8), np.zeros(8)))
    for ahead_ns in (0, 30_000_000):
        message = wire.joint_state_message(STAMP_NS + ahead_ns, NAMES, np.zeros(8), np.zeros(8))
        assert reader.read(message)[0] == STAMP_NS + ahead_ns


def test_an_image_survives_and_bgr_is_turned() -> None:
    pixels = np.random.default_rng(0).integers(0, 255, (6, 4, 3), np.uint8)
    message = wire.image_message(Image(stamp_ns=STAMP_NS, pixels=pixels), "frame")
    found = wire.image(message)
    assert found.stamp_ns == STAMP_NS and np.array_equal(found.pixels, pixels)
    message.encoding = "bgr8"
    assert np.array_equal(wire.image(message).pixels, pixels[..., ::-1])


@pytest.mark.parametrize(("field", "value"), [("encoding", "mono8"), ("step", 11), ("height", 7)])
def test_an_image_that_is_not_what_it_says_is_an_error(field: str, value: object) -> None:
    message = wire.image_message(Image(stamp_ns=0, pixels=np.zeros((6, 4, 3), np.uint8)), "frame")
    setattr(message, field, value)
    with pytest.raises(InvalidDataError):
        wire.image(message)


def test_the_simulated_world_survives_the_message() -> None:
    state = WorldState(
        time_ns=STAMP_NS, joint_position=tuple(np.arange(9.0)), poses=((0.1,) * 7, (0.2,) * 7), openings=(0.05,)
    )
    assert world_state.world_state(world_state.world_state_message(STAMP_NS, "pick/6", state)) == (
        STAMP_NS,
        "pick/6",
        state,
    )
    scene = sample_scene(100_003)
    assert world_state.read_label(world_state.scene_label(scene)) == (scene.task.family, scene.seed)
    with pytest.raises(InvalidDataError):
        world_state.read_label("nonsense")
