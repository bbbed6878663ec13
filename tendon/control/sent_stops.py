"""What the robot side was sent last: where each of those commands comes to rest, and so what it may hold."""

from __future__ import annotations

from collections import deque

from tendon.control.standstill import HeldStop
from tendon.core.types import Array, Command

DIGITS = 9
"""Of places that are one [rad, m]: a nanometre is a rounding error."""


class SentStops:
    """The stops of the last commands. Not thread-safe.

    Args:
        count: how many commands the robot side may miss before nothing more is sent.
    """

    def __init__(self, count: int) -> None:
        self._stops: deque[tuple[HeldStop, bool]] = deque(maxlen=count)
        self.unheard = False
        """Whether some may not have been heard: which of them the robot plays, or holds the end of, is not known."""

    def add(self, command: Command) -> None:
        """Takes a command that is sent; one of a single point asks the robot to settle."""
        self._stops.append((HeldStop.of(command), len(command.trajectory.position) == 1))

    def take_back(self) -> HeldStop | None:
        """Forgets the newest, which was not sent after all; returns the one before."""
        if self._stops:
            self._stops.pop()
        return self.newest

    def clear(self) -> None:
        """Forgets all: the robot begins anew."""
        self._stops.clear()
        self.unheard = False

    @property
    def newest(self) -> HeldStop | None:
        """That of the newest command; `None` without one."""
        return self._stops[-1][0] if self._stops else None

    @property
    def rest_ns(self) -> int:
        """When the last of them comes to rest; 0 without one."""
        return max((stop.rest_ns for stop, _ in self._stops), default=0)

    @property
    def ends(self) -> tuple[Array, ...]:
        """(n,) each: where they come to rest, the newest last."""
        return tuple(stop.position for stop, _ in self._stops)

    @property
    def known(self) -> bool:
        """Whether it is known where the robot side rests: each motion that it may have heard last ends there."""
        maybe = list(self._stops) if self.unheard else list(self._stops)[-1:]
        places = {stop.position.round(DIGITS).tobytes() for stop, _ in maybe}
        return len(places) == 1 and not any(settles for _, settles in maybe)

    @property
    def ends_of_motion(self) -> tuple[Array, ...]:
        """(n,) each: the same without commands that ask to settle, which a robot that hears none does not follow."""
        return tuple(stop.position for stop, settles in self._stops if not settles)
