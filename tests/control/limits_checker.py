"""A checker of motions that knows nothing of how the filter works."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tendon.control.stop import Stop
from tendon.core.profile import load_profile
from tendon.core.types import ActionChunk, Array

PERIOD_S = 0.01
TOLERANCE = 1e-9
PROFILE = load_profile("panda")


def assert_inside(positions: Sequence[Array], velocities: Sequence[Array], durations_s: Sequence[float]) -> None:
    """Recomputes everything from sent points: the motion between them is one of constant acceleration."""
    q, v = np.array(positions), np.array(velocities)
    assert np.isfinite(q).all() and np.isfinite(v).all()
    h = np.array(durations_s)[:, None]
    acceleration = np.diff(v, axis=0) / h
    assert np.abs(acceleration / PROFILE.vector("acceleration")).max(initial=0.0) <= 1 + TOLERANCE
    assert np.abs(v / PROFILE.vector("velocity")).max() <= 1 + TOLERANCE
    assert np.abs(np.diff(q, axis=0) - 0.5 * h * (v[1:] + v[:-1])).max(initial=0.0) <= TOLERANCE, "not one motion"
    turns = np.where(v[1:] * v[:-1] < 0, -v[:-1] / np.where(acceleration == 0, 1.0, acceleration), 0.0)
    peaks = q[:-1] + v[:-1] * turns + 0.5 * acceleration * turns**2
    lower, upper = PROFILE.vector("lower") - TOLERANCE, PROFILE.vector("upper") + TOLERANCE
    for points in (q, peaks):
        assert (points >= lower).all() and (points <= upper).all()


def assert_stops(stop: Stop) -> None:
    """Holds that a stop obeys every limit and ends at rest."""
    assert stop.ticks[0] == 0 and (stop.velocity[-1] == 0).all() and (stop.acceleration[-1] == 0).all()
    assert_inside(stop.position, stop.velocity, np.diff(stop.ticks) * PERIOD_S)


def make_chunk(rows: Array, observation_ns: int, step_ns: int = 100_000_000) -> ActionChunk:
    """A chunk whose row 0 is due one step after its observation."""
    return ActionChunk(
        actions=rows, start_ns=observation_ns + step_ns, step_ns=step_ns, observation_stamp_ns=observation_ns
    )
