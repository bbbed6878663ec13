"""What the filter was given in a control tick, as trajectory messages and back: for the event log and its replay."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from tendon.control.reference import FilterInput
from tendon.core.errors import InvalidDataError
from tendon.core.types import Array
from tendon.graph import topics
from tendon.ros2_nodes.wire.times import time_message, time_ns

RESET, STEP = "reset", "step"
"""What a message is, in its frame_id: the pose where the reference was put at rest, or a point for each step."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SentFilterInputs:
    """What one message says.

    Attributes:
        stamp_ns: of the control tick.
        reset: (n,) where the reference was put at rest; `None` in a message of steps.
        steps: what the filter was given, in order.
    """

    stamp_ns: int
    reset: Array | None
    steps: tuple[FilterInput, ...]


def filter_input_messages(
    stamp_ns: int, joint_names: Sequence[str], inputs: Sequence[FilterInput]
) -> Iterator[JointTrajectory]:
    """Yields what the filter was given in a tick: a reset with the pose, and steps.

    A point without positions is a step without a target. Its effort is the part of the velocity limits in force.
    """
    stamp, names = time_message(stamp_ns), list(joint_names)
    message = JointTrajectory(header=Header(stamp=stamp, frame_id=STEP), joint_names=names)
    for given in inputs:
        if given.reset is not None:
            start = JointTrajectory(header=Header(stamp=stamp, frame_id=RESET), joint_names=names)
            start.points.append(JointTrajectoryPoint(positions=_doubles(given.reset)))
            yield start
        message.points.append(
            JointTrajectoryPoint(
                positions=_doubles(given.target),
                velocities=_doubles(given.velocity),
                effort=array("d", [given.speed]),
            )
        )
    if message.points:
        yield message


def read_filter_inputs(message: JointTrajectory, joints: int) -> SentFilterInputs:
    """Returns what a message says; numbers are taken as they are, NaN too: they are what the filter was given.

    Args:
        message: of `topics.FILTER_INPUT`.
        joints: how many the robot has.

    Raises:
        InvalidDataError: it is of another form.
    """
    rows = [[np.array(values) for values in (p.positions, p.velocities, p.effort)] for p in message.points]
    kind, sizes = message.header.frame_id, [tuple(map(len, row)) for row in rows]
    right = {RESET: ((joints, 0, 0),), STEP: ((joints, joints, 1), (joints, 0, 1), (0, 0, 1))}.get(kind)
    if right is None:
        raise InvalidDataError(f"{topics.FILTER_INPUT}: frame_id is {kind[:40]!r}, expected {RESET} or {STEP}")
    wrong = [size for size in sizes if size not in right]
    if not rows or wrong or (kind == RESET and len(rows) > 1):
        raise InvalidDataError(
            f"{topics.FILTER_INPUT}: a {kind} of {len(rows)} points has {(wrong or sizes)[:1]} positions, velocities "
            f"and efforts, expected {' or '.join(map(str, right))}"
        )
    stamp_ns = time_ns(message.header.stamp)
    if kind == RESET:
        return SentFilterInputs(stamp_ns=stamp_ns, reset=rows[0][0], steps=())
    steps = [
        FilterInput(
            reset=None,
            target=target if len(target) else None,
            velocity=velocity if len(velocity) else None,
            speed=float(speed[0]),
        )
        for target, velocity, speed in rows
    ]
    return SentFilterInputs(stamp_ns=stamp_ns, reset=None, steps=tuple(steps))


def _doubles(values: Array | None) -> array[float]:
    return array("d") if values is None else array("d", np.asarray(values, dtype=np.float64).tobytes())
