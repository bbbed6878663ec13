"""A robot side whose messages take their time, and its states come faster than the controller ticks."""

from __future__ import annotations

from tendon.control.tick import Tick
from tendon.core.types import Observation
from tests.control.robot_side import MS, Robot


class FarRobot(Robot):
    """What is sent while the way is out is lost, and what is on its way then too; nothing is acknowledged.

    Args:
        way_ns: how long a message takes, in both directions.
        state_ns: between two joint states.
    """

    def __init__(self, way_ns: int, state_ns: int) -> None:
        self._way_ns, self._state_ns = way_ns, state_ns
        self._out_ns = range(0)
        self._states: list[tuple[int, int, Observation]] = []
        self._newest: Observation | None = None
        super().__init__(acknowledges=False)

    def go_out(self, in_ns: int, for_ns: int) -> None:
        """Lets the way be out from so long after now, for so long."""
        self._out_ns = range(self.now_ns + in_ns, self.now_ns + in_ns + for_ns)

    def tick(self, delay_ns: int = 0, skip: int = 0) -> Tick:
        """As `Robot.tick`."""
        self.pass_time((1 + skip) * self.controller.period_ns)
        self._losses.look(self.now_ns, on_time=not skip)
        tick = self.controller.tick(self.now_ns, self._newest)
        if tick.command is not None and self.now_ns not in self._out_ns:
            self._flying.append((self.now_ns + delay_ns + self._way_ns, tick.command))
        return tick

    def pass_time(self, duration_ns: int) -> None:
        """As `Robot.pass_time`."""
        for _ in range(duration_ns // MS):
            super().pass_time(MS)
            if self.now_ns in self._out_ns:
                self._flying.clear()
                self._states.clear()
            if self.now_ns % self._state_ns == 0:
                self._said += 1
                if self.now_ns not in self._out_ns:
                    self._states.append((self.now_ns + self._way_ns, self._said, self.observe()))
            while self._states and self._states[0][0] <= self.now_ns:
                came_ns, number, self._newest = self._states.pop(0)
                self._losses.came(number, self._newest.stamp_ns, came_ns)
