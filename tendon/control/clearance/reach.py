"""How far a joint can carry a body: lever arms that hold in every configuration, from the neutral one alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tendon.core.types import Array

MAX_BALLS = 8


@dataclass(frozen=True, kw_only=True)
class Axis:
    """A joint in the neutral configuration, in the base frame.

    Attributes:
        point: (3,) [m] on its axis.
        direction: (3,) unit vector.
        travel: largest |position| [m] of a prismatic joint; `None` for a revolute one.
    """

    point: Array
    direction: Array
    travel: float | None


Ball = tuple[Array, float]


def lever_arms(balls: Sequence[Ball], path: Sequence[Axis]) -> list[float]:
    """Returns for each joint the largest speed of a body's points per unit of joint speed, in every configuration.

    Balls that contain the body are swept over one joint after another. Seen from the far side of a revolute joint,
    a body in a ball stays in the ball about any point of the axis that contains the first: the axis is at rest on
    both sides, so the neutral configuration says it all. Several points are tried, the smallest result counts.

    Args:
        balls: (centre, radius) [m], the body is in their convex hull; neutral configuration, base frame.
        path: joints from the body outward, the nearest first. Either direction along the chain will do.

    Returns:
        One a joint: [m] for revolute, 1 for prismatic.
    """
    arms = []
    fans: list[list[Ball]] = [list(balls)]
    for i, axis in enumerate(path):
        if axis.travel is not None:
            arms.append(1.0)
            fans = [[(centre, radius + axis.travel) for centre, radius in fan] for fan in fans]
            continue
        arms.append(min(max(_distance(centre, axis) + radius for centre, radius in fan) for fan in fans))
        later = next((other for other in path[i + 1 :] if other.travel is None), None)
        towards = [] if later is None else [_nearest(axis, later)]
        swept = []
        for fan in fans:
            middle = np.mean([centre for centre, _ in fan], axis=0) if len(fan) > 1 else fan[0][0]
            for anchor in [_foot(middle, axis), *towards]:
                swept.append([(anchor, max(_length(c - anchor) + r for c, r in fan))])
        fans = sorted(swept, key=lambda fan: fan[0][1])[:MAX_BALLS]
    return arms


def _foot(point: Array, axis: Axis) -> Array:
    """Returns the point of the axis that is nearest to `point`."""
    foot: Array = axis.point + axis.direction * ((point - axis.point) @ axis.direction)
    return foot


def _distance(point: Array, axis: Axis) -> float:
    return _length(point - _foot(point, axis))


def _length(vector: Array) -> float:
    return math.sqrt(vector @ vector)  # np.linalg.norm takes as long as all the rest here


def _nearest(axis: Axis, other: Axis) -> Array:
    """Returns the point of `axis` that is nearest to the line of `other`."""
    normal = np.cross(axis.direction, other.direction)
    square = normal @ normal
    if square < 1e-12:
        return _foot(other.point, axis)
    along = np.cross(other.point - axis.point, other.direction) @ normal / square
    return np.asarray(axis.point + along * axis.direction)
