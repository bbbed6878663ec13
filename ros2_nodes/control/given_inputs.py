"""What the filter was given, for the event log: several steps a message, so that the monitor takes fewer messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tendon.core.filter_input import FilterInput
from tendon.ros2_nodes import wire

GATHERED = 5
"""Steps of the filter that go out together: so many the log lacks, at most, when this process is killed."""


class GivenInputs:
    """Gathers and sends. One thread.

    Args:
        joint_names: of the robot.
        publish: sends the bytes of a message.
    """

    def __init__(self, joint_names: Sequence[str], publish: Callable[[bytes], None]) -> None:
        self._joints, self._publish = tuple(joint_names), publish
        self._waiting: list[FilterInput] = []
        self._stamp_ns = 0

    def add(self, now_ns: int, inputs: Sequence[FilterInput]) -> None:
        """Takes those of a tick. What waits goes out when it is enough, or when these do not continue it."""
        if not inputs or any(given.reset is not None for given in inputs):
            self.send()
        if inputs:
            self._waiting.extend(inputs)
            self._stamp_ns = now_ns
        if len(self._waiting) >= GATHERED:
            self.send()

    def send(self) -> None:
        """Sends what waits, when no tick follows."""
        for data in wire.filter_input_bytes(self._stamp_ns, self._joints, self._waiting):
            self._publish(data)
        self._waiting.clear()
