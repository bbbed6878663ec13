"""The plan that a session's chunks become part of."""

from __future__ import annotations

import threading
from collections import deque
from typing import Protocol

import numpy as np

from tendon.control.executor import Executor
from tendon.core.types import ActionChunk

SENT = 4
"""Chunks that are remembered: the loop may go on with the one before one that it refused."""


class RunningPlan(Protocol):
    """What the robot is about to do: each inference continues it."""

    def window(self, start_ns: int, step_ns: int, rows: int) -> ActionChunk | None:
        """Returns rows of it on another grid, see `Executor.window`. Any thread."""

    def submit(self, chunk: ActionChunk, now_ns: int) -> None:
        """Takes a chunk, handed out at `now_ns`."""

    def clear(self) -> None:
        """Forgets it: the robot comes to rest."""


class PlanCopy:
    """What a control loop in another process makes of the chunks that it is sent. Any thread.

    It runs the same executor on the same chunks, so it differs only by how long each is under way, and by a chunk that
    is lost. What the loop refused, took or dropped against expectation it is told (`confirm`).

    Args:
        joint_count: length of a row.
        lead_ns: how far ahead of now that loop has committed its reference, and the way of a chunk to it.
        ahead_ns: how far ahead of now it lets a chunk begin.
    """

    def __init__(self, joint_count: int, lead_ns: int, ahead_ns: int) -> None:
        self._executor, self._lead_ns = Executor(joint_count, ahead_ns), lead_ns
        self._lock = threading.Lock()
        self._sent = deque[tuple[ActionChunk, int]](maxlen=SENT)

    def window(self, start_ns: int, step_ns: int, rows: int) -> ActionChunk | None:
        """Returns rows of the plan on another grid."""
        with self._lock:
            return self._executor.window(start_ns, step_ns, rows)

    def submit(self, chunk: ActionChunk, now_ns: int) -> None:
        """Takes a chunk that is sent now."""
        with self._lock:
            self._sent.append((chunk, now_ns))
            self._follow(chunk, now_ns)

    def _follow(self, chunk: ActionChunk, now_ns: int) -> None:
        begin = chunk.actions[0]  # where the robot rests, nearly, when nothing runs yet
        self._executor.submit(chunk, now_ns + self._lead_ns, (begin, np.zeros_like(begin)))

    def confirm(self, looked_at_ns: int, plan_ns: int) -> None:
        """Takes what the loop says of itself: forgets a plan that is not the loop's, and takes up one that is.

        Args:
            looked_at_ns: stamp of the observation of the last chunk that it took or refused.
            plan_ns: that of the chunk that it follows; 0 without a plan.
        """
        with self._lock:
            mine = self._executor.plan_ns
            if plan_ns == mine or (mine is not None and looked_at_ns < mine):
                return
            self._executor.clear()
            for chunk, sent_ns in self._sent:
                if chunk.observation_stamp_ns == plan_ns:
                    self._executor.clear(until_ns=plan_ns - 1)
                    self._follow(chunk, sent_ns)

    def clear(self) -> None:
        """Forgets the plan."""
        with self._lock:
            self._executor.clear()
