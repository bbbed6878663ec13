"""Signs of life: the heartbeat of a node, and that it is through with a simulated time."""

from __future__ import annotations

from dataclasses import dataclass

from std_msgs.msg import Header

from tendon.graph import topics
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


def read_heartbeat(message: Header) -> Heartbeat:
    """Returns the heartbeat in a message.

    Raises:
        InvalidDataError: it is of another version or form.
    """
    (node, instance), _ = _HEARTBEAT.decode(message)
    return Heartbeat(node=node, instance=instance)


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
