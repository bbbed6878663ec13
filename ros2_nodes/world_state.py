"""The state of the simulated world as a message: a named vector with a stamp, so that any ROS tool can read it."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import chain

import numpy as np
from sensor_msgs.msg import JointState

from tendon.core.errors import InvalidDataError
from tendon.core.types import Array
from tendon.ros2_nodes import conversion
from tendon.ros2_nodes.trajectory_wire import write_trajectory
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


def commanded_bytes(names: Sequence[str], samples: Sequence[tuple[int, Array, Array]]) -> bytes:
    """Returns the message of what controllers commanded in some physics steps: stamp_ns, (n,) position and velocity."""
    stamps_ns, position, velocity = zip(*samples, strict=True)
    times_ns = [stamp_ns - stamps_ns[0] for stamp_ns in stamps_ns]
    return write_trajectory(stamps_ns[0], names, times_ns, np.array(position), np.array(velocity))
