"""Trajectories as the bytes ROS puts on the wire, read and written as arrays and not point by point.

A `trajectory_msgs/JointTrajectory` of 25 points costs rclpy 0.2 ms to make and 0.2 ms to read, a hundred times a second
in each of three processes (`benchmarks/studies/trajectory_wire.py`). rclpy publishes bytes as they are and hands them
out with `raw=True`. They are classic CDR (OMG DDSI-RTPS 2.5, 10.2.1.2), in which points of one size follow one another
at a fixed stride. Bytes that differ from that in any way are left to rclpy.
"""

from __future__ import annotations

import struct
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from rclpy.serialization import deserialize_message
from trajectory_msgs.msg import JointTrajectory

from tendon.core.errors import InvalidDataError
from tendon.core.types import SentTrajectory
from tendon.ros2_nodes.wire.times import ENCAPSULATION, SECOND_NS, time_ns

_WORD, _STAMP = struct.Struct("<I"), struct.Struct("<iI")


def write_trajectory(given: SentTrajectory) -> bytes:
    """Returns a message, to be published as it is; of at least one point and one joint."""
    head = ENCAPSULATION + _STAMP.pack(*divmod(given.stamp_ns, SECOND_NS)) + _names(given.joint_names)
    (count, width), rates = given.position.shape, given.velocity.shape[1]
    points = np.zeros(count, _point(width, rates))
    points["position"] = given.position
    if rates:
        points["velocity_count"], points["velocity"] = rates, given.velocity
    points["second"], points["nanosecond"] = np.divmod(np.array(given.times_ns, dtype=np.int64), SECOND_NS)
    points["next_count"] = width
    head += struct.pack("<II", count, width)
    return head + bytes(_gap(len(head))) + points.tobytes()


def read_trajectory(data: bytes) -> SentTrajectory:
    """Returns what is on the wire.

    Raises:
        InvalidDataError: it is no trajectory, or its points have different sizes.
    """
    return _read_regular(data) or _read_any(data)


def _read_regular(data: bytes) -> SentTrajectory | None:
    """Returns points of one size without accelerations and efforts, `None` for anything else."""
    if not data.startswith(ENCAPSULATION):
        return None
    try:
        second, nanosecond = _STAMP.unpack_from(data, len(ENCAPSULATION))
        _, place = _string(data, len(ENCAPSULATION) + _STAMP.size)
        (count,), place, names = _WORD.unpack_from(data, place), place + _WORD.size, []
        for _ in range(count):
            name, place = _string(data, place)
            names.append(name)
        count, width = struct.unpack_from("<II", data, place)
    except (struct.error, UnicodeDecodeError):
        return None
    place += 2 * _WORD.size
    place += _gap(place)
    if count == 0 or not 0 < width <= len(data) or len(data) < place + _size(width, 0):
        return None
    rates = width if _WORD.unpack_from(data, place + 8 * width)[0] else 0
    layout = _point(width, rates)
    if len(data) < place + (count - 1) * layout.itemsize + _size(width, rates):
        return None
    points = np.ndarray(count, layout, data + bytes(8), place)
    counts = {"acceleration_count": 0, "effort_count": 0, "velocity_count": rates}
    if not all(_is_each(points[name], value) for name, value in counts.items()):
        return None
    if not _is_each(points["next_count"][:-1], width):
        return None
    times_ns = points["second"].astype(np.int64) * SECOND_NS + points["nanosecond"]
    return SentTrajectory(
        stamp_ns=second * SECOND_NS + nanosecond,
        joint_names=tuple(names),
        times_ns=times_ns.tolist(),
        position=points["position"].copy(),
        velocity=points["velocity"].copy(),
    )


def _is_each(counts: npt.NDArray[np.uint32], value: int) -> bool:
    return counts.tobytes() == _WORD.pack(value) * len(counts)


def _read_any(data: bytes) -> SentTrajectory:
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
        stamp_ns=time_ns(message.header.stamp),
        joint_names=tuple(message.joint_names),
        times_ns=times_ns,
        position=np.array(position, dtype=np.float64).reshape(len(times_ns), -1 if times_ns else 0),
        velocity=np.array(velocity, dtype=np.float64).reshape(len(times_ns), -1 if times_ns else 0),
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


def _gap(place: int) -> int:
    """Returns how many bytes lie between a place in a message and the next multiple of 8."""
    return (len(ENCAPSULATION) - place) % 8


@lru_cache(maxsize=16)
def _names(joint_names: tuple[str, ...]) -> bytes:
    """Returns an empty frame and the joints' names, up to where the number of points goes."""
    data = _WORD.pack(1) + bytes(1)
    data += bytes(-len(data) % 4) + _WORD.pack(len(joint_names))
    for name in joint_names:
        text = name.encode() + bytes(1)
        data += _WORD.pack(len(text)) + text + bytes(-len(text) % 4)
    return data


def _string(data: bytes, place: int) -> tuple[str, int]:
    """Returns the string at a place, and the place of the next word after it.

    Raises:
        struct.error: it does not fit in, or is not what rclpy would read.
        UnicodeDecodeError: it is no UTF-8.
    """
    (size,) = _WORD.unpack_from(data, place)
    begin, end = place + _WORD.size, place + _WORD.size + size
    text = data[begin:end]
    if size == 0 or len(text) < size or text.find(0) != size - 1:
        raise struct.error("no string that ends with its first zero")
    return text[:-1].decode(), end + -end % 4
