"""Signs of life: the heartbeat of a node, and that it is through with a simulated time."""

from __future__ import annotations

from dataclasses import dataclass

from std_msgs.msg import Header

from tendon.ros2_nodes.wire.header_lines import HeaderLine
from tendon.ros2_nodes.wire.times import time_ns

_HEARTBEAT = HeaderLine(topic="heartbeat", words=("NODE", "INSTANCE"))
_DONE = HeaderLine(topic="sim/done", words=("NODE",), numbers=("PID", "COMMANDS"))
HEARTBEAT_TOPIC, DONE_TOPIC = _HEARTBEAT.topic, _DONE.topic


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
