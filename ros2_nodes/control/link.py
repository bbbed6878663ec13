"""The way of commands: sent more than once where they may be lost, and whether they have come, as far as is known."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from rclpy.duration import Duration
from rclpy.publisher import Publisher

from tendon.control.state_losses import LOSSY_NS, StateLosses
from tendon.ros2_nodes.base.message_info import MessageInfo

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
        losses: of joint states.
        acknowledged: returns whether the robot side says what it has; by others' acknowledgements nothing is known.
    """

    def __init__(
        self, publishers: Sequence[Publisher], lifespan_ns: int, losses: StateLosses, acknowledged: Callable[[], bool]
    ) -> None:
        self._publishers, self._lifespan_ns, self._acknowledged = publishers, lifespan_ns, acknowledged
        self._losses, self._sent_ns = losses, 0
        self._again: list[Sequence[Message]] = []

    def came(self, info: MessageInfo) -> None:
        """Takes what the middleware says of a joint state."""
        waited_ns = time.time_ns() - info.received_ns if info.received_ns else 0
        came_ns = time.monotonic_ns() - min(max(0, waited_ns), LOSSY_NS)
        self._losses.came(info.number, info.sent_ns or came_ns, came_ns)

    def heard(self, on_time: bool) -> None:
        """Looks, in each tick, whether joint states have been lost; see `StateLosses.look`."""
        self._losses.look(time.monotonic_ns(), on_time)

    @property
    def interrupted(self) -> bool:
        """Whether so many were missing since the tick before that commands may be lost too."""
        return self._losses.interrupted

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
        return self._losses.lossy(time.monotonic_ns())
