"""The executor: places action chunks on the timeline and samples the target that is due."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from tendon.core.base_motion import BaseMotion, Motion
from tendon.core.errors import InvalidDataError
from tendon.core.types import ActionChunk, Array
from tendon.robots.spline import hermite

FADE_NS = 150_000_000
"""How long the difference between an old plan and a new one takes to fade."""
MAX_LEAD_ROWS = 100
"""Rows of what runs that lead into a chunk at most. Each costs the control tick 30 us, so that the 500 of one with rows
2 ms apart that begins in a second would hold it up. Policies answer rows that begin at once."""
STARVED = "starved: no action is due"
"""What is said while there is no plan, or it is over."""


class Placement(Enum):
    """What became of a submitted chunk."""

    ACCEPTED = "accepted"
    OLDER = "from an observation that is not newer than the last accepted one"
    OVER = "its last row is already past"
    AHEAD = "its observation or first row lies too far in the future"
    IDLE = "nothing is armed to run it, the robot is held, or follows another source"
    RELEASED = "its hold is over, or was pressed before the robot was armed or handed over: release, then press again"


@dataclass(frozen=True, kw_only=True, eq=False)
class _Plan:
    """Rows on a uniform grid as a Catmull-Rom spline, plus a jump that fades from `from_ns` on."""

    start_ns: int
    step_ns: int
    rows: Array
    tangents: Array
    from_ns: int
    jump: Motion | None = None
    previous: _Plan | None = None

    @property
    def end_ns(self) -> int:
        return self.start_ns + (len(self.rows) - 1) * self.step_ns

    def at(self, at_ns: int) -> Motion | None:
        if at_ns < self.from_ns and self.previous is not None:
            return self.previous.at(at_ns)
        if not self.start_ns <= at_ns <= self.end_ns:
            return None
        row, elapsed_ns = divmod(at_ns - self.start_ns, self.step_ns)
        if row == len(self.rows) - 1:
            motion = self.rows[row], self.tangents[row]
        else:
            here, there = (self.rows[row], self.tangents[row]), (self.rows[row + 1], self.tangents[row + 1])
            motion = hermite(here, there, self.step_ns * 1e-9, elapsed_ns * 1e-9)
        since_ns = at_ns - self.from_ns
        if self.jump is None or not 0 <= since_ns < FADE_NS:
            return motion
        zero = np.zeros_like(motion[0])
        offset, rate = hermite(self.jump, (zero, zero), FADE_NS * 1e-9, since_ns * 1e-9)
        return motion[0] + offset, motion[1] + rate

    def nearest(self, at_ns: int) -> Array:
        motion = self.at(min(max(at_ns, self.start_ns), self.end_ns))
        return self.rows[0] if motion is None else motion[0]


class Executor:
    """The running plan. The target is continuous in position and velocity across chunks, whatever they hold.

    One thread submits and clears; any thread may sample, as each plan is an immutable value.

    Args:
        joint_count: length of a row.
        ahead_ns: how far ahead of its submission a chunk may begin (`safety: chunk_ahead_s`).
    """

    def __init__(self, joint_count: int, ahead_ns: int) -> None:
        self._joint_count, self._ahead_ns = joint_count, ahead_ns
        self._plan: _Plan | None = None
        self._chunk: ActionChunk | None = None
        self._newest_ns: int | None = None

    @property
    def end_ns(self) -> int | None:
        """When the last row of the running plan is due; `None` without a plan."""
        plan = self._plan
        return None if plan is None else plan.end_ns

    @property
    def plan_ns(self) -> int | None:
        """Stamp of the observation that the running plan's newest chunk is of; `None` without a plan."""
        return None if self._plan is None or self._chunk is None else self._chunk.observation_stamp_ns

    def clear(self, until_ns: int | None = None) -> None:
        """Forgets the plan; with `until_ns`, chunks from observations up to then are rejected as older."""
        self._plan = None
        if until_ns is not None:
            self._newest_ns = until_ns

    def submit(self, chunk: ActionChunk, from_ns: int, origin: Motion | None = None) -> Placement:
        """Replaces the running plan by a chunk, from a time on.

        The difference between the two at that time, in position and velocity, fades over `FADE_NS`: where they
        agree (a chunk that continues its prefix), the target is the chunk's own spline.

        Args:
            chunk: its row k is due at `start_ns + k * step_ns`.
            from_ns: first time that is not committed yet: now plus the lead of the control loop.
            origin: (n,) position and (n,) velocity at `from_ns` to start from where no plan runs; without
                it there is no target before row 0.

        Returns:
            Whether it was accepted, and if not why.

        Raises:
            InvalidDataError: the rows have another length.
        """
        if chunk.actions.shape[1] != self._joint_count:
            raise InvalidDataError(f"chunk has rows of {chunk.actions.shape[1]} joints, expected {self._joint_count}")
        if self._newest_ns is not None and chunk.observation_stamp_ns <= self._newest_ns:
            return Placement.OLDER
        ahead_ns = min(self._ahead_ns, MAX_LEAD_ROWS * chunk.step_ns)
        if chunk.observation_stamp_ns > from_ns or chunk.start_ns > from_ns + ahead_ns:
            return Placement.AHEAD
        if chunk.end_ns <= from_ns:
            return Placement.OVER
        old = self._plan
        if old is not None and old.at(from_ns) is None:
            old = None
        self._plan = _splice(old, chunk, from_ns, origin)
        self._chunk, self._newest_ns = chunk, chunk.observation_stamp_ns
        return Placement.ACCEPTED

    def sample(self, at_ns: int) -> Motion | None:
        """Returns (n,) target position and (n,) velocity due at a time; `None` before and after the plan."""
        plan = self._plan
        return None if plan is None else plan.at(at_ns)

    def base(self, due_ns: int, motion: Motion) -> BaseMotion:
        """Returns a motion, which was sampled from the running plan, with what it comes from.

        Raises:
            InvalidDataError: there is no plan.
        """
        if self._plan is None or self._chunk is None:
            raise InvalidDataError("nothing to correct: there is no plan")
        return BaseMotion(due_ns=due_ns, position=motion[0], velocity=motion[1], chunk=self._chunk, window=self.window)

    def window(self, start_ns: int, step_ns: int, rows: int) -> ActionChunk | None:
        """Returns the running plan on another grid, as the prefix of the next inference.

        Args:
            start_ns: time of row 0.
            step_ns: time between rows.
            rows: how many at most; fewer where the plan ends.

        Returns:
            The rows, or `None` when the plan has no row 0.
        """
        plan = self._plan
        if plan is None:
            return None
        positions: list[Array] = []
        for k in range(rows):
            motion = plan.at(start_ns + k * step_ns)
            if motion is None:
                break
            positions.append(motion[0])
        if not positions:
            return None
        return ActionChunk(
            actions=np.array(positions),
            start_ns=start_ns,
            step_ns=step_ns,
            observation_stamp_ns=start_ns - step_ns,
        )


def _splice(old: _Plan | None, chunk: ActionChunk, from_ns: int, origin: Motion | None) -> _Plan:
    """Returns the chunk as a plan, led into by rows of what ran before on the chunk's own grid."""
    rows, start_ns = chunk.actions, chunk.start_ns
    # Catmull-Rom needs a row before the one that precedes from_ns.
    missing = max(0, 1 - (from_ns - start_ns) // chunk.step_ns)
    if missing and (old is not None or origin is not None):
        start_ns -= missing * chunk.step_ns
        times_ns = range(start_ns, chunk.start_ns, chunk.step_ns)
        if old is not None:
            before = [old.nearest(t) for t in times_ns]
        elif origin is not None:
            before = [origin[0]] * missing
        rows = np.concatenate([before, rows])
    plan = _Plan(
        start_ns=start_ns,
        step_ns=chunk.step_ns,
        rows=rows,
        tangents=_tangents(rows, chunk.step_ns * 1e-9),
        from_ns=from_ns,
    )
    here, there = (old.at(from_ns) if old is not None else origin), plan.at(from_ns)
    if here is None or there is None:
        return plan
    # One plan back is enough for a prefix that begins before this one took over.
    previous = None if old is None else replace(old, previous=None)
    return replace(plan, jump=(here[0] - there[0], here[1] - there[1]), previous=previous)


def _tangents(rows: Array, step_s: float) -> Array:
    """Returns the velocity at each row: central differences inside, one-sided at the ends (Catmull and Rom 1974)."""
    if len(rows) == 1:
        return np.zeros_like(rows)
    return np.asarray(np.gradient(rows, step_s, axis=0))
