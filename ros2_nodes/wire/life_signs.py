"""Signs of life in a std_msgs/Header: the heartbeat of a node, and that it is through with a simulated time."""

from __future__ import annotations

from dataclasses import dataclass

from std_msgs.msg import Header

from tendon.core.errors import InvalidDataError
from tendon.ros2_nodes.wire.times import time_message, time_ns

HEARTBEAT_TOPIC = "heartbeat"
"""frame_id is "NODE@INSTANCE"."""
DONE_TOPIC = "sim/done"
"""The stamp is the time a node is through with; frame_id is "NODE PID COMMANDS"."""
LONGEST = 256
"""Characters of a frame_id."""


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
    return Header(stamp=time_message(stamp_ns), frame_id=f"{beat.node}@{beat.instance}")


def read_heartbeat(message: Header) -> Heartbeat:
    """Returns the heartbeat in a message.

    Raises:
        InvalidDataError: it is of another form.
    """
    node, at, instance = message.frame_id.partition("@")
    if not (node and at and instance) or len(message.frame_id) > LONGEST:
        raise InvalidDataError(f"{HEARTBEAT_TOPIC}: frame_id is {message.frame_id[:LONGEST]!r}, must be NODE@INSTANCE")
    return Heartbeat(node=node, instance=instance)


def done_message(done: Done) -> Header:
    """Returns the message of it."""
    return Header(stamp=time_message(done.stamp_ns), frame_id=f"{done.node} {done.pid} {done.commands}")


def read_done(message: Header) -> Done:
    """Returns what a message says.

    Raises:
        InvalidDataError: it is of another form.
    """
    words = message.frame_id[:LONGEST].split(" ")
    if len(words) != 3 or not all(word.isascii() and word.isdigit() for word in words[1:]):
        raise InvalidDataError(f"{DONE_TOPIC}: frame_id is {message.frame_id[:LONGEST]!r}, must be NODE PID COMMANDS")
    return Done(node=words[0], pid=int(words[1]), stamp_ns=time_ns(message.stamp), commands=int(words[2]))
