"""The stop in closed form."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tendon.control.stop import approach_speed, stop_from, stopping_distance

LIMIT = np.array([7.5])
PERIOD_S = 0.01
speeds = st.floats(0.0, 3.0) | st.integers(0, 40).map(lambda m: m * 7.5 * PERIOD_S)


@given(speed=speeds, sign=st.sampled_from([-1.0, 1.0]))
def test_ends_at_rest_after_its_stopping_distance_within_the_limit(speed: float, sign: float) -> None:
    stop = stop_from(np.zeros(1), np.array([sign * speed]), LIMIT, PERIOD_S)
    assert stop.velocity[-1] == 0 and stop.acceleration[-1] == 0
    assert np.abs(stop.acceleration).max() <= 7.5 + 1e-9
    duration_s = np.diff(stop.ticks)[:, None] * PERIOD_S
    assert np.allclose(np.diff(stop.velocity, axis=0), stop.acceleration[:-1] * duration_s, atol=1e-12)
    steps = stop.velocity[:-1] * duration_s + 0.5 * stop.acceleration[:-1] * duration_s**2
    assert np.allclose(np.diff(stop.position, axis=0), steps, atol=1e-12)
    distance = stopping_distance(np.array([speed]), LIMIT, PERIOD_S)
    assert np.allclose(stop.position[-1], sign * distance, atol=1e-12)
    # No stop in whole periods is shorter than the parabola, and none needs more than half a period more.
    assert speed**2 / 15.0 - 1e-12 <= distance[0] <= speed**2 / 15.0 + 0.5 * PERIOD_S * speed + 1e-12


@given(room=st.floats(0.0, 6.0))
def test_approach_speed_uses_all_of_the_room(room: float) -> None:
    speed = approach_speed(np.array([room]), LIMIT, PERIOD_S)
    used = 0.5 * PERIOD_S * speed + stopping_distance(speed, LIMIT, PERIOD_S)
    assert np.allclose(used, room, rtol=1e-12, atol=1e-12)


def test_joints_stop_each_in_its_own_time() -> None:
    stop = stop_from(np.zeros(2), np.array([1.0, -0.1]), np.array([10.0, 10.0]), PERIOD_S)
    assert stop.ticks.tolist() == [0, 1, 10]
    assert np.allclose(stop.position[-1], [0.05, -0.0005])
