"""The plan that a controller in the same process runs: there is no other copy of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tendon.control.controller import Controller
from tendon.core.modes import Source
from tendon.core.types import ActionChunk


class ControllerPlan:
    """A controller's own plan as a session's `RunningPlan`.

    Attributes:
        delivered: chunks that the controller was given.
        peak_jump: largest step of an arm joint's target where one chunk replaces another, before filter [rad].
        estimate: of the last chunk: how much of the task is done; `None` where its policy makes none.

    Args:
        controller: runs it.
        arm: columns of the arm's joints.
    """

    def __init__(self, controller: Controller, arm: Sequence[int]) -> None:
        self._controller, self._arm = controller, list(arm)
        self.delivered, self.peak_jump = 0, 0.0
        self.estimate: float | None = None

    def window(self, start_ns: int, step_ns: int, rows: int) -> ActionChunk | None:
        """Returns rows of the plan on another grid."""
        return self._controller.guidance.window(start_ns, step_ns, rows)

    def submit(self, chunk: ActionChunk, now_ns: int) -> None:
        """Hands the controller a chunk."""
        at_ns = now_ns + self._controller.lead_ns
        before = self._controller.guidance.window(at_ns, chunk.step_ns, 1)
        self._controller.submit(chunk, now_ns)
        self.delivered += 1
        self.estimate = None if chunk.features is None else chunk.features.progress
        if before is not None:
            times = chunk.start_ns + chunk.step_ns * np.arange(len(chunk.actions))
            new = [np.interp(at_ns, times, column) for column in chunk.actions.T]
            self.peak_jump = max(self.peak_jump, float(np.abs(new - before.actions[0])[self._arm].max()))

    def clear(self) -> None:
        """Has the robot brake until the next chunk leads it on."""
        self._controller.guidance.select(Source.HOLD)
        self._controller.guidance.select(Source.POLICY)
