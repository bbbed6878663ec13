"""When a command came, and whether another was lost before it, by what the middleware says of each message."""

from __future__ import annotations

import time

from tendon.core.clock import AwakeClock
from tendon.ros2_nodes.base.clock import RosClock
from tendon.ros2_nodes.base.message_info import MessageInfo

PLAUSIBLE_NS = 5_000_000_000
"""No message waits longer in this process; one that seems to was on its way when the system clock was set."""


class Arrivals:
    """Everything in the executor's thread, which says until when it `ran` before it takes what has come.

    Args:
        clock: of the stamps.
        awake: the same without the times in which this process did not run.
    """

    def __init__(self, clock: RosClock, awake: AwakeClock) -> None:
        self._clock, self._awake = clock, awake
        self._ran_ns = 0
        self._offsets = (self._offset_ns(),) * 2
        self._numbers: dict[str, int] = {}

    def ran(self, until_ns: int) -> None:
        """Takes note that this process ran, or slept by its own will, until a time of `time.monotonic_ns`."""
        self._ran_ns = until_ns
        self._offsets = self._offsets[1], self._offset_ns()

    def earliest_ns(self, info: MessageInfo, stamp_ns: int) -> int:
        """Returns when a message with a stamp arrived, on the clock of the stamp; the earliest that may be true.

        It was not before the message was sent, nor before this process was held up: what held up this process alone
        held up no robot. What it slept through does not count either. Simulated time waits
        until the robot has a command, so there the time at which it was sent counts.
        """
        held_ns = time.monotonic_ns() - self._ran_ns
        received_ns, sent_ns = (self._age_ns(at_ns) for at_ns in (info.received_ns, info.sent_ns))
        if self._clock.simulated:
            age_ns = sent_ns
        else:
            age_ns = max(received_ns, min(held_ns, sent_ns) if sent_ns else held_ns)
        arrived_ns = self._clock.ago_ns(age_ns)
        return arrived_ns - self._awake.slept_ns(stamp_ns, arrived_ns)

    def waited_ns(self, info: MessageInfo) -> int:
        """Returns how long a message waited in this process; in simulated time, which waits for it, that is nothing."""
        return 0 if self._clock.simulated else self._age_ns(info.received_ns)

    @staticmethod
    def _offset_ns() -> int:
        """Returns how far the system clock, which the middleware reads, is ahead of the one that nobody sets."""
        return time.time_ns() - time.monotonic_ns()

    def _age_ns(self, at_ns: int) -> int:
        """Returns how long ago a time of the system clock was; it may have been set since messages were last taken."""
        ages_ns = [time.monotonic_ns() + offset_ns - at_ns for offset_ns in self._offsets]
        return min((age_ns for age_ns in ages_ns if 0 < age_ns < PLAUSIBLE_NS), default=0)

    def lost(self, source: str, info: MessageInfo, apart: bool) -> bool:
        """Returns whether a message of a source does not follow the one before it.

        Args:
            source: such as a controller's name.
            info: of the message.
            apart: whether their stamps say so, where the middleware does not count.
        """
        before, self._numbers[source] = self._numbers.get(source, 0), info.number
        return info.number != before + 1 if info.number else apart
