"""Motions that come near: nothing between two looks may be missed, and a robot that is too near may leave."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tendon.control.clearance.motion import MotionPath, check_separation
from tendon.core.types import Array
from tests.laws import law_settings

REACH = np.array([[1.0, 0.5], [0.8, 0.5]])
"""Of a planar arm with links of 0.5 m whose tool must stay below and left of two walls."""


def tool(q: Array) -> Array:
    return 0.5 * np.array([np.cos(q[0]) + np.cos(q[0] + q[1]), np.sin(q[0]) + np.sin(q[0] + q[1])])


def walls(x: float, y: float) -> object:
    return lambda q: np.array([x, y]) - tool(q)


def bent(q: Array, v: Array, jerks: Array, step_s: float = 0.01) -> MotionPath:
    """A path of constant jerk a piece, so that its acceleration is continuous as the filter's is."""
    states = [(q, v, np.zeros_like(q))]
    for j in jerks:
        q, v, a = states[-1]
        states.append(
            (
                q + v * step_s + a * step_s**2 / 2 + j * step_s**3 / 6,
                v + a * step_s + j * step_s**2 / 2,
                a + j * step_s,
            )
        )
    position, velocity, acceleration = (np.array(column) for column in zip(*states, strict=True))
    return MotionPath(
        time_s=step_s * np.arange(len(states)), position=position, velocity=velocity, acceleration=acceleration
    )


def densely(path: MotionPath, distances: object) -> Array:
    """Clearances at a hundred moments of every piece, by Taylor's series."""
    found = []
    for i in range(len(path.time_s) - 1):
        h = path.time_s[i + 1] - path.time_s[i]
        jerk = (path.acceleration[i + 1] - path.acceleration[i]) / h
        for t in np.linspace(0.0, h, 100):
            q = path.position[i] + path.velocity[i] * t + path.acceleration[i] * t**2 / 2 + jerk * t**3 / 6
            found.append(distances(q))  # type: ignore[operator]
    return np.array(found)


@law_settings(max_examples=80)
@given(
    seed=st.integers(0, 2**32 - 1),
    x=st.floats(0.3, 1.1),
    y=st.floats(0.3, 1.1),
    margin=st.floats(0.0, 0.05),
    smooth=st.booleans(),
)
def test_a_motion_that_is_kept_has_its_clearance_at_every_moment(
    seed: int, x: float, y: float, margin: float, smooth: bool
) -> None:
    rng = np.random.default_rng(seed)
    path = bent(rng.uniform(-1.5, 1.5, 2), rng.uniform(-2, 2, 2), rng.uniform(-900, 900, (25, 2)))
    distances = walls(x, y)
    margins = np.full(2, margin)
    answer = check_separation(path, distances, REACH, margins, np.full(2, smooth))  # type: ignore[arg-type]
    found = densely(path, distances)
    if (found[0] >= margins).all():
        if answer.kept:
            assert (found >= margins - 1e-9).all()
            assert answer.room >= (found - margins).min() - 1e-9
        elif (found - margins).min() > 0.02:
            raise AssertionError("refused a motion with 20 mm to spare")


def test_a_robot_that_is_too_near_may_leave_but_not_go_deeper() -> None:
    q, still = np.array([0.3, 0.2]), np.zeros((25, 2))
    distances = walls(10.0, tool(q)[1] + 0.005)
    margins = np.array([0.01, 0.01])
    away, deeper = (bent(q, np.array([sign * 0.2, 0.0]), still) for sign in (-1, 1))
    assert check_separation(away, distances, REACH, margins).kept  # type: ignore[arg-type]
    refused = check_separation(deeper, distances, REACH, margins)  # type: ignore[arg-type]
    assert not refused.kept and refused.constraint == 1


def test_a_growing_margin_is_the_one_of_the_moment() -> None:
    q, still = np.array([0.3, 0.2]), np.zeros((50, 2))
    distances = walls(10.0, tool(q)[1] + 0.3)
    path = bent(q, np.zeros(2), still)
    margins = np.array([0.1, 0.1])
    assert check_separation(path, distances, REACH, margins, growth=0.3).kept  # type: ignore[arg-type]
    assert not check_separation(path, distances, REACH, margins, growth=0.5).kept  # type: ignore[arg-type]


def test_a_distance_that_is_no_number_is_not_kept() -> None:
    path = bent(np.zeros(2), np.zeros(2), np.zeros((5, 2)))
    answer = check_separation(path, lambda q: np.array([np.nan, 1.0]), REACH, np.zeros(2))
    assert not answer.kept and answer.constraint == 0
