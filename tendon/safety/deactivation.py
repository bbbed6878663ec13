"""When the robot side's controllers have to be inactive: after a latch, but not before the verified stop has ended.

A controller that is deactivated leaves its last command where it is. That cuts the stop which the robot is playing, so
it waits for rest, and for the end of the last command: a robot that is held by what it ran into rests while its
setpoint comes back to it. What does not come to rest in time, or is commanded on against the laws, is not that stop
any more.
"""

from __future__ import annotations

from tendon.robots.profile import RobotProfile
from tendon.safety.laws import longest_stop_ns

REST_NS = 200_000_000
"""How long the robot is measured at rest first: a motion that turns round stands for a moment too."""
MARGIN_NS = 500_000_000
"""For what may last longer than the longest stop of a command: the reaction to the latch, and the robot's own lag."""
REACTION_NS = 100_000_000
"""From a latch on, commands that were on their way, and the first of the stop, may break a law."""


class Deactivation:
    """Decides from the latch on; `armed` begins anew. Times are of one monotonic clock.

    Args:
        profile: says how long its longest stop is.
    """

    def __init__(self, profile: RobotProfile) -> None:
        self._longest_ns = longest_stop_ns(profile) + MARGIN_NS
        self._moving = True
        self._rest_ns: int | None = None
        self._ends_ns = 0
        self.armed()

    @property
    def reason(self) -> str:
        """Why the controllers have to be inactive; empty when they need not, or not yet."""
        return self._reason

    @property
    def moving(self) -> bool:
        """Whether the robot was measured to move when it was last measured."""
        return self._moving

    def armed(self) -> None:
        """Takes note that the robot may move."""
        self._latched_ns: int | None = None
        self._breaches = 0
        self._reason = ""

    def refused(self) -> None:
        """Takes note that the controllers were made active, and the robot was not armed after all."""
        self._reason = self._reason or "the robot was not armed"

    def commanded(self, ends_ns: int) -> None:
        """Takes when the last command that broke no law ends."""
        self._ends_ns = ends_ns

    def measured(self, at_rest: bool, now_ns: int) -> None:
        """Takes whether a new joint state shows the robot at rest."""
        self._moving = not at_rest
        if not at_rest:
            self._rest_ns = None
        elif self._rest_ns is None:
            self._rest_ns = now_ns
        latched_ns, rest_ns = self._latched_ns, self._rest_ns
        if latched_ns is None or rest_ns is None or now_ns < self._ends_ns:
            return
        if now_ns - max(rest_ns, latched_ns) >= REST_NS:
            self._reason = self._reason or "the robot has come to rest"

    def latched(self, breaches: int, now_ns: int) -> None:
        """Takes note that the robot is latched.

        Args:
            breaches: how many commands have broken a law so far.
            now_ns: when that is so.
        """
        if self._latched_ns is None:
            self._latched_ns = now_ns
        since_ns = now_ns - self._latched_ns
        if since_ns < REACTION_NS:
            self._breaches = breaches
        elif breaches > self._breaches:
            self._reason = self._reason or "a command after the latch broke a law"
        if since_ns > self._longest_ns:
            self._reason = self._reason or f"the robot did not come to rest within {self._longest_ns * 1e-9:.1f} s"
