"""How much of a residual holds: it ramps in, and falls with every reason for doubt."""

from __future__ import annotations

RISE_S, FALL_S = 0.5, 0.2
"""How long the authority takes from 0 to 1, and back."""
GAP_PERIODS = 3
"""Control periods without a base motion after which a residual begins anew, from none."""


class Authority:
    """The part of a residual, and of its bounds, that holds at a control tick. Not thread-safe.

    Args:
        period_ns: of control.
        fresh_ns: age of the base's observation up to which all of it holds; from twice that on none does.
        rise_s: from 0 to 1.

    Attributes:
        setting: 0 to 1, what the operator and the gate allow.
        speed: 0 to 1, the part of its speed that the robot may use: less when the failure detector doubts the base.
        failed: the residual did: its authority falls to none.
        now: what held at the last tick.
    """

    def __init__(self, period_ns: int, fresh_ns: int, rise_s: float = RISE_S) -> None:
        self._period_ns, self._fresh_ns, self._rise_s = period_ns, fresh_ns, rise_s
        self._last_ns: int | None = None
        self.setting = self.speed = 1.0
        self.failed = False
        self.now = 0.0

    def step(self, due_ns: int, age_ns: int) -> float:
        """Returns how fast it changes [1/s] at a tick; `now` is what holds then.

        Args:
            due_ns: when the motion is due.
            age_ns: of the observation that the base's plan comes from, then.
        """
        passed_ns = self._period_ns
        if self._last_ns is not None:
            passed_ns = due_ns - self._last_ns
        if not 0 < passed_ns <= GAP_PERIODS * self._period_ns:
            self.now, passed_ns = 0.0, self._period_ns
        self._last_ns = due_ns
        fresh = min(1.0, max(0.0, 2.0 - age_ns / self._fresh_ns))
        wanted = 0.0 if self.failed else min(1.0, max(0.0, self.setting)) * self.speed * fresh
        passed_s, before = passed_ns * 1e-9, self.now
        most = 1.0 if self._rise_s == 0 else passed_s / self._rise_s
        self.now = min(wanted, before + most) if wanted > before else max(wanted, before - passed_s / FALL_S)
        return (self.now - before) / passed_s
