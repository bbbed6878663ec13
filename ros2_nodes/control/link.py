"""The way of commands: sent more than once where they may be lost, and whether they have come, as far as is known."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence

from rclpy.duration import Duration
from rclpy.publisher import Publisher

from tendon.ros2_nodes.base import qos

LATE_SHARE = 0.375
"""Part of the age that a joint state may have after which the next one has not come: 15 ms at 100 Hz."""
LOSSY_NS = 1_000_000_000
"""For so long after that the network is one that loses."""
MARGIN_NS = 500_000
"""Before the end of its lifespan from when a command no longer counts: the middleware takes one that it has forgotten
for acknowledged."""
NO_WAIT = Duration(nanoseconds=0)
LAST_TIMES = 3
"""How often commands are sent that none follow: the robot joins them as well two ticks later."""
MOST_LOST = 50
"""Joint states between two, by their numbers, beyond which they are of two publishers."""

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
        self,
        publishers: Sequence[Publisher],
        lifespan_ns: int,
        oldest_ns: int,
        acknowledged: Callable[[], bool] = lambda: True,
    ) -> None:
        self._publishers, self._lifespan_ns, self._acknowledged = publishers, lifespan_ns, acknowledged
        self._late_ns = round(LATE_SHARE * oldest_ns)
        self._sent_ns = self._lossy_until_ns = 0
        self._numbers: list[int] = []
        self._again: list[Sequence[Message]] = []

    def came(self, number: int) -> None:
        """Takes the number that its publisher gave a joint state; 0 where the middleware does not say."""
        self._numbers.append(number)

    def heard(self, age_ns: int) -> None:
        """Takes how old the newest joint state is at a tick, 0 at one that is late; of those that came, none may lack.

        Where more come in a tick than their queue holds, it drops the oldest; so the first is not compared there.
        """
        first = len(self._numbers) > qos.STREAM.depth
        pairs = itertools.pairwise(self._numbers[first:])
        if age_ns > self._late_ns or any(before and 1 < number - before <= MOST_LOST for before, number in pairs):
            self._lossy_until_ns = time.monotonic_ns() + LOSSY_NS
        del self._numbers[:-1]

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
