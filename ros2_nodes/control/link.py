"""The way of commands: sent more than once where they may be lost, and whether they have come, as far as is known."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence

from rclpy.duration import Duration
from rclpy.publisher import Publisher

from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.base.message_info import MessageInfo

LATE_SHARE = 0.375
"""When none has come for this part of the age that a joint state may have, one has been lost: 15 ms."""
LOSSY_NS = 1_000_000_000
"""For so long after that the network is one that loses."""
MARGIN_NS = 500_000
"""Before the end of its lifespan from when a command no longer counts: the middleware takes one that it has forgotten
for acknowledged."""
NO_WAIT = Duration(nanoseconds=0)
LAST_TIMES = 3
"""How often commands are sent that none follow: the robot joins them as well two ticks later."""

Message = tuple[Publisher, bytes]


class Link:
    """The way of commands. In the thread of the control loop.

    Acknowledgements alone are no measure: whoever listens owes one, such as a suspended `ros2 topic echo`.

    Args:
        publishers: of commands that hold a stop.
        lifespan_ns: of those; 0 in simulated time, which waits until they have come.
        oldest_ns: how old a joint state may be.
        acknowledged: returns whether the robot side says what it has; by others' acknowledgements nothing is known.
    """

    def __init__(
        self, publishers: Sequence[Publisher], lifespan_ns: int, oldest_ns: int, acknowledged: Callable[[], bool]
    ) -> None:
        self._publishers, self._lifespan_ns, self._acknowledged = publishers, lifespan_ns, acknowledged
        self._late_ns = round(LATE_SHARE * oldest_ns)
        self._sent_ns = self._came_ns = self._lossy_until_ns = self._mixed_until_ns = 0
        self._numbers: list[int] = []
        self._again: list[Sequence[Message]] = []

    def came(self, info: MessageInfo) -> None:
        """Takes what the middleware says of a joint state."""
        waited_ns = time.time_ns() - info.received_ns if info.received_ns else 0
        self._came_ns = time.monotonic_ns() - min(max(0, waited_ns), LOSSY_NS)
        self._numbers.append(info.number)

    def heard(self, on_time: bool) -> None:
        """Looks, in each tick, whether joint states have been lost: none came for too long, or a number is missing.

        The age of their stamps tells nothing of the way. Numbers that go down come from two publishers: no measure.

        Args:
            on_time: whether the tick is; else what came has not been looked at for longer.
        """
        now_ns, numbers = time.monotonic_ns(), self._numbers
        lost = on_time and now_ns - self._came_ns > self._late_ns
        steps = [number - before for before, number in itertools.pairwise(numbers) if before]
        if len(numbers) > qos.EACH_OF_STREAM.depth:  # their queue has dropped the oldest
            del steps[:1]
        if any(step < 0 for step in steps):
            self._mixed_until_ns = now_ns + LOSSY_NS
        if lost or (now_ns >= self._mixed_until_ns and any(step > 1 for step in steps)):
            self._lossy_until_ns = now_ns + LOSSY_NS
        del numbers[:-1]

    def send(self, messages: Sequence[Message], last: bool = False) -> None:
        """Sends the commands of a tick; twice when those before may be lost.

        Args:
            messages: a command for each controller.
            last: whether none follow, so that these are sent by `repeat` too.
        """
        self._again = [messages] * (LAST_TIMES - 1) if last and self._lifespan_ns else []
        self._publish(messages)

    def repeat(self) -> None:
        """Sends commands once more that none follow, in a tick without others."""
        if self._again:
            self._publish(self._again.pop())

    def _publish(self, messages: Sequence[Message]) -> None:
        copies = 2 if self._lossy and not self.arrived() else 1
        self._sent_ns = time.monotonic_ns()
        for _ in range(copies):
            for publisher, data in messages:
                publisher.publish(data)

    def arrived(self) -> bool:
        """Returns whether all commands have come, or none is known to be lost."""
        if not self._lifespan_ns:
            return True
        over = time.monotonic_ns() - self._sent_ns > self._lifespan_ns - MARGIN_NS
        if over or not self._acknowledged():  # nobody can be asked
            return not self._lossy
        try:
            return all(publisher.wait_for_all_acked(NO_WAIT) for publisher in self._publishers)
        except RuntimeError:  # a middleware that cannot say
            return not self._lossy

    @property
    def _lossy(self) -> bool:
        return time.monotonic_ns() < self._lossy_until_ns
