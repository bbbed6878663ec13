"""The tail of a stop after contact: from where the stop ends back to where the robot was found, and rest there.

A robot that something holds back stands off its setpoint, and its servos press with all the error that is left. The
setpoint that comes to the robot ends that. The way belongs to the command that carries the stop: a robot side with a
permission gate takes no later one.
"""

from __future__ import annotations

import numpy as np

from tendon.control.stop import Stop
from tendon.core.types import Array

PHASES = np.array([1.0, -1.0, -1.0, 1.0])
"""Sign of the jerk: accelerate and ease, brake and ease; each lasts as long as the others."""


def with_retreat(stop: Stop, goal: Array, limits: tuple[Array, Array, Array], period_s: float) -> Stop:
    """Returns a stop that goes on to (n,) `goal` from its end, and rests there.

    All joints leave and arrive together. Four phases of constant jerk `j`, each of `T`, cover `2 j T^3` with a largest
    acceleration of `j T` and a largest speed of `j T^2`.

    Args:
        stop: the way to rest.
        goal: rad or m.
        limits: (n,) largest velocity, acceleration and jerk.
        period_s: control period.
    """
    start = stop.position[-1]
    way = goal - start
    velocity, acceleration, jerk = limits
    needs_s = np.maximum(np.abs(way) / (2.0 * velocity), np.sqrt(np.abs(way) / (2.0 * acceleration)))
    needs_s = np.maximum(needs_s, np.cbrt(np.abs(way) / (2.0 * jerk)))
    ticks = max(1, int(np.ceil(needs_s.max() / period_s - 1e-9)))
    lasts_s = ticks * period_s
    rate = way / (2.0 * lasts_s**3)
    position, speed, push = [start], [np.zeros_like(start)], [np.zeros_like(start)]
    for sign in PHASES:
        q, v, a, j = position[-1], speed[-1], push[-1], sign * rate
        position.append(q + lasts_s * (v + lasts_s * (0.5 * a + lasts_s * j / 6.0)))
        speed.append(v + lasts_s * (a + 0.5 * lasts_s * j))
        push.append(a + lasts_s * j)
    position[-1], speed[-1], push[-1] = goal, np.zeros_like(goal), np.zeros_like(goal)  # not off by rounding
    return Stop(
        ticks=np.concatenate([stop.ticks, stop.ticks[-1] + ticks * np.arange(1, len(PHASES) + 1)]),
        position=np.concatenate([stop.position, position[1:]]),
        velocity=np.concatenate([stop.velocity, speed[1:]]),
        acceleration=np.concatenate([stop.acceleration, push[1:]]),
    )
