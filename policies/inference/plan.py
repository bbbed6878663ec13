"""The plan that a session's chunks become part of."""

from __future__ import annotations

import threading
from typing import Protocol

import numpy as np

from tendon.control.executor import Executor
from tendon.core.types import ActionChunk


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
    is lost or that the loop refuses. A robot that is not on this plan is noticed: see `continuation`.

    Args:
        joint_count: length of a row.
        lead_ns: how far ahead of now that loop has committed its reference, and the way of a chunk to it.
        ahead_ns: how far ahead of now it lets a chunk begin.
    """

    def __init__(self, joint_count: int, lead_ns: int, ahead_ns: int) -> None:
        self._executor, self._lead_ns = Executor(joint_count, ahead_ns), lead_ns
        self._lock = threading.Lock()

    def window(self, start_ns: int, step_ns: int, rows: int) -> ActionChunk | None:
        """Returns rows of the plan on another grid."""
        with self._lock:
            return self._executor.window(start_ns, step_ns, rows)

    def submit(self, chunk: ActionChunk, now_ns: int) -> None:
        """Takes a chunk that is sent now."""
        with self._lock:
            begin = chunk.actions[0]  # where the robot rests, nearly, when nothing runs yet
            self._executor.submit(chunk, now_ns + self._lead_ns, (begin, np.zeros_like(begin)))

    def clear(self) -> None:
        """Forgets the plan."""
        with self._lock:
            self._executor.clear()
