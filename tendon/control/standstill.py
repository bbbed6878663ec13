"""A machine that stood still for a moment, or a network that was gone: when the robot may go on.

While no command comes the robot plays the stop that it holds. One bounded standstill is therefore a hold that ends by
itself, at the end of that stop; one that is longer, or comes back, is a machine that somebody has to look at.
"""

from __future__ import annotations

from dataclasses import dataclass

from tendon.core.causes import Cause, Reason
from tendon.core.types import Array, Command
from tendon.robots.safety_settings import SafetySettings, nanoseconds


@dataclass(frozen=True, kw_only=True, eq=False)
class HeldStop:
    """Where a command that was sent comes to rest: (n,) position, and when.

    Attributes:
        rest_ns: when.
        position: (n,) where.
    """

    rest_ns: int
    position: Array

    @classmethod
    def of(cls, command: Command) -> HeldStop:
        """Returns that of a command."""
        trajectory = command.trajectory
        return cls(rest_ns=command.stamp_ns + trajectory.time_from_start_ns[-1], position=trajectory.position[-1])


NEXT_PERMISSION_NS = 30_000_000
"""How old a permission may be when everything stands still, and after that until the next one has come: the monitor
sends one every 20 ms, and is as late as any other to wake up."""


def gap_ticks(settings: SafetySettings, period_ns: int) -> int:
    """Returns more than how many ticks missed at once are a standstill: else the robot side has a fresh permission.

    It did not stand still itself: a command that goes on after a longer gap it may refuse, and that is a stop for good.
    From the last tick to the one after k missed ones are k + 1 periods, and up to one more as it is ticked late.
    """
    return max(0, (nanoseconds(settings.permission_age_s) - NEXT_PERMISSION_NS) // period_ns - 2)


class Standstill:
    """The control loop's part. Not thread-safe.

    Args:
        settings: how long a standstill may be, how far apart two, and how long the robot may take to settle.
        period_ns: of the loop.
    """

    def __init__(self, settings: SafetySettings, period_ns: int) -> None:
        self._longest_ns, self._apart_ns, self._settle_ns, self._waking_ns = map(
            nanoseconds,
            (
                settings.standstill_s,
                settings.standstill_apart_s,
                settings.standstill_settle_s,
                settings.standstill_waking_s,
            ),
        )
        self._dozes_ns = nanoseconds(settings.joint_state_age_s) // 2
        tick_ns = max(period_ns, nanoseconds(settings.shortest_tick_s))
        self._counts_ns = round(settings.command_late_periods * tick_ns)
        self._first_ns = 0
        self._counted_ns: int | None = None
        self._began_ns: int | None = None
        self._woke_ns: int | None = None
        self._until_ns: int | None = None
        self.reason = ""
        """What to say while it holds."""

    def begin(self, slept_ns: int, now_ns: int, rest_ns: int) -> Reason | None:
        """Takes a standstill that has just ended; returns why the robot must not go on, `None` when it may.

        Args:
            slept_ns: how long it lasted.
            now_ns: when it ended.
            rest_ns: when the stop that the robot plays comes to rest.
        """
        self._began_ns, self._woke_ns = now_ns - slept_ns, now_ns
        self._until_ns = max(rest_ns + self._settle_ns, now_ns + self._settle_ns, self._until_ns or 0)
        self.reason = f"held: the machine stood still for {slept_ns * 1e-6:.0f} ms"
        if slept_ns < self._counts_ns:  # a hiccup, that only a fast loop notices
            return None
        before_ns, self._counted_ns = self._counted_ns, now_ns
        waking = before_ns is not None and 0 <= self._began_ns - before_ns < self._waking_ns
        if not waking:
            self._first_ns = self._began_ns
        whole_ns = now_ns - self._first_ns
        if whole_ns > self._longest_ns:
            most_s = self._longest_ns * 1e-9
            text = f"the control loop stood still for {whole_ns * 1e-9:.2f} s, at most {most_s:.1f} is a hold"
            return Reason(Cause.STANDSTILL, text)
        if not waking and before_ns is not None and 0 <= now_ns - before_ns < self._apart_ns:
            text = f"the control loop stood still twice within {self._apart_ns / 1e9:g} s"
            return Reason(Cause.STANDSTILL, text)
        return None

    def doze(self, slept_ns: int, now_ns: int) -> None:
        """Takes a shorter one, after which the robot goes on at once: what waits in the queues is not old by it.

        Args:
            slept_ns: how long it lasted; one in which nothing can have become stale is left out.
            now_ns: when it ended.
        """
        if slept_ns > self._dozes_ns:
            self._began_ns, self._woke_ns = now_ns - slept_ns, now_ns

    def miss(self, late_ns: int, now_ns: int, rest_ns: int | None) -> Reason | None:
        """Takes a command that was ready too late to be sent; returns why the robot must not go on, if it must not.

        Args:
            late_ns: how long after its tick it was ready.
            now_ns: when that was.
            rest_ns: when the stop that the robot plays instead comes to rest; `None` where no command was sent before.
        """
        if rest_ns is None:
            reason: Reason | None = Reason(Cause.LATE, "a command was too late to be sent, and none before it was sent")
        else:
            reason = self.begin(late_ns, now_ns, rest_ns)
        if reason is None:
            return None
        self.end()
        text = f"{reason.text} (a command was ready {late_ns * 1e-6:.0f} ms after its tick)"
        return Reason(reason.cause, text)

    def doubt(self, now_ns: int, rest_ns: int) -> None:
        """Takes commands that the robot may not have heard: it plays the stop of one of them.

        Args:
            now_ns: the time now.
            rest_ns: when the last of those stops comes to rest.
        """
        self._until_ns = max(rest_ns + self._settle_ns, now_ns + self._settle_ns, self._until_ns or 0)
        self.reason = "held: the last commands may not have come to the robot"

    def end(self) -> None:
        """Forgets the hold: the robot goes on, or is stopped for good."""
        self._until_ns = None

    @property
    def until_ns(self) -> int | None:
        """When the robot should be at rest; `None` when there is no hold."""
        return self._until_ns

    def age_ns(self, stamp_ns: int, now_ns: int) -> int:
        """Returns how old something is, less the last standstill or doze, in which nothing new can have been seen."""
        if self._began_ns is None or self._woke_ns is None or stamp_ns >= self._woke_ns:
            return now_ns - stamp_ns
        return now_ns - stamp_ns - (self._woke_ns - max(stamp_ns, self._began_ns))
