"""A machine that stood still: the monitor notices its own sleeps, holds the robot for one and stops it for several."""

from __future__ import annotations

from collections.abc import Iterable

from tendon.core.clock import STANDSTILL_APART_NS, AwakeClock
from tendon.safety.response import Finding, Response

NOTICED_STANDSTILL_NS = 100_000_000
"""The monitor holds the robot after a standstill of at least this, the age that a heartbeat may have."""
MAX_STANDSTILLS = 3
"""So many of them within `STANDSTILL_APART_NS` stop it: the control loop, which tolerates one, may have slept through
others."""


class HostWatch:
    """The monitor's part: its own sleeps hold the robot, several stop it.

    Args:
        clock: the monitor's.
    """

    def __init__(self, clock: AwakeClock) -> None:
        self._clock = clock

    def findings(self, now_ns: int) -> Iterable[Finding]:
        """Returns a hold for a sleep that has just ended, a stop when there were several."""
        sleeps = self._clock.sleeps(now_ns - STANDSTILL_APART_NS)
        long = [sleep for sleep in sleeps if sleep.end_ns - sleep.begin_ns >= NOTICED_STANDSTILL_NS]
        if len(long) >= MAX_STANDSTILLS:
            reason = f"the machine stood still {len(long)} times within {STANDSTILL_APART_NS / 1e9:.0f} s"
            return [Finding(source="host", response=Response.STOP, reason=reason)]
        if long and now_ns - long[-1].end_ns <= NOTICED_STANDSTILL_NS:
            slept_ms = (long[-1].end_ns - long[-1].begin_ns) * 1e-6
            reason = f"the machine stood still for {slept_ms:.0f} ms"
            return [Finding(source="host", response=Response.HOLD, reason=reason)]
        return []
