"""A machine that stood still: the monitor notices its own sleeps, holds the robot for one and stops it for several."""

from __future__ import annotations

from collections.abc import Iterable

from tendon.core.causes import Cause
from tendon.core.clock import AwakeClock
from tendon.robots.safety_settings import SafetySettings, nanoseconds
from tendon.safety.response import Finding, Response


class HostWatch:
    """The monitor's part: its own sleeps hold the robot, several stop it.

    Args:
        clock: the monitor's.
        settings: which sleep is noticed, and how many are too many.
    """

    def __init__(self, clock: AwakeClock, settings: SafetySettings) -> None:
        self._clock = clock
        self._noticed_ns, self._apart_ns = map(
            nanoseconds, (settings.standstill_noticed_s, settings.standstill_apart_s)
        )
        self._most = settings.standstill_count

    def findings(self, now_ns: int) -> Iterable[Finding]:
        """Returns a hold for a sleep that has just ended, a stop when there were several."""
        sleeps = self._clock.sleeps(now_ns - self._apart_ns)
        long = [sleep for sleep in sleeps if sleep.end_ns - sleep.begin_ns >= self._noticed_ns]
        if len(long) >= self._most:
            reason = f"the machine stood still {len(long)} times within {self._apart_ns / 1e9:g} s"
            return [Finding(source="host", response=Response.STOP, cause=Cause.STANDSTILL, reason=reason)]
        if long and now_ns - long[-1].end_ns <= self._noticed_ns:
            slept_ms = (long[-1].end_ns - long[-1].begin_ns) * 1e-6
            reason = f"the machine stood still for {slept_ms:.0f} ms"
            return [Finding(source="host", response=Response.HOLD, cause=Cause.STANDSTILL, reason=reason)]
        return []
