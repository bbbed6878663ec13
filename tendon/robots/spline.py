"""The cubic between two states: what the executor plans with and a trajectory controller plays."""

from __future__ import annotations

from tendon.core.types import Array


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
    (p0, v0), (p1, v1) = start, end
    slope = (p1 - p0) / duration_s
    cubic = (v0 + v1 - 2.0 * slope) / duration_s
    square = slope - v0 - cubic * duration_s
    s = elapsed_s / duration_s
    position = p0 + elapsed_s * (v0 + s * (square + elapsed_s * cubic))
    velocity = v0 + s * (2.0 * square + 3.0 * elapsed_s * cubic)
    return position, velocity
