"""A checker of motions that knows nothing of how the filter works."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tendon.control.stop import Stop
from tendon.core.types import ActionChunk, Array
from tendon.robots.profile import RobotProfile, load_profile

PERIOD_S = 0.01
TOLERANCE = 1e-9
ROUNDING = 1e-5
"""Of second and third differences of positions, as a part of their limit."""
PROFILE = load_profile("panda")


def assert_inside(
    positions: Sequence[Array],
    velocities: Sequence[Array],
    durations_s: Sequence[float],
    profile: RobotProfile = PROFILE,
    jerk: bool = True,
) -> None:
    """Recomputes everything from sent points: the motion between two of them is their cubic, of constant jerk."""
    q, v = np.array(positions), np.array(velocities)
    assert np.isfinite(q).all() and np.isfinite(v).all()
    h = np.array(durations_s)[:, None]
    slope = np.diff(q, axis=0) / h
    begin = (6.0 * slope - 4.0 * v[:-1] - 2.0 * v[1:]) / h
    end = (4.0 * v[1:] + 2.0 * v[:-1] - 6.0 * slope) / h
    limit = profile.vector("acceleration")
    for acceleration in (begin, end):
        assert np.abs(acceleration / limit).max(initial=0.0) <= 1 + ROUNDING
    assert np.abs((begin[1:] - end[:-1]) / limit).max(initial=0.0) <= ROUNDING, "acceleration jumps"
    if jerk:
        assert np.abs((end - begin) / h / profile.vector("jerk")).max(initial=0.0) <= 1 + ROUNDING
    lower, upper = profile.vector("lower") - TOLERANCE, profile.vector("upper") + TOLERANCE
    change = (end - begin) / h
    # Where velocity peaks (acceleration 0) and where position turns (velocity 0), inside each piece.
    with np.errstate(divide="ignore", invalid="ignore"):
        peak = np.nan_to_num(-begin / change, nan=0.0, posinf=0.0, neginf=0.0).clip(0.0, h)
        root = np.sqrt(np.maximum(begin**2 - 2.0 * change * v[:-1], 0.0))
        turns = [
            np.nan_to_num((-begin + s * root) / change, nan=0.0, posinf=0.0, neginf=0.0).clip(0, h) for s in (-1, 1)
        ]
    speeds = np.concatenate([v, v[:-1] + begin * peak + 0.5 * change * peak**2])
    assert np.abs(speeds / profile.vector("velocity")).max() <= 1 + TOLERANCE
    for points in (q, *(q[:-1] + v[:-1] * t + 0.5 * begin * t**2 + change * t**3 / 6.0 for t in turns)):
        assert (points >= lower).all() and (points <= upper).all()


def assert_stops(stop: Stop, profile: RobotProfile = PROFILE) -> None:
    """Holds that a stop obeys every limit and ends at rest."""
    assert stop.ticks[0] == 0 and (stop.velocity[-1] == 0).all() and (stop.acceleration[-1] == 0).all()
    assert_inside(stop.position, stop.velocity, np.diff(stop.ticks) * PERIOD_S, profile)


def make_chunk(rows: Array, observation_ns: int, step_ns: int = 100_000_000) -> ActionChunk:
    """A chunk whose row 0 is due one step after its observation."""
    return ActionChunk(
        actions=rows, start_ns=observation_ns + step_ns, step_ns=step_ns, observation_stamp_ns=observation_ns
    )
