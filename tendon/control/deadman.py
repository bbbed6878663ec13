"""The deadman of who teleoperates, decided where the robot is driven: by what arrives, and by what does not."""

from __future__ import annotations

from tendon.core.filter_input import LEAD_TICKS
from tendon.robots.profile import RobotProfile
from tendon.robots.safety_settings import nanoseconds

BRAKES_NS = 150_000_000
"""From the last chunk of a hold to the first braking, at most: what docs/how-to/teleoperate.md says, at any rate of the
control loop."""
RELEASED = 0
"""The hold of a chunk that says that nobody holds."""
RELEASED_NOTE = "released: press to go on"
HANDED_NOTE = "handed over: release, then press"


def hold_silence_ns(profile: RobotProfile) -> int:
    """Returns how old the newest chunk of a hold may be.

    The tick that notices and what is committed come on top, 50 ms at 100 Hz; of `BRAKES_NS` they take their part first.
    """
    own_ns = (LEAD_TICKS + 1) * round(1e9 / profile.control_hz)
    return min(nanoseconds(profile.safety.hold_silence_s), BRAKES_NS - own_ns)


class Deadman:
    """Whether a hold is in force. Not thread-safe.

    A hold is named by the time of its press; of two who hold at once, whoever pressed last leads. It ends when a chunk
    says so, when no newer chunk comes, when the robot is armed, and when a chunk has another clock. From then on only a
    hold counts that was pressed after that. A hand-over of the robot ends those that were pressed before it.

    A stamp from the future, by more than stamps of joint states may be ahead, leads nothing; and no end of a hold lies
    there, which all true presses until then would be earlier than.

    Args:
        profile: its control rate, and how long a hold may be silent.
    """

    def __init__(self, profile: RobotProfile) -> None:
        self._silence_ns = hold_silence_ns(profile)
        self._ahead_ns = nanoseconds(profile.safety.state_ahead_s)
        self._hold_ns = RELEASED
        self._heard_ns = 0
        self._ended_ns = 0
        self.note = RELEASED_NOTE

    @property
    def held(self) -> bool:
        """Whether one is in force, as far as was looked."""
        return self._hold_ns != RELEASED

    def take(self, hold_ns: int, stamp_ns: int, now_ns: int) -> bool:
        """Takes a chunk's hold; returns whether it may lead the robot.

        Args:
            hold_ns: when the hold was pressed; `RELEASED` when nobody holds.
            stamp_ns: when that was so.
            now_ns: the time now.
        """
        if hold_ns == RELEASED:
            if self.held and stamp_ns >= self._heard_ns:
                self._end(max(min(stamp_ns, now_ns + self._ahead_ns), self._hold_ns), RELEASED_NOTE)
            return False
        if (ahead_ns := stamp_ns - now_ns) > self._ahead_ns:
            if not self.held:
                self.note = f"a press is stamped {ahead_ns * 1e-6:.0f} ms ahead of this clock: use the same clock"
            return False
        fresh = self._ended_ns < hold_ns <= stamp_ns and -ahead_ns <= self._silence_ns
        if not fresh or hold_ns < self._hold_ns:
            return False
        self._hold_ns, self._heard_ns = hold_ns, max(stamp_ns, self._heard_ns)
        return True

    def lapse(self, now_ns: int) -> bool:
        """Returns whether the hold in force ends now, as nothing was heard of it for too long."""
        if not self.held or abs(now_ns - self._heard_ns) <= self._silence_ns:
            return False
        silent_ms = self._silence_ns * 1e-6
        self._end(now_ns, f"nothing from who teleoperates for {silent_ms:.0f} ms: release, then press again")
        return True

    def end(self, now_ns: int) -> None:
        """Ends any hold: a press from before counts no more."""
        self._end(now_ns, RELEASED_NOTE)

    def hand_over(self, now_ns: int) -> None:
        """Takes note that the robot is given to who teleoperates: a press that is no part of that counts no more.

        Whoever holds since long ago leads on from where the robot was then, and it would leap there.
        """
        self._end(max(self._ended_ns, now_ns - self._silence_ns), HANDED_NOTE)

    def _end(self, now_ns: int, note: str) -> None:
        self._hold_ns, self._heard_ns = RELEASED, 0
        self._ended_ns, self.note = now_ns, note
