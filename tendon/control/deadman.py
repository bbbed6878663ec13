"""The deadman of who teleoperates, decided where the robot is driven: by what arrives, and by what does not."""

from __future__ import annotations

SILENCE_NS = 80_000_000
"""How old the newest chunk of a hold may be. With the tick that notices (10 ms) and what is committed (`LEAD_TICKS`,
40 ms) braking begins at most 130 ms after it was sent."""
RELEASED = 0
"""The hold of a chunk that says that nobody holds."""
RELEASED_NOTE = "released: press to go on"
HANDED_NOTE = "handed over: release, then press"
SILENT_NOTE = f"nothing from who teleoperates for {SILENCE_NS // 1_000_000} ms: release, then press again"


class Deadman:
    """Whether a hold is in force. Not thread-safe.

    A hold is named by the time of its press; of two who hold at once, whoever pressed last leads. It ends when a chunk
    says so, when no newer chunk comes, when the robot is armed, and when a chunk has another clock. From then on only a
    hold counts that was pressed after that. A hand-over of the robot ends those that were pressed before it.
    """

    def __init__(self) -> None:
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
                self._end(max(stamp_ns, self._hold_ns), RELEASED_NOTE)
            return False
        fresh = self._ended_ns < hold_ns <= stamp_ns and now_ns - stamp_ns <= SILENCE_NS
        if not fresh or hold_ns < self._hold_ns:
            return False
        self._hold_ns, self._heard_ns = hold_ns, max(stamp_ns, self._heard_ns)
        return True

    def lapse(self, now_ns: int) -> bool:
        """Returns whether the hold in force ends now, as nothing was heard of it for too long."""
        if not self.held or 0 <= now_ns - self._heard_ns + SILENCE_NS <= 2 * SILENCE_NS:
            return False
        self._end(now_ns, SILENT_NOTE)
        return True

    def end(self, now_ns: int) -> None:
        """Ends any hold: a press from before counts no more."""
        self._end(now_ns, RELEASED_NOTE)

    def hand_over(self, now_ns: int) -> None:
        """Takes note that the robot is given to who teleoperates: a press that is no part of that counts no more.

        Whoever holds since long ago leads on from where the robot was then, and it would leap there.
        """
        self._end(max(self._ended_ns, now_ns - SILENCE_NS), HANDED_NOTE)

    def _end(self, now_ns: int, note: str) -> None:
        self._hold_ns, self._heard_ns = RELEASED, 0
        self._ended_ns, self.note = now_ns, note
