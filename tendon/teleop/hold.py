"""The deadman at the hand: each press is named by its time, and after a loss the key has to be seen released."""

from __future__ import annotations

STUCK_NS = 10_000_000_000
"""How long a hold may last while nothing of the device changes. At 0.1 m/s that is a metre, further than any arm here
reaches in one line: a key held for longer is stuck, or lies under something."""
FIRST = "let go first"


class Hold:
    """One deadman. It begins as lost: a key that is held when it is first seen does not count."""

    def __init__(self) -> None:
        self.press_ns = 0
        self.lost = FIRST
        self._alive_ns = 0

    @property
    def held(self) -> bool:
        """Whether it is held, and counts."""
        return self.press_ns != 0

    def update(self, pressed: bool, changed: bool, now_ns: int) -> None:
        """Takes what is so now.

        Args:
            pressed: whether the key is down.
            changed: whether the device says something else than before: a sign of life.
            now_ns: the time, later than at any press before.
        """
        if not pressed:
            self.press_ns, self.lost = 0, ""
            return
        if self.lost:
            return
        if not self.held:
            self.press_ns = self._alive_ns = now_ns
        elif changed:
            self._alive_ns = now_ns
        elif now_ns - self._alive_ns >= STUCK_NS:
            self.lose(f"held without a change for {STUCK_NS // 1_000_000_000} s: release, then press again")

    def lose(self, why: str) -> None:
        """Ends the hold; the key has to be released before it counts again."""
        self.press_ns, self.lost = 0, why
