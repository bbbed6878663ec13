"""The tail of a stop after contact: from where the stop ends back to where the robot was found, and rest there.

A robot that something holds back stands off its setpoint, and its servos press with all the error that is left. The
setpoint that comes to the robot ends that. The way belongs to the command that carries the stop: a robot side with a
permission gate takes no later one.
"""

from __future__ import annotations

import numpy as np

from tendon.control.stop import Stop
from tendon.core.types import Array
from tendon.robots.easing import way_back


def with_retreat(stop: Stop, goal: Array, limits: tuple[Array, Array, Array], period_s: float) -> Stop:
    """Returns a stop that goes on to (n,) `goal` from its end, and rests there; see `way_back`.

    Args:
        stop: the way to rest.
        goal: rad or m.
        limits: (n,) largest velocity, acceleration and jerk.
        period_s: control period.
    """
    ticks, position, velocity, acceleration = way_back(stop.position[-1], goal, limits, period_s)
    return Stop(
        ticks=np.concatenate([stop.ticks, stop.ticks[-1] + ticks]),
        position=np.concatenate([stop.position, position]),
        velocity=np.concatenate([stop.velocity, velocity]),
        acceleration=np.concatenate([stop.acceleration, acceleration]),
    )
