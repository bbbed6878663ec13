"""The residual slot: a learned correction of every target, held to a bound."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tendon.core.protocols import Stage
from tendon.core.types import Array, Observation, freeze


class BoundedResidual:
    """Runs a stage and keeps what it changes within a bound. A stage that fails changes nothing.

    Args:
        stage: what proposes the correction; may lie or raise.
        bound: (n,) largest change of a target, rad or m.

    Raises:
        InvalidDataError: the bound is not (n,) finite numbers.
    """

    def __init__(self, stage: Stage, bound: npt.ArrayLike) -> None:
        self._stage = stage
        self._bound = freeze("residual bound", bound, (None,))
        self.problem: str | None = None

    def step(self, observation: Observation, target: Array) -> Array:
        """Returns (n,) the target after the stage; `problem` then says what was wrong with it, if anything."""
        self.problem = None
        try:
            proposed = np.asarray(self._stage.step(observation, target), dtype=np.float64)
        except Exception as error:  # whatever a learned stage raises must not take the control loop down
            self.problem = f"residual failed: {type(error).__name__}: {error}"
            return target
        if proposed.shape != target.shape or not np.isfinite(proposed).all():
            self.problem = f"residual answered {proposed.tolist()}, expected {len(target)} finite numbers"
            return target
        change = proposed - target
        return target + np.minimum(np.maximum(change, -self._bound), self._bound)
