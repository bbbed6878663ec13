"""The reference: what has been committed to, tick by tick, and the command that says so to the robot."""

from __future__ import annotations

from collections import deque

import numpy as np
import numpy.typing as npt

from tendon.control.filter import SafetyFilter, Verdict
from tendon.control.stop import Stop
from tendon.core.filter_input import LEAD_TICKS, FilterInput
from tendon.core.types import Array, Command, Trajectory
from tendon.robots.profile import RobotProfile

ARRIVAL_PERIODS = 2.5
"""So many control periods after its tick a command may arrive and the robot does not notice: 1.5 until it is ready
(`command_late_periods`), and one for its way."""
HISTORY_TICKS, HISTORY_NS = 20, 200_000_000
"""Points that are kept after their tick: as many, or for as long, whichever is more. A joint state is older than a fast
loop's ticks."""
EVERY = slice(None)


class Reference:
    """Points of the filter on the grid of control ticks, `LEAD_TICKS` ahead of now. Not thread-safe.

    Args:
        safety_filter: makes the points.
        period_ns: between ticks.
        profile: the robot.
    """

    def __init__(self, safety_filter: SafetyFilter, period_ns: int, profile: RobotProfile) -> None:
        self._filter, self._period_ns = safety_filter, period_ns
        single = [name for each in profile.controllers if each.type == "forward_command" for name in each.joints]
        self._single = np.array([profile.joint_names.index(name) for name in single], dtype=np.intp)
        self._points: deque[Verdict] = deque(maxlen=max(HISTORY_TICKS, HISTORY_NS // period_ns) + LEAD_TICKS)
        self._inputs: list[FilterInput] = []
        self._reset_to: Array | None = None
        self._anchor_ns = 0
        self.tick = 0
        self.committed = 0

    def __bool__(self) -> bool:
        """Whether there is one."""
        return bool(self._points)

    def start(self, position: Array, now_ns: int) -> None:
        """Starts anew, at rest at (n,) `position`, with tick 0 now."""
        self._filter.reset(position)
        self._anchor_ns, self.tick, self.committed = now_ns, 0, LEAD_TICKS
        self._points.clear()
        self._reset_to = self._filter.position
        for _ in range(LEAD_TICKS + 1):
            self._step(None, None)

    def halt(self, now_ns: int) -> None:
        """Starts anew at the end of the stop: the robot has gone there on its own."""
        self._filter.halt()
        self.start(self._filter.position, now_ns)

    def clear(self) -> None:
        """Forgets it."""
        self._points.clear()

    def commit(self, target: Array | None, velocity: Array | None = None) -> Verdict:
        """Adds the next point, on the way to (n,) `target` with (n,) `velocity`; `None` follows the stop."""
        self.committed += 1
        return self._step(target, velocity)

    def _step(self, target: Array | None, velocity: Array | None) -> Verdict:
        reset, self._reset_to = self._reset_to, None
        speed, away = self._filter.speed, self._filter.away
        self._inputs.append(FilterInput(reset=reset, target=target, velocity=velocity, speed=speed, away=away))
        self._points.append(self._filter.step(target, velocity))
        return self._points[-1]

    def retreat(self, goal: Array, reasons: tuple[str, ...]) -> Command | None:
        """Returns the command of the tick with a stop that then comes to (n,) `goal`; `None` where none can.

        Joints that are moved by single positions, which hold no way, keep their place, and have to be at rest there.
        """
        ends, single = self.newest.stop, self._single
        if self.moving(single) or ends.velocity[:, single].any():
            return None
        goal = goal.copy()
        goal[single] = ends.position[-1][single]
        stop = self._filter.retreat(ends, goal)
        return None if stop is None else self.command(reasons, stop)

    def drain(self) -> tuple[FilterInput, ...]:
        """Returns what the filter was given since this was called last."""
        inputs = tuple(self._inputs)
        self._inputs.clear()
        return inputs

    @property
    def newest(self) -> Verdict:
        """The point that was committed last."""
        return self._points[-1]

    def time_ns(self, tick: int) -> int:
        """Returns when a tick is due."""
        return self._anchor_ns + tick * self._period_ns

    def nearest(self, time_ns: int) -> int:
        """Returns the tick that is due nearest to a time."""
        return (time_ns - self._anchor_ns + self._period_ns // 2) // self._period_ns

    def point(self, tick: int) -> Verdict:
        """Returns the reference at a tick, the oldest there is for one before."""
        return self._points[max(0, len(self._points) - 1 - self.committed + tick)]

    def moving(self, joints: npt.NDArray[np.intp] | slice = EVERY) -> bool:
        """Whether a committed point after the tick is in motion, in any of some joints."""
        return any(self.point(tick).velocity[joints].any() for tick in range(self.tick + 1, self.committed + 1))

    def command(self, reasons: tuple[str, ...], stop: Stop | None = None) -> Command:
        """Returns the point of the tick, the committed points after it, and the stop from the last of them.

        The first point is due now, so a robot side joins the motion there and not from where it was measured.

        Args:
            reasons: for a person.
            stop: which begins as that stop; `None` takes it as it is.
        """
        points = [self.point(tick) for tick in range(self.tick, self.committed)]
        stop, lead = self.newest.stop if stop is None else stop, len(points)
        ticks = (*range(lead), *(lead + ticks for ticks in stop.ticks.tolist()))
        trajectory = Trajectory(
            position=np.concatenate([[point.position for point in points], stop.position]),
            velocity=np.concatenate([[point.velocity for point in points], stop.velocity]),
            acceleration=np.concatenate([[point.acceleration for point in points], stop.acceleration]),
            time_from_start_ns=tuple(tick * self._period_ns for tick in ticks),
        )
        return Command(stamp_ns=self.time_ns(self.tick), trajectory=trajectory, reasons=reasons)

    def settling(self, until_ns: int, reasons: tuple[str, ...]) -> Command:
        """Returns one point, far enough ahead for the robot to come gently from what it held to where it starts."""
        zero = np.zeros((1, len(self._filter.position)))
        trajectory = Trajectory(
            position=self._filter.position[None],
            velocity=zero,
            acceleration=zero,
            time_from_start_ns=(until_ns - self.time_ns(self.tick),),
        )
        return Command(stamp_ns=self.time_ns(self.tick), trajectory=trajectory, reasons=reasons)
