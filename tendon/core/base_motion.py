"""What a residual corrects: the motion that the running plan asks for at a control tick."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tendon.core.types import ActionChunk, Array

Motion = tuple[Array, Array]
"""(n,) position [rad or m] and (n,) velocity [rad/s or m/s]."""


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class BaseMotion:
    """The running plan at a control tick, before any correction. Whoever corrects it cannot write into it.

    Attributes:
        due_ns: when the motion is due.
        position: (n,) [rad or m], read-only.
        velocity: (n,) [rad/s or m/s], read-only.
        chunk: what the policy answered last; its observation is `due_ns - chunk.observation_stamp_ns` old.
        window: returns rows of the plan from a time on, with a time between them: what the robot is committed to.
    """

    due_ns: int
    position: Array
    velocity: Array
    chunk: ActionChunk
    window: Callable[[int, int, int], ActionChunk | None]

    def __post_init__(self) -> None:
        for name in ("position", "velocity"):
            array = np.array(getattr(self, name))
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @property
    def age_ns(self) -> int:
        """Of the observation that the plan comes from, when the motion is due."""
        return self.due_ns - self.chunk.observation_stamp_ns
