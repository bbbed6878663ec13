"""What a driver of a robot must do: five calls from one thread, tried by `tests/robots/drivers`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tendon.core.types import Array, freeze


@dataclass(frozen=True, kw_only=True, eq=False)
class JointReading:
    """What a robot measures at one instant, in the profile's joint order.

    Attributes:
        stamp_ns: when, on the clock that the driver was made with.
        position: (n,) rad or m, read-only.
        velocity: (n,) rad/s or m/s, read-only.
        effort: (n,) N m or N; `None` for a robot that does not measure it.
    """

    stamp_ns: int
    position: Array
    velocity: Array
    effort: Array | None = None

    def __post_init__(self) -> None:
        position = freeze("measured position", self.position, (None,))
        object.__setattr__(self, "position", position)
        object.__setattr__(self, "velocity", freeze("measured velocity", self.velocity, position.shape))


class Driver(Protocol):
    """One robot. All calls come from one thread, `read` and `command` in turn at the control rate.

    A driver never moves a robot by itself: connecting holds it where it stands, and when commands cease it rests at
    the last one.
    """

    def connect(self) -> None:
        """Opens the bus and holds the robot where it stands. Also ends a `stop`.

        Raises:
            TendonError: the robot does not answer or is not the profile's.
        """

    def read(self) -> JointReading:
        """Returns what the robot measures now; a joint that does not answer is an error, never an old value.

        Raises:
            StoppedError: not connected.
        """

    def command(self, position: Array, velocity: Array) -> None:
        """Sends the next target of every joint.

        Args:
            position: (n,) rad or m in the profile's joint order.
            velocity: (n,) the target's speed there, rad/s or m/s.

        Raises:
            StoppedError: not connected, or stopped.
            InvalidDataError: wrong shape, not finite, outside a joint's limits, or a jump. The robot then keeps what it
                was sent before.
        """

    def stop(self) -> None:
        """Brings the robot to rest inside its acceleration limits and refuses commands until `connect`.

        Raises:
            StoppedError: not connected.
        """

    def close(self) -> None:
        """Stops the robot and releases the bus. A second call does nothing."""
