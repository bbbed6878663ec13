"""Joint states as ROS messages and back: by name, never by position."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence

from sensor_msgs.msg import JointState

from tendon.core.errors import InvalidDataError, MismatchError
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
        now_ns: this process's time; with it a state from the future is refused, after which all true ones would look
            old.
        ahead_ns: how far ahead of it a stamp may be.
    """

    def __init__(self, joint_names: Sequence[str], now_ns: Callable[[], int] | None = None, ahead_ns: int = 0) -> None:
        self._wanted, self._now_ns, self._ahead_ns = tuple(joint_names), now_ns, ahead_ns
        self._seen: list[str] | None = None
        self._order: list[int] = []

    def read(self, message: JointState) -> tuple[int, Array, Array]:
        """Returns (stamp_ns, position (n,), velocity (n,)).

        Raises:
            MismatchError: a joint is missing or named twice.
            InvalidDataError: positions or velocities are missing or not finite, or the stamp lies in the future.
        """
        stamp_ns = time_ns(message.header.stamp)
        if self._now_ns is not None and (ahead_ns := stamp_ns - self._now_ns()) > self._ahead_ns:
            raise InvalidDataError(
                f"joint state is stamped {ahead_ns * 1e-6:.0f} ms ahead of this machine's clock, allowed "
                f"{self._ahead_ns * 1e-6:.0f}: let its sender use the same clock"
            )
        if message.name != self._seen:
            self._order = order_of(self._wanted, message.name, "joint state")
            self._seen = list(message.name)
        count = (len(message.name),)
        position = freeze("joint state position", message.position, count)[self._order]
        velocity = freeze("joint state velocity", message.velocity, count)[self._order]
        return stamp_ns, position, velocity


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
