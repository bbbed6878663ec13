"""Lock-step: simulated time goes on when the control node has done its tick, and says so with all its commands."""

from __future__ import annotations

import threading
import time

from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from std_msgs.msg import Header

from tendon.ros2_nodes import conversion, qos

TICK_TOPIC = "control/tick"
"""std_msgs/Header: the stamp of a control tick that is over; frame_id is how many commands were sent in it."""

FIRST_NS = 1_000_000_000
PATIENCE_S = 2.0
_REPEAT_S = 0.5


class LockStep:
    """The simulator's side: publishes `/clock` and waits for the tick of that time and its commands.

    Args:
        node: publishes and subscribes.
        tick_ns: period of the control node.
    """

    def __init__(self, node: Node, tick_ns: int) -> None:
        self._tick_ns = tick_ns
        self.now_ns = FIRST_NS
        self.late = ""
        self._changed = threading.Condition()
        self._done: tuple[int, int] | None = None
        self._commands: dict[int, int] = {}
        self._waiting_since = self._repeat_at = time.monotonic()
        self._clock = node.create_publisher(Clock, "/clock", qos.NEWEST)
        node.create_subscription(Header, TICK_TOPIC, self._ticked, qos.EACH)

    def commanded(self, stamp_ns: int) -> None:
        """Takes note of a command that has arrived for a tick. Any thread."""
        with self._changed:
            self._commands[stamp_ns] = self._commands.get(stamp_ns, 0) + 1
            self._changed.notify_all()

    def _ticked(self, message: Header) -> None:
        with self._changed:
            self._done = (conversion.time_ns(message.stamp), int(message.frame_id))
            self._changed.notify_all()

    def advance(self) -> None:
        """Moves time to the next tick and tells everybody."""
        self.now_ns += self._tick_ns
        self._publish()

    def wait(self, slice_s: float) -> bool:
        """Returns whether the tick of now is over, after at most `slice_s`.

        `late` says what is missing once the control node, having ticked before, needs more than `PATIENCE_S`.
        """
        with self._changed:
            over = self._changed.wait_for(self._over, slice_s)
            if over:
                self._commands = {stamp: n for stamp, n in self._commands.items() if stamp > self.now_ns}
                self._waiting_since, self.late = time.monotonic(), ""
                return True
        waited = time.monotonic() - self._waiting_since
        if waited > PATIENCE_S and self._done is not None:
            self.late = f"lock-step: no control tick at {self.now_ns / 1e9:.2f} s of simulated time for {waited:.1f} s"
        if time.monotonic() > self._repeat_at:
            self._publish()  # for a control node that has just been started
        return False

    def _over(self) -> bool:
        if self._done is None:
            return False
        stamp_ns, commands = self._done
        return stamp_ns >= self.now_ns and self._commands.get(stamp_ns, 0) >= commands

    def _publish(self) -> None:
        self._repeat_at = time.monotonic() + _REPEAT_S
        self._clock.publish(Clock(clock=conversion.time_message(self.now_ns)))
