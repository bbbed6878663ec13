"""What the filter of the control loop was given: that is logged, and its answers can be computed again."""

from __future__ import annotations

from dataclasses import dataclass

from tendon.core.types import Array

LEAD_TICKS = 4
"""How far ahead of now the control loop has committed itself."""


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class FilterInput:
    """What the filter was given for one step; with all of them, its answers can be computed again.

    Attributes:
        reset: (n,) where the reference was put at rest before this step; `None` when it went on.
        target: (n,) target; `None` for none.
        velocity: (n,) its velocity; `None` for none.
        speed: part of the velocity limits in force.
        away: (n,) how far the robot was measured from where it was told to be, measured - told; `None` for none.
    """

    reset: Array | None
    target: Array | None
    velocity: Array | None
    speed: float
    away: Array | None = None
