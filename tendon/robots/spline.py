"""The cubic between two states: what the executor plans with and a trajectory controller plays."""

from __future__ import annotations

import numpy as np

from tendon.core.compiled import NUMBER, ROW, compiled
from tendon.core.types import Array


@compiled(ROW, ROW, ROW, ROW, NUMBER, NUMBER)
def _hermite(p0: Array, v0: Array, p1: Array, v1: Array, duration_s: float, elapsed_s: float) -> tuple[Array, Array]:
    """Returns `hermite` from (n,) position `p0` and velocity `v0` to `p1` and `v1`."""
    position, velocity, share = np.empty_like(p0), np.empty_like(p0), elapsed_s / duration_s
    for i in range(len(p0)):
        slope = (p1[i] - p0[i]) / duration_s
        cubic = (v0[i] + v1[i] - 2.0 * slope) / duration_s
        square = slope - v0[i] - cubic * duration_s
        position[i] = p0[i] + elapsed_s * (v0[i] + share * (square + elapsed_s * cubic))
        velocity[i] = v0[i] + share * (2.0 * square + 3.0 * elapsed_s * cubic)
    return position, velocity


def hermite(
    start: tuple[Array, Array], end: tuple[Array, Array], duration_s: float, elapsed_s: float
) -> tuple[Array, Array]:
    """Returns position and velocity on the cubic Hermite spline between two states.

    A motion of constant acceleration is reproduced exactly.

    Args:
        start: (n,) position and (n,) velocity at elapsed time 0.
        end: the same at `duration_s`.
        duration_s: time between the two, positive.
        elapsed_s: time since the start.
    """
    return _hermite(*start, *end, duration_s, elapsed_s)
