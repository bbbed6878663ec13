"""Fits tight capsules around meshes: the smallest volume found by a random search from the principal axes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import coal
import numpy as np

from tendon.core.types import Array

SEARCH_STEPS = 1500
SPLIT_STEPS = 300
SPLIT_PLACES = (0.25, 0.375, 0.5, 0.625, 0.75)
FLAT_M = 1e-5
WORTH_SPLITTING = 0.9
"""A second capsule must leave at most this share of the volume: each costs time in every control step."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FittedCapsule:
    """A capsule that contains the points it was fitted to: ends (3,) `a`, `b` and `radius` [m]."""

    a: Array
    b: Array
    radius: float

    @property
    def volume(self) -> float:
        """In m^3."""
        length = float(np.linalg.norm(self.b - self.a))
        return float(np.pi * self.radius**2 * length + 4 / 3 * np.pi * self.radius**3)


def fit_capsule(points: Array, steps: int = SEARCH_STEPS) -> FittedCapsule:
    """Returns a capsule of small volume around (k, 3) points [m].

    The axis (a point and a direction) and the radius are improved by random steps that shrink when they fail
    (Rechenberg's 1/5 rule), from each principal axis. The same points give the same capsule.
    """
    rng = np.random.default_rng(0)
    middle = points.mean(axis=0)
    _, _, directions = np.linalg.svd(points - middle, full_matrices=False)
    size = float(np.ptp(points, axis=0).max())
    scale = np.array([size, size, size, 1.0, 1.0, 1.0, 0.3])
    best, least = np.zeros(7), np.inf
    for direction in directions:
        state = np.concatenate((middle, direction, [1.0]))
        volume, step = _volume(points, state), 0.1
        for change in rng.normal(size=(steps, 7)):
            trial = state + change * step * scale
            axis = trial[3:6]
            axis /= math.sqrt(axis @ axis)
            trial[6] = max(trial[6], 1.0)
            result = _volume(points, trial)
            if result < volume:
                state, volume, step = trial, result, min(step * 1.5, 0.2)
            else:
                step = max(step * 0.95, 1e-5)
        if volume < least:
            best, least = state, volume
    low, high, radius = _span(points, best)
    return FittedCapsule(a=best[:3] + low * best[3:6], b=best[:3] + high * best[3:6], radius=radius)


def fit_capsules(triangles: Array) -> list[FittedCapsule]:
    """Returns capsules that together contain a mesh: one, or two where that saves volume.

    A split mesh is cut along a plane, cut edges included, so no part of the surface is left out.

    Args:
        triangles: (k, 3, 3) corners [m].
    """
    corners = hull(triangles)
    whole = fit_capsule(corners)
    _, _, directions = np.linalg.svd(corners - corners.mean(axis=0), full_matrices=False)
    best, least = None, WORTH_SPLITTING * whole.volume
    for normal in directions:
        along = corners @ normal
        for place in SPLIT_PLACES:
            offset = along.min() + place * np.ptp(along)
            sides = [hull(clip(triangles, normal, offset)), hull(clip(triangles, -normal, -offset))]
            volume = sum(fit_capsule(side, SPLIT_STEPS).volume for side in sides)
            if volume < least:
                best, least = sides, volume
    return [whole] if best is None else [fit_capsule(side) for side in best]


def clip(triangles: Array, normal: Array, offset: float) -> Array:
    """Returns the (k, 3) corners of the part of a mesh where normal . p <= offset."""
    height = triangles @ normal - offset
    parts = [triangles[height <= 0]]
    for i, j in ((0, 1), (1, 2), (2, 0)):
        cut = height[:, i] * height[:, j] < 0
        share = height[cut, i] / (height[cut, i] - height[cut, j])
        parts.append(triangles[cut, i] + share[:, None] * (triangles[cut, j] - triangles[cut, i]))
    return np.concatenate(parts)


def hull(points: Array) -> Array:
    """Returns the corners (k, 3) of the convex hull of points; all of them where they are few or in one plane."""
    distinct = np.unique(points.reshape(-1, 3).round(7), axis=0)
    if len(distinct) < 5 or np.linalg.matrix_rank(distinct - distinct.mean(axis=0), tol=FLAT_M) < 3:
        return distinct  # Qhull has no answer for these
    corners = coal.StdVec_Vec3s()
    for point in distinct:
        corners.append(point)
    body = coal.Convex.convexHull(corners, True, "Qt")
    return np.array([body.point(i) for i in range(body.num_points)])


def _span(points: Array, state: Array) -> tuple[float, float, float]:
    """Returns where on the axis a capsule's ends must be, and its radius, for an axis and a radius factor."""
    offset = points - state[:3]
    along = offset @ state[3:6]
    offset *= offset
    square = offset[:, 0] + offset[:, 1]  # three sums: faster than one along the rows
    square += offset[:, 2]
    square -= along * along
    radius = math.sqrt(max(square.max(), 0.0)) * float(state[6])
    cap = np.sqrt(np.maximum(radius * radius - np.maximum(square, 0.0), 0.0))
    low, high = float((along + cap).min()), float((along - cap).max())
    if low > high:  # a sphere would do
        low = high = (low + high) / 2
    return low, high, radius


def _volume(points: Array, state: Array) -> float:
    low, high, radius = _span(points, state)
    return math.pi * radius**2 * (high - low) + 4 / 3 * math.pi * radius**3
