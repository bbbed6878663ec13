"""The state of the simulated world as a message: a named vector with a stamp, so that any ROS tool can read it."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import chain

from builtin_interfaces.msg import Duration
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from tendon.core.errors import InvalidDataError
from tendon.core.types import Array
from tendon.ros2_nodes import conversion
from tendon.sim.scene import Scene, sample_scene
from tendon.sim.world import WorldState

TOPIC = "sim/world_state"
COMMANDED_TOPIC = "sim/commanded"
_POSE = 7


def scene_label(scene: Scene) -> str:
    """Returns what identifies a scene in a message: the family and seed it was sampled from."""
    return f"{scene.task.family}/{scene.seed}"


def scene_of(label: str) -> Scene:
    """Returns the scene of a label.

    Raises:
        InvalidDataError: the label is not one.
    """
    family, _, seed = label.partition("/")
    try:
        return sample_scene(int(seed), family)
    except ValueError as error:
        raise InvalidDataError(f"world state is of scene {label!r}: {error}") from error


def world_state_message(stamp_ns: int, label: str, state: WorldState) -> JointState:
    """Returns the message: joints, then seven numbers of each item's pose, then the drawer's opening."""
    message = JointState()
    message.header.stamp, message.header.frame_id = conversion.time_message(stamp_ns), label
    joints = [f"joint{i}" for i in range(len(state.joint_position))]
    poses = [f"item{i}.{axis}" for i in range(len(state.poses)) for axis in ("x", "y", "z", "qx", "qy", "qz", "qw")]
    message.name = [*joints, *poses, "opening"]
    message.position = array("d", chain(state.joint_position, *state.poses, (state.opening,)))
    return message


def world_state(message: JointState) -> tuple[int, str, WorldState]:
    """Returns (stamp_ns, label of the scene, state); the state's own time is the stamp."""
    stamp_ns = conversion.time_ns(message.header.stamp)
    joints = sum(name.startswith("joint") for name in message.name)
    values = message.position.tolist()
    poses = values[joints:-1]
    return (
        stamp_ns,
        message.header.frame_id,
        WorldState(
            time_ns=stamp_ns,
            joint_position=tuple(values[:joints]),
            poses=tuple(tuple(poses[i : i + _POSE]) for i in range(0, len(poses), _POSE)),
            opening=values[-1],
        ),
    )


def commanded_message(names: Sequence[str], samples: Sequence[tuple[int, Array, Array]]) -> JointTrajectory:
    """Returns what controllers commanded in some physics steps, each as (stamp_ns, (n,) position, (n,) velocity)."""
    message = JointTrajectory(joint_names=list(names))
    first_ns = samples[0][0]
    message.header.stamp = conversion.time_message(first_ns)
    for stamp_ns, position, velocity in samples:
        second, nanosecond = divmod(stamp_ns - first_ns, 1_000_000_000)
        point = JointTrajectoryPoint(time_from_start=Duration(sec=second, nanosec=nanosecond))
        point.positions, point.velocities = array("d", position.tobytes()), array("d", velocity.tobytes())
        message.points.append(point)
    return message
