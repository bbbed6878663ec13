"""Joint states as ROS messages and back: by name, never by position."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from sensor_msgs.msg import JointState

from tendon.core.errors import MismatchError
from tendon.core.types import Array, freeze
from tendon.ros2_nodes.wire.times import time_message, time_ns


def joint_state_message(stamp_ns: int, names: Sequence[str], position: Array, velocity: Array) -> JointState:
    """Returns a joint state without effort."""
    message = JointState(name=list(names))
    message.header.stamp = time_message(stamp_ns)
    message.position = array("d", position.tobytes())
    message.velocity = array("d", velocity.tobytes())
    return message


class JointStateReader:
    """Reads joint states in any order into the profile's; joints the profile does not have are ignored.

    Args:
        joint_names: the order of the answer.
    """

    def __init__(self, joint_names: Sequence[str]) -> None:
        self._wanted = tuple(joint_names)
        self._seen: list[str] | None = None
        self._order: list[int] = []

    def read(self, message: JointState) -> tuple[int, Array, Array]:
        """Returns (stamp_ns, position (n,), velocity (n,)).

        Raises:
            MismatchError: a joint is missing or named twice.
            InvalidDataError: positions or velocities are missing or not finite.
        """
        if message.name != self._seen:
            self._order = order_of(self._wanted, message.name, "joint state")
            self._seen = list(message.name)
        count = (len(message.name),)
        position = freeze("joint state position", message.position, count)[self._order]
        velocity = freeze("joint state velocity", message.velocity, count)[self._order]
        return time_ns(message.header.stamp), position, velocity


def order_of(wanted: Sequence[str], given: Sequence[str], what: str) -> list[int]:
    """Returns where each wanted name is among the given ones.

    Raises:
        MismatchError: one is missing, or a name is given twice.
    """
    missing = [name for name in wanted if name not in given]
    if missing:
        raise MismatchError(f"{what} lacks {', '.join(missing)} (it has: {', '.join(given) or 'none'})")
    if len(set(given)) != len(given):
        raise MismatchError(f"{what} names a joint twice: {', '.join(given)}")
    return [list(given).index(name) for name in wanted]
