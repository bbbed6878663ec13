"""Joint states that were lost on their way: where they were, the commands of that time may be too."""

from __future__ import annotations

import itertools

LATE_SHARE = 0.375
"""When none has come for this part of the age that a joint state may have, one has been lost: 15 ms."""
LOSSY_NS = 1_000_000_000
"""For so long after that the way is one that loses."""
OUT_PERIODS = 1.25
"""When those that are missing were sent over so many control periods, the way was out for so long that commands may
have been lost until the robot came to its stop.

That takes three commands in a row, of which the first may have been on its way when the way went, and the last was sent
two periods later. As much is lost of joint states, which take as long: what is sent in two periods, less one of them.
So they have to come at 80 Hz at least; of slower ones each that is lost counts.
"""


class StateLosses:
    """What the numbers and times of joint states tell. Not thread-safe.

    Args:
        oldest_ns: how old a joint state may be.
        period_ns: of the control loop.
        most: of a tick that may wait in the queue, which drops the oldest of more.
    """

    def __init__(self, oldest_ns: int, period_ns: int, most: int) -> None:
        self._late_ns, self._out_ns = round(LATE_SHARE * oldest_ns), round(OUT_PERIODS * period_ns)
        self._period_ns, self._most = period_ns, most
        self._came_ns = self._lossy_until_ns = self._mixed_until_ns = 0
        self._oldest_ns, self._usual_ns = oldest_ns, period_ns
        self._sent: list[tuple[int, int]] = []
        self.interrupted = False
        """Whether, at the last `look`, so many were missing of those since the one before that the way was out."""

    def came(self, number: int, sent_ns: int, came_ns: int) -> None:
        """Takes what the middleware says of a joint state.

        Args:
            number: counts what its publisher has sent; 0 where it does not say.
            sent_ns: when that was, on any clock.
            came_ns: when it came, on the clock of `look`.
        """
        self._came_ns = came_ns
        self._sent.append((number, sent_ns))

    def look(self, now_ns: int, on_time: bool) -> None:
        """Looks, in each tick, whether some have been lost: none has come for too long, or a number is missing.

        The age of their stamps tells nothing of the way. Numbers that go down come from two publishers: no measure.

        Args:
            now_ns: the time now.
            on_time: whether the tick is; else what came has not been looked at for longer.
        """
        pairs = list(itertools.pairwise(self._sent))
        if len(self._sent) > self._most:
            del pairs[:1]
        if any(number < before for (before, _), (number, _) in pairs):
            self._mixed_until_ns = now_ns + LOSSY_NS
        if now_ns < self._mixed_until_ns:
            pairs.clear()
        steps = [(number - before, at_ns - at) for (before, at), (number, at_ns) in pairs if before and number > before]
        if steps:
            self._usual_ns = min(lasted_ns // step for step, lasted_ns in steps)
        silent_ns = now_ns - self._came_ns
        if any(step > 1 for step, _ in steps) or (on_time and silent_ns > self._late_ns) or silent_ns > self._oldest_ns:
            self._lossy_until_ns = now_ns + LOSSY_NS
        missing_ns = [self._missing_ns(*pair) for pair in pairs]
        self.interrupted = max(silent_ns - self._usual_ns, *missing_ns, 0) >= self._out_ns
        del self._sent[:-1]

    def _missing_ns(self, before: tuple[int, int], newest: tuple[int, int]) -> int:
        """Returns how long those were sent for that are missing between two; uncounted ones come in each period."""
        lasted_ns, step = newest[1] - before[1], newest[0] - before[0]
        return lasted_ns * (step - 1) // step if before[0] and step else lasted_ns - self._period_ns

    def lossy(self, now_ns: int) -> bool:
        """Returns whether some were lost a moment ago."""
        return now_ns < self._lossy_until_ns
