"""Joint states as ROS messages and back: by name, never by position."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable, Sequence

import numpy as np
from sensor_msgs.msg import JointState

from tendon.core.errors import InvalidDataError, MismatchError
from tendon.core.phrases import said_briefly
from tendon.core.types import Array
from tendon.observation.joints import columns_of
from tendon.robots.profile import RobotProfile
from tendon.ros2_nodes.wire.cdr import STAMP_END, WORD, deserialize, gap, strings, strings_pattern
from tendon.ros2_nodes.wire.times import ENCAPSULATION, read_stamp_ns, time_message, time_ns

LARGEST_HEAD = 4096
"""Bytes of frame and names that are remembered: to make a form of 60 kB takes 30 ms, three control ticks."""


def joint_state_message(
    stamp_ns: int, names: Sequence[str], position: Array, velocity: Array, effort: Array | None = None
) -> JointState:
    """Returns a joint state."""
    message = JointState(name=list(names))
    message.header.stamp = time_message(stamp_ns)
    message.position = array("d", position.tobytes())
    message.velocity = array("d", velocity.tobytes())
    if effort is not None:
        message.effort = array("d", effort.tobytes())
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
        self._columns = np.array([], dtype=np.intp)
        self._head = b""
        self._form: _UsualForm | None = None

    def read(self, message: JointState) -> tuple[int, Array, Array]:
        """Returns (stamp_ns, position (n,), velocity (n,)).

        Raises:
            MismatchError: a joint is missing or named twice.
            InvalidDataError: positions or velocities are missing or not finite, or the stamp lies in the future.
        """
        stamp_ns = time_ns(message.header.stamp)
        self._check_stamp(stamp_ns)
        if message.name != self._seen:
            self._columns = np.array(order_of(self._wanted, message.name, "joint state"), dtype=np.intp)
            self._seen, self._form = list(message.name), None
        count, order = len(message.name), self._columns
        position = columns_of("joint state position", message.position, count, order)
        return stamp_ns, position, columns_of("joint state velocity", message.velocity, count, order)

    def read_bytes(self, data: bytes) -> tuple[int, Array, Array]:
        """Returns the same for a serialized message; one in the form of the last two costs a tenth of `read`.

        Raises:
            MismatchError, InvalidDataError: as `read`; or the bytes are no joint state.
        """
        numbers = None if self._form is None else self._form.numbers(data)
        wanted = None if numbers is None else numbers[:, self._columns]
        if wanted is None or not np.isfinite(wanted).all():
            message = deserialize(data, JointState)
            found = self.read(message)
            head = strings(message.header.frame_id, message.name)
            usual = head == self._head and len(head) <= LARGEST_HEAD
            self._head, self._form = head, _UsualForm(message) if usual else None
            return found
        stamp_ns = read_stamp_ns(data)
        self._check_stamp(stamp_ns)
        position, velocity = wanted
        return stamp_ns, position, velocity

    def _check_stamp(self, stamp_ns: int) -> None:
        if self._now_ns is not None and (ahead_ns := stamp_ns - self._now_ns()) > self._ahead_ns:
            raise InvalidDataError(
                f"joint state is stamped {ahead_ns * 1e-6:.0f} ms ahead of this machine's clock, allowed "
                f"{self._ahead_ns * 1e-6:.0f}: let its sender use the same clock"
            )


class EffortReader:
    """Reads what joints bear, in the profile's order.

    Args:
        profile: says which joints have a limit, and so must say it.
    """

    def __init__(self, profile: RobotProfile) -> None:
        limits = profile.effort_limit("contact_effort"), profile.effort_limit("payload_effort")
        self._wanted, self._limited = profile.joint_names, np.isfinite(limits).any(axis=0)

    def read_bytes(self, data: bytes) -> Array | None:
        """Returns (n,) efforts of a serialized message, N m or N; NaN for a joint without a limit that has none.

        Returns:
            `None` when no joint has a limit.

        Raises:
            MismatchError: a joint is missing or named twice, or does not say what it bears although that is limited.
            InvalidDataError: the bytes are no joint state, or it has another number of efforts than of names.
        """
        if not self._limited.any():
            return None
        message = deserialize(data, JointState)
        order = order_of(self._wanted, message.name, "joint state")
        if len(message.effort) not in (0, len(message.name)):
            raise InvalidDataError(f"joint state has {len(message.effort)} efforts for {len(message.name)} joints")
        effort = np.array(message.effort)[order] if len(message.effort) else np.full(len(order), np.nan)
        effort[np.isinf(effort)] = np.nan
        if (silent := np.flatnonzero(self._limited & np.isnan(effort))).size:
            names = ", ".join(self._wanted[i] for i in silent)
            raise MismatchError(
                f"joint state has no effort for {names}, which the profile limits: let the driver publish it, or take "
                "contact_effort and payload_effort out of the profile"
            )
        return effort


class _UsualForm:
    """The bytes of joint states with the frame and the names of a message.

    Args:
        message: that one.
    """

    def __init__(self, message: JointState) -> None:
        self._head = strings_pattern(message.header.frame_id, message.name)
        self._count = len(message.name)
        place = STAMP_END + len(strings(message.header.frame_id, message.name))
        numbers = f"{8 * self._count}s"
        self._rest = struct.Struct(f"<I{gap(place + WORD.size)}x{numbers}I4x{numbers}I")
        self._place, self._end = place, place + self._rest.size

    def numbers(self, data: bytes) -> Array | None:
        """Returns (2, k) positions and velocities in the order of the message; `None` for another form."""
        if len(data) < self._end or not data.startswith(ENCAPSULATION) or not self._head.match(data, STAMP_END):
            return None
        positions, position, velocities, velocity, efforts = self._rest.unpack_from(data, self._place)
        if positions != self._count or velocities != self._count:
            return None
        if efforts and len(data) < self._end + gap(self._end) + 8 * efforts:
            return None
        return np.frombuffer(position + velocity, dtype="<f8").reshape(2, self._count)


def order_of(wanted: Sequence[str], given: Sequence[str], what: str) -> list[int]:
    """Returns where each wanted name is among the given ones.

    Raises:
        MismatchError: one is missing, or a name is given twice.
    """
    place = {name: i for i, name in enumerate(given)}
    missing = [name for name in wanted if name not in place]
    if missing:
        raise MismatchError(f"{what} lacks {', '.join(missing)} (it has: {said_briefly(given) or 'none'})")
    if len(place) != len(given):
        raise MismatchError(f"{what} names a joint twice: {said_briefly(given)}")
    return [place[name] for name in wanted]
