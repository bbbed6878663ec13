"""Signs of life: the heartbeat of a node, and that it is through with a simulated time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from rclpy.serialization import serialize_message
from std_msgs.msg import Header

from tendon.graph import topics
from tendon.ros2_nodes.wire.cdr import deserialize, with_stamp, without_stamp
from tendon.ros2_nodes.wire.headers.lines import HeaderLine
from tendon.ros2_nodes.wire.times import time_ns

_HEARTBEAT = HeaderLine(topic=topics.HEARTBEAT, words=("NODE", "INSTANCE"))
_DONE = HeaderLine(topic=topics.DONE, words=("NODE",), numbers=("PID", "COMMANDS"))


@dataclass(frozen=True, kw_only=True)
class Heartbeat:
    """That a node lives, and which of those that had its name it is."""

    node: str
    instance: str


@dataclass(frozen=True, kw_only=True)
class Done:
    """That a node is through with a simulated time, and how many commands it sent the robot in it."""

    node: str
    pid: int
    stamp_ns: int
    commands: int


def heartbeat_message(beat: Heartbeat, stamp_ns: int) -> Header:
    """Returns the message of a heartbeat."""
    return _HEARTBEAT.encode(stamp_ns, beat.node, beat.instance)


def heartbeat_bytes(beat: Heartbeat, stamp_ns: int) -> bytes:
    """Returns the same as bytes; a process sends one heartbeat for all its life."""
    return with_stamp(_written(beat), stamp_ns)


def read_heartbeat(message: Header) -> Heartbeat:
    """Returns the heartbeat in a message.

    Raises:
        InvalidDataError: it is of another version or form.
    """
    (node, instance), _ = _HEARTBEAT.decode(message)
    return Heartbeat(node=node, instance=instance)


def read_heartbeat_bytes(data: bytes) -> Heartbeat:
    """Returns the heartbeat in the bytes of a message.

    Raises:
        InvalidDataError: they are no header, or one of another version or form.
    """
    return _read(without_stamp(data))


@lru_cache(maxsize=1)
def _written(beat: Heartbeat) -> bytes:
    return bytes(serialize_message(heartbeat_message(beat, 0)))


@lru_cache(maxsize=64)
def _read(data: bytes) -> Heartbeat:
    return read_heartbeat(deserialize(data, Header))


def done_message(done: Done) -> Header:
    """Returns the message of it; the stamp is the time that the node is through with."""
    return _DONE.encode(done.stamp_ns, done.node, done.pid, done.commands)


def read_done(message: Header) -> Done:
    """Returns what a message says.

    Raises:
        InvalidDataError: it is of another version or form.
    """
    (node,), (pid, commands) = _DONE.decode(message)
    return Done(node=node, pid=pid, stamp_ns=time_ns(message.stamp), commands=commands)
