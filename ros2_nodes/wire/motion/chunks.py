"""Action chunks as the bytes of a trajectory message, and back."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tendon.core.errors import InvalidDataError, MismatchError
from tendon.core.modes import Source
from tendon.core.phrases import said_briefly
from tendon.core.types import ActionChunk, SentTrajectory
from tendon.graph import topics
from tendon.ros2_nodes.wire.joint_states import order_of
from tendon.ros2_nodes.wire.motion.trajectories import read_trajectory, write_trajectory
from tendon.ros2_nodes.wire.version import VERSION, check_version

LONGEST = 20
"""Digits of a time in nanoseconds."""


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class HeldChunk:
    """A chunk of who teleoperates.

    Attributes:
        chunk: it.
        hold_ns: when the deadman was pressed that is held since; 0 when nobody holds.
    """

    chunk: ActionChunk
    hold_ns: int


def held_chunk_bytes(chunk: ActionChunk, joint_names: Sequence[str], hold_ns: int) -> bytes:
    """Returns the message of a chunk of who teleoperates: frame_id `1 HOLD`, see `HeldChunk`."""
    return chunk_bytes(chunk, joint_names, f"{VERSION} {hold_ns}")


def held_chunk(data: bytes, joint_names: Sequence[str]) -> HeldChunk:
    """Returns the chunk of a message of who teleoperates.

    Raises:
        InvalidDataError: it names no hold, or see `chunk`.
    """
    given = read_trajectory(data)
    version, _, hold = given.frame.partition(" ")
    if not (version.isascii() and version.isdigit() and hold.isascii() and hold.isdigit() and len(hold) < LONGEST):
        raise InvalidDataError(
            f"{topics.action_chunk(Source.TELEOP)}: frame_id is {given.frame[:40]!r}, must be {VERSION} HOLD: the time "
            "[ns] at which the deadman was pressed that is held since, or 0 when nobody holds"
        )
    check_version(topics.action_chunk(Source.TELEOP), version)
    return HeldChunk(chunk=_chunk(given, joint_names), hold_ns=int(hold))


def chunk_bytes(chunk: ActionChunk, joint_names: Sequence[str], frame: str = "") -> bytes:
    """Returns the message of an action chunk, stamped with its observation; `time_from_start` counts from there."""
    first_ns = chunk.start_ns - chunk.observation_stamp_ns
    count = len(chunk.actions)
    return write_trajectory(
        SentTrajectory(
            stamp_ns=chunk.observation_stamp_ns,
            joint_names=tuple(joint_names),
            times_ns=[first_ns + k * chunk.step_ns for k in range(count)],
            position=chunk.actions,
            velocity=np.empty((count, 0)),
            frame=frame,
        )
    )


def chunk(data: bytes, joint_names: Sequence[str]) -> ActionChunk:
    """Returns the action chunk of a message, its columns in the order of `joint_names`.

    Raises:
        MismatchError: a joint is missing, unknown or named twice.
        InvalidDataError: fewer than two points, uneven times, a wrong size or a value that is not finite.
    """
    return _chunk(read_trajectory(data), joint_names)


def _chunk(given: SentTrajectory, joint_names: Sequence[str]) -> ActionChunk:
    order = _same_joints(joint_names, given.joint_names, "action chunk")
    times = given.times_ns
    if len(times) < 2:
        raise InvalidDataError(f"action chunk has {len(times)} points: its step needs at least 2")
    steps = {later - earlier for earlier, later in itertools.pairwise(times)}
    if len(steps) != 1:
        raise InvalidDataError(f"action chunk has uneven steps {sorted(steps)[:4]} ns: points must be equally spaced")
    if given.position.shape[1] != len(order):
        raise InvalidDataError(f"action chunk has rows of {given.position.shape[1]} numbers, expected {len(order)}")
    return ActionChunk(
        actions=given.position[:, order],
        start_ns=given.stamp_ns + times[0],
        step_ns=steps.pop(),
        observation_stamp_ns=given.stamp_ns,
    )


def _same_joints(wanted: Sequence[str], given: Sequence[str], what: str) -> list[int]:
    unknown = [name for name in given if name not in wanted]
    if unknown:
        raise MismatchError(f"{what} has unknown joint {said_briefly(unknown)}; the robot has: {', '.join(wanted)}")
    return order_of(wanted, given, what)
