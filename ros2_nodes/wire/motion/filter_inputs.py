"""What the filter was given, as trajectory messages and back: for the event log and its replay."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from trajectory_msgs.msg import JointTrajectory

from tendon.core.errors import InvalidDataError
from tendon.core.filter_input import FilterInput
from tendon.core.types import Array
from tendon.graph import topics
from tendon.ros2_nodes.wire.cdr import STAMP_END, WORD, deserialize, gap, strings, strings_pattern, with_stamp
from tendon.ros2_nodes.wire.times import ENCAPSULATION, read_stamp_ns

Rows = list[Array]
"""Positions, velocities, accelerations and effort of a point; each may be empty."""

MAX_STEPS = 128
"""Of a message. A tick has 1, five of which are sent together, and after those that were missed some 15, at 1000 Hz
105; 3000 take 14 ms and 0.7 MB of log."""
NO_TIME = bytes(8)
NONE: Array = np.empty(0)
RESET, STEP = "reset", "step"
"""What a message is, in its frame_id: the pose where the reference was put at rest, or a point for each step."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SentFilterInputs:
    """What one message says.

    Attributes:
        stamp_ns: of the control tick of the last step.
        reset: (n,) where the reference was put at rest; `None` in a message of steps.
        steps: what the filter was given, in order.
    """

    stamp_ns: int
    reset: Array | None
    steps: tuple[FilterInput, ...]


def filter_input_bytes(stamp_ns: int, joint_names: Sequence[str], inputs: Sequence[FilterInput]) -> Iterator[bytes]:
    """Yields messages of what the filter was given, the last of it in a tick: a reset with the pose, and steps.

    A point without positions is a step without a target. Its accelerations, where it has some, are how far the robot
    was measured from where it was told to be, and its effort is the part of the velocity limits in force.
    """
    names = tuple(joint_names)
    steps: list[Rows] = []
    for given in inputs:
        if given.reset is not None:
            if steps:
                yield _message(stamp_ns, STEP, names, steps)
                steps = []
            yield _message(stamp_ns, RESET, names, [[given.reset, NONE, NONE, NONE]])
        rows = [NONE if each is None else each for each in (given.target, given.velocity, given.away)]
        steps.append([*rows, np.array([given.speed])])
    if steps:
        yield _message(stamp_ns, STEP, names, steps)


def read_filter_inputs(data: bytes, joint_names: Sequence[str]) -> SentFilterInputs:
    """Returns what the bytes of a message say; numbers as they are, NaN too: they are what the filter was given.

    Args:
        data: of `topics.FILTER_INPUT`.
        joint_names: of the robot.

    Raises:
        InvalidDataError: it is of another form.
    """
    joints = len(joint_names)
    kind, points = _read_usual(data, tuple(joint_names)) or _read_any(data)
    sizes = [tuple(map(len, row)) for row in points]
    given = [(joints, joints), (joints, 0), (0, 0)]
    steps_right = [(*targets, away, 1) for targets in given for away in (0, joints)]
    right = {RESET: [(joints, 0, 0, 0)], STEP: steps_right}.get(kind)
    if right is None:
        raise InvalidDataError(f"{topics.FILTER_INPUT}: frame_id is {kind[:40]!r}, expected {RESET} or {STEP}")
    wrong = [size for size in sizes if size not in right]
    if len(points) > MAX_STEPS:
        raise InvalidDataError(f"{topics.FILTER_INPUT}: it has {len(points)} points: at most {MAX_STEPS} are read")
    if not points or wrong or (kind == RESET and len(points) > 1):
        raise InvalidDataError(
            f"{topics.FILTER_INPUT}: a {kind} of {len(points)} points has {(wrong or sizes)[:1]} positions, "
            f"velocities, accelerations and efforts, expected {' or '.join(map(str, right))}"
        )
    stamp_ns = read_stamp_ns(data)
    if kind == RESET:
        return SentFilterInputs(stamp_ns=stamp_ns, reset=points[0][0], steps=())
    steps = []
    for *rows, speed in points:
        target, velocity, away = (row if len(row) else None for row in rows)
        steps.append(FilterInput(reset=None, target=target, velocity=velocity, away=away, speed=float(speed[0])))
    return SentFilterInputs(stamp_ns=stamp_ns, reset=None, steps=tuple(steps))


_head = lru_cache(maxsize=4)(strings)
_pattern = lru_cache(maxsize=4)(strings_pattern)


def _message(stamp_ns: int, kind: str, joint_names: tuple[str, ...], points: Sequence[Rows]) -> bytes:
    data = with_stamp(bytes(STAMP_END) + _head(kind, joint_names), stamp_ns) + WORD.pack(len(points))
    for point in points:
        for numbers in point:
            data += WORD.pack(len(numbers))
            if len(numbers):
                data += bytes(gap(len(data))) + np.asarray(numbers, dtype="<f8").tobytes()
        data += NO_TIME
    return data


def _read_usual(data: bytes, joint_names: tuple[str, ...]) -> tuple[str, list[Rows]] | None:
    """Returns kind and points of a message for exactly these joints, `None` for any other."""
    if not data.startswith(ENCAPSULATION):
        return None
    kind = STEP
    found = _pattern(STEP, joint_names).match(data, STAMP_END)
    if found is None:
        kind, found = RESET, _pattern(RESET, joint_names).match(data, STAMP_END)
    if found is None or len(data) < found.end() + WORD.size:
        return None
    place = found.end()
    (count,) = WORD.unpack_from(data, place)
    place += WORD.size
    if count > MAX_STEPS:
        return None
    points: list[Rows] = []
    try:
        while len(points) < count:
            point, place = _read_point(data, place)
            points.append(point)
    except (struct.error, TypeError, ValueError):  # it ends in the middle of a point
        return None
    return (kind, points) if place <= len(data) else None


def _read_point(data: bytes, place: int) -> tuple[Rows, int]:
    rows: Rows = []
    for _ in range(4):
        (count,) = WORD.unpack_from(data, place)
        place += WORD.size
        place += gap(place) if count else 0
        rows.append(np.ndarray(count, "<f8", data, place) if count else NONE)
        place += 8 * count
    return rows, place + len(NO_TIME)


def _read_any(data: bytes) -> tuple[str, list[Rows]]:
    message = deserialize(data, JointTrajectory)
    points = [
        [np.array(numbers) for numbers in (p.positions, p.velocities, p.accelerations, p.effort)]
        for p in message.points
    ]
    return message.header.frame_id, points
