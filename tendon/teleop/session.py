"""All hands of a robot, and the chunks that they make of where the robot goes next."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tendon.control.deadman import RELEASED
from tendon.core.types import ActionChunk, Array
from tendon.teleop.hand import Hand

CYCLE_NS = 20_000_000
"""Between two looks at the devices, and between the rows of a chunk."""
LAG_NS = 80_000_000
"""From a look to when what it said is due: the control loop has committed itself 40 ms ahead by the time it hears it,
and a target that is due later than that joins what was sent before without a jump."""
PAST, AHEAD = 4, 30
"""Rows of a chunk before what was wanted last, and of rest behind it: a stop must not outlast the plan (0.6 s)."""
RELEASES = 3
"""How often a release is said."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Wish:
    """What to send to the robot.

    Attributes:
        chunk: where to go.
        hold_ns: when the first hand pressed since nobody held; `RELEASED` when nobody holds.
    """

    chunk: ActionChunk
    hold_ns: int


class Session:
    """Not thread-safe.

    All hands have one hold: from the first press until nobody holds. When the robot ends it, no hand can take it up
    again by itself: a later press would move the arm of the other hand too, whose hold is over.

    Args:
        hands: each with joints of its own.
        silence_ns: how long the robot hears nothing of a hold before it brakes, see `hold_silence_ns`.
    """

    def __init__(self, hands: Sequence[Hand], silence_ns: int) -> None:
        self.hands, self._silence_ns = tuple(hands), silence_ns
        self._targets: deque[Array] = deque(maxlen=PAST)
        self._before_ns: int | None = None
        self._releases = 0
        self._hold_ns = RELEASED

    @property
    def held(self) -> bool:
        """Whether any hand holds."""
        return any(hand.press_ns for hand in self.hands)

    def step(self, now_ns: int, rest: Array) -> Wish | None:
        """Looks at all devices; returns what to send, `None` for nothing.

        Args:
            now_ns: the time of the robot.
            rest: (n,) where the robot was told to come to rest.
        """
        before_ns, self._before_ns = self._before_ns, now_ns
        gap_ns = CYCLE_NS if before_ns is None else now_ns - before_ns
        for hand in self.hands:
            hand.look(now_ns)
            if not 0 < gap_ns <= self._silence_ns:  # the robot has not heard of the hold for too long, and brakes
                hand.lose(f"this side stood still for {gap_ns // 1_000_000} ms: release, then press again")
        if not self.held:
            return self._release(now_ns)
        if self._releases != RELEASES:  # a new hold begins where the robot rests
            self._targets.extend(np.array(rest, dtype=np.float64) for _ in range(PAST))
            self._hold_ns = now_ns
        target = self._targets[-1].copy()
        for hand in self.hands:
            hand.move(target, gap_ns * 1e-9, rest)
        self._targets.append(target)
        self._releases = RELEASES
        return Wish(chunk=self._chunk(now_ns), hold_ns=self._hold_ns)

    def _release(self, now_ns: int) -> Wish | None:
        if not self._releases:
            self._targets.clear()
            return None
        self._releases -= 1
        return Wish(chunk=self._chunk(now_ns), hold_ns=RELEASED)

    def _chunk(self, now_ns: int) -> ActionChunk:
        rows = np.concatenate([self._targets, np.tile(self._targets[-1], (AHEAD, 1))])
        start_ns = now_ns + LAG_NS - (PAST - 1) * CYCLE_NS
        return ActionChunk(actions=rows, start_ns=start_ns, step_ns=CYCLE_NS, observation_stamp_ns=now_ns)

    def last(self, now_ns: int) -> Wish | None:
        """Lets go of everything; returns the release that is still to be said."""
        for hand in self.hands:
            hand.lose("the end")
        self._releases = min(self._releases, 1)
        return self._release(now_ns) if self._targets else None

    def close(self) -> None:
        """Lets go of the devices."""
        for hand in self.hands:
            hand.close()
