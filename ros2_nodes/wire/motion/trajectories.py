"""Trajectories as the bytes ROS puts on the wire, read and written as arrays and not point by point.

A `trajectory_msgs/JointTrajectory` of 25 points costs rclpy 0.2 ms to make and 0.2 ms to read, a hundred times a second
in each of three processes (`benchmarks/studies/trajectory_wire.py`). rclpy publishes bytes as they are and hands them
out with `raw=True`. They are classic CDR (OMG DDSI-RTPS 2.5, 10.2.1.2), in which points of one size follow one another
at a fixed stride. Bytes that differ from that are left to rclpy, when they are few: it needs 25 us for a point.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from rclpy.serialization import deserialize_message
from trajectory_msgs.msg import JointTrajectory

from tendon.core.errors import InvalidDataError
from tendon.core.types import SentTrajectory
from tendon.ros2_nodes.wire.times import ENCAPSULATION, SECOND_NS, nanoseconds_of, time_ns

MAX_NAMES, MAX_POINTS, MAX_ODD_POINTS = 256, 1000, 200
"""Of a message that is read; the last are those of another form than `write_trajectory` writes."""
LONGEST_NAME = 256
"""Characters of a joint's name that is read: no robot has longer ones, and names are compared and said."""
_WORD, _STAMP = struct.Struct("<I"), struct.Struct("<iI")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Head:
    """What comes before the points, how many these are, and where they begin."""

    stamp_ns: int
    frame: str
    joint_names: tuple[str, ...]
    points: int
    place: int


def write_trajectory(given: SentTrajectory) -> bytes:
    """Returns a message, to be published as it is; of at least one point and one joint."""
    head = ENCAPSULATION + _STAMP.pack(*divmod(given.stamp_ns, SECOND_NS)) + _names(given.frame, given.joint_names)
    (count, width), rates = given.position.shape, given.velocity.shape[1]
    points = np.zeros(count, _point(width, rates))
    points["position"] = given.position
    if rates:
        points["velocity_count"], points["velocity"] = rates, given.velocity
    points["second"], points["nanosecond"] = np.divmod(np.array(given.times_ns, dtype=np.int64), SECOND_NS)
    points["next_count"] = width
    head += struct.pack("<II", count, width)
    rest = points.dtype.itemsize - _size(width, rates)  # after the last point; strict readers refuse a byte too many
    return head + bytes(_gap(len(head))) + points.tobytes()[: -rest or None]


def read_trajectory(data: bytes) -> SentTrajectory:
    """Returns what is on the wire.

    Raises:
        InvalidDataError: it is no trajectory, it is too long, or its points have different sizes.
    """
    head = _head(data)
    return _read_regular(data, head) or _read_any(data, head)


def check_points(data: bytes) -> None:
    """Checks that the points of a message are few enough to make an object of each.

    Raises:
        InvalidDataError: they are not, or it is no trajectory.
    """
    _check_odd(_head(data))


def _check_odd(head: _Head) -> None:
    if head.points > MAX_ODD_POINTS:
        raise InvalidDataError(
            f"a trajectory has {head.points} points, of which some have no regular form: at most {MAX_ODD_POINTS} such "
            "are read; leave out accelerations and efforts"
        )


def _head(data: bytes) -> _Head:
    """Returns the head of a message in either byte order.

    Raises:
        InvalidDataError: it has none, or more names or points, or longer names, than are read.
    """
    order = {ENCAPSULATION[:2]: "<", bytes(2): ">"}.get(data[:2])
    if order is None:
        raise InvalidDataError(f"a message of {len(data)} bytes is no JointTrajectory in classic CDR")
    word = _WORD if order == "<" else struct.Struct(">I")
    try:
        second, nanosecond = struct.unpack_from(f"{order}iI", data, len(ENCAPSULATION))
        frame, place = _string(data, len(ENCAPSULATION) + _STAMP.size, word)
        (count,), place, names = word.unpack_from(data, place), place + word.size, []
        if count > MAX_NAMES:
            raise InvalidDataError(f"a trajectory has {count} joints: at most {MAX_NAMES} are read")
        for _ in range(count):
            name, place = _string(data, place, word)
            if len(name) > LONGEST_NAME:
                raise InvalidDataError(
                    f"a trajectory has a joint with a name of {len(name)} characters: at most {LONGEST_NAME} are read"
                )
            names.append(name)
        (points,) = word.unpack_from(data, place)
    except (struct.error, UnicodeDecodeError) as error:
        raise InvalidDataError(f"a message of {len(data)} bytes is no JointTrajectory: {error}") from None
    if points > MAX_POINTS:
        raise InvalidDataError(f"a trajectory has {points} points: at most {MAX_POINTS} are read")
    stamp_ns = nanoseconds_of(second, nanosecond)
    return _Head(stamp_ns=stamp_ns, frame=frame, joint_names=tuple(names), points=points, place=place + word.size)


def _read_regular(data: bytes, head: _Head) -> SentTrajectory | None:
    """Returns points of one size without accelerations and efforts, `None` for anything else."""
    count, place = head.points, head.place
    if data[:2] != ENCAPSULATION[:2] or not count or len(data) < place + _WORD.size:
        return None
    (width,) = _WORD.unpack_from(data, place)
    place += _WORD.size
    place += _gap(place)
    if not 0 < width <= len(data) or len(data) < place + _size(width, 0):
        return None
    rates = width if _WORD.unpack_from(data, place + 8 * width)[0] else 0
    words = _words(width, rates)
    if len(data) < place + (count - 1) * words.size + _size(width, rates):
        return None
    rows = (data[place : place + count * words.size] + bytes(8))[: count * words.size]
    velocities, accelerations, efforts, seconds, nanoseconds, widths = zip(*words.iter_unpack(rows), strict=True)
    if velocities != (rates,) * count or any(accelerations) or any(efforts):
        return None
    if widths[:-1] != (width,) * (count - 1) or max(nanoseconds) >= SECOND_NS:
        return None
    numbers = np.frombuffer(rows, "<f8").reshape(count, -1)
    return SentTrajectory(
        stamp_ns=head.stamp_ns,
        joint_names=head.joint_names,
        times_ns=[second * SECOND_NS + nanosecond for second, nanosecond in zip(seconds, nanoseconds, strict=True)],
        position=numbers[:, :width].copy(),
        velocity=numbers[:, width + 1 : width + 1 + rates].copy(),
        frame=head.frame,
    )


def _read_any(data: bytes, head: _Head) -> SentTrajectory:
    _check_odd(head)
    try:
        message = deserialize_message(data, JointTrajectory)
    except Exception as error:  # rclpy says with its own types, and with RuntimeError, that bytes are no such message
        raise InvalidDataError(f"a message of {len(data)} bytes is no JointTrajectory: {error}") from error
    position, velocity = ([getattr(point, of) for point in message.points] for of in ("positions", "velocities"))
    for what, rows in (("positions", position), ("velocities", velocity)):
        sizes = sorted({len(row) for row in rows})
        if len(sizes) > 1:
            raise InvalidDataError(f"a trajectory has points of {sizes} {what}: each needs one for every joint")
    times_ns = [time_ns(point.time_from_start) for point in message.points]
    return SentTrajectory(
        stamp_ns=head.stamp_ns,
        joint_names=head.joint_names,
        times_ns=times_ns,
        position=np.array(position, dtype=np.float64).reshape(len(times_ns), -1 if times_ns else 0),
        velocity=np.array(velocity, dtype=np.float64).reshape(len(times_ns), -1 if times_ns else 0),
        frame=head.frame,
    )


def _size(width: int, rates: int) -> int:
    """Returns the bytes of a point of `width` positions and `rates` velocities, from its first position on."""
    return 8 * width + (8 + 8 * rates if rates else 4) + 16


@lru_cache(maxsize=16)
def _point(width: int, rates: int) -> np.dtype[np.void]:
    """Returns such a point, and what follows it up to the first position of the next."""
    end = _size(width, rates)
    places = {
        "position": (("<f8", (width,)), 0),
        "velocity_count": ("<u4", 8 * width),
        "velocity": (("<f8", (rates,)), 8 * width + 8 if rates else 0),
        "acceleration_count": ("<u4", end - 16),
        "effort_count": ("<u4", end - 12),
        "second": ("<i4", end - 8),
        "nanosecond": ("<u4", end - 4),
        "next_count": ("<u4", end),
    }
    formats, offsets = zip(*places.values(), strict=True)
    size = end + 4
    return np.dtype({"names": list(places), "formats": formats, "offsets": offsets, "itemsize": size + -size % 8})


@lru_cache(maxsize=16)
def _words(width: int, rates: int) -> struct.Struct:
    """Returns such a point's words: its other counts, its second and nanosecond, the next one's count of positions."""
    numbers = f"{8 * width}x I {4 + 8 * rates if rates else 0}x"
    size = _point(width, rates).itemsize
    words = f"< {numbers} I I i I I"
    return struct.Struct(f"{words} {size - struct.calcsize(words)}x")


def _gap(place: int) -> int:
    """Returns how many bytes lie between a place in a message and the next multiple of 8."""
    return (len(ENCAPSULATION) - place) % 8


@lru_cache(maxsize=16)
def _names(frame: str, joint_names: tuple[str, ...]) -> bytes:
    """Returns the frame and the joints' names, up to where the number of points goes."""

    def string(text: str) -> bytes:
        data = text.encode() + bytes(1)
        return _WORD.pack(len(data)) + data + bytes(-len(data) % 4)

    return b"".join([string(frame), _WORD.pack(len(joint_names)), *map(string, joint_names)])


def _string(data: bytes, place: int, word: struct.Struct) -> tuple[str, int]:
    """Returns the string at a place, and the place of the next word after it.

    Raises:
        struct.error: it does not fit in, or is not what rclpy would read.
        UnicodeDecodeError: it is no UTF-8.
    """
    (size,) = word.unpack_from(data, place)
    begin, end = place + word.size, place + word.size + size
    text = data[begin:end]
    if size == 0 or len(text) < size or text.find(0) != size - 1:
        raise struct.error("no string that ends with its first zero")
    return text[:-1].decode(), end + -end % 4
