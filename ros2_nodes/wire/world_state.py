"""The state of the simulated world as a message: a named vector with a stamp, so that any ROS tool can read it."""

from __future__ import annotations

import math
from array import array
from itertools import chain

from sensor_msgs.msg import JointState

from tendon.core.errors import InvalidDataError
from tendon.graph import topics
from tendon.ros2_nodes.wire.times import time_message, time_ns
from tendon.sim.suite import Scene
from tendon.sim.world_state import WorldState

_AXES = ("x", "y", "z", "qx", "qy", "qz", "qw")


def scene_label(scene: Scene) -> str:
    """Returns what identifies a scene of a suite in a message: the family and seed it was sampled from."""
    return f"{scene.task.family}/{scene.seed}"


def read_label(label: str) -> tuple[str, int]:
    """Returns (family, seed) of a label.

    Raises:
        InvalidDataError: the label is not one.
    """
    family, _, seed = label.partition("/")
    try:
        return family, int(seed)
    except ValueError as error:
        raise InvalidDataError(
            f"{topics.WORLD_STATE}: scene is {label[:40]!r}, expected FAMILY/SEED: {error}"
        ) from error


def world_state_message(stamp_ns: int, label: str, state: WorldState) -> JointState:
    """Returns the message: joints, seven numbers of each thing's pose, openings of what slides, what grippers hold."""
    counts = [len(part) for part in (state.joint_position, state.poses, state.openings, state.held)]
    message = JointState(name=_names(*counts))
    message.header.stamp, message.header.frame_id = time_message(stamp_ns), label
    message.position = array("d", chain(state.joint_position, *state.poses, state.openings, map(float, state.held)))
    return message


def world_state(message: JointState) -> tuple[int, str, WorldState]:
    """Returns (stamp_ns, label of the scene, state); the state's own time is the stamp.

    Raises:
        InvalidDataError: names or numbers are others than `world_state_message` writes, or a number is not finite.
    """
    stamp_ns, values = time_ns(message.header.stamp), message.position.tolist()
    joints = sum(name.startswith("joint") for name in message.name)
    openings = sum(name.startswith("opening") for name in message.name)
    grippers = sum(name.startswith("held") for name in message.name)
    items = (len(message.name) - joints - openings - grippers) // len(_AXES)
    if message.name != _names(joints, items, openings, grippers) or len(values) != len(message.name):
        raise InvalidDataError(
            f"{topics.WORLD_STATE}: {len(values)} positions of {len(message.name)} names, expected joint0, ..., "
            "seven numbers of each item, opening0, ... and held0, ..."
        )
    for name, value in zip(message.name, values, strict=True):
        if not math.isfinite(value):
            raise InvalidDataError(f"{topics.WORLD_STATE}: {name} is {value}, expected a finite number")
    held = values[len(values) - grippers :]
    if not all(-1 <= thing < items and thing == int(thing) for thing in held):
        raise InvalidDataError(f"{topics.WORLD_STATE}: held is {held}, expected numbers of items, or -1")
    last = len(values) - grippers - openings
    poses = [tuple(values[i : i + len(_AXES)]) for i in range(joints, last, len(_AXES))]
    state = WorldState(
        time_ns=stamp_ns,
        joint_position=tuple(values[:joints]),
        poses=tuple(poses),
        openings=tuple(values[last : last + openings]),
        held=tuple(map(int, held)),
    )
    return stamp_ns, str(message.header.frame_id), state


def _names(joints: int, items: int, openings: int, grippers: int) -> list[str]:
    poses = [f"item{i}.{axis}" for i in range(items) for axis in _AXES]
    others = [*(f"opening{i}" for i in range(openings)), *(f"held{i}" for i in range(grippers))]
    return [*(f"joint{i}" for i in range(joints)), *poses, *others]
