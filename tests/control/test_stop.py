"""The stop in closed form."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tendon.control import averaged_motion
from tendon.control.joint_limits import approach_speed, stopping_distance
from tendon.control.stop import History, averaged_periods, stop_from

LIMIT = np.array([7.5])
PERIOD_S = 0.01
speeds = st.floats(0.0, 3.0) | st.integers(0, 40).map(lambda m: m * 7.5 * PERIOD_S)


@given(speed=speeds, sign=st.sampled_from([-1.0, 1.0]), window=st.integers(1, 6), steps=st.integers(0, 12))
def test_it_is_the_average_of_braking_and_ends_after_the_stopping_distance(
    speed: float, sign: float, window: int, steps: int
) -> None:
    """Against the same braking done period by period."""
    history = History.at_rest(np.zeros(1), window)
    for k in range(steps):  # a past of its own, then the speed
        history = history.extended(np.array([0.05 * np.sin(k)]), PERIOD_S)
    history = history.extended(np.array([sign * speed]), PERIOD_S)
    stop = stop_from(history, LIMIT, PERIOD_S)
    assert stop.velocity[-1] == 0 and stop.acceleration[-1] == 0
    distance = stopping_distance(speed, LIMIT[0], PERIOD_S)
    assert np.allclose(stop.position[-1], history.position[-1] + sign * distance, atol=1e-12)
    # No stop in whole periods is shorter than the parabola, and none needs more than half a period more.
    assert speed**2 / 15.0 - 1e-12 <= distance <= speed**2 / 15.0 + 0.5 * PERIOD_S * speed + 1e-12
    for tick in range(int(stop.ticks[-1]) + 1):
        if tick in stop.ticks:
            row = int(np.flatnonzero(stop.ticks == tick)[0])
            expected = averaged_motion.average(history.position, history.velocity, history.mean, PERIOD_S)
            got = (stop.position[row], stop.velocity[row], stop.acceleration[row])
            assert all(np.allclose(*pair, atol=1e-9) for pair in zip(got, expected, strict=True))
        before = history.velocity[-1]
        full_step = LIMIT * PERIOD_S
        history = history.extended(before - np.clip(before, -full_step, full_step), PERIOD_S)
    duration_s = np.diff(stop.ticks)[:, None] * PERIOD_S
    mean = 0.5 * (stop.acceleration[1:] + stop.acceleration[:-1])
    assert np.allclose(np.diff(stop.velocity, axis=0), mean * duration_s, atol=1e-9), "jerk is not constant"


@given(room=st.floats(0.0, 6.0))
def test_approach_speed_uses_all_of_the_room(room: float) -> None:
    speed = approach_speed(room, LIMIT[0], PERIOD_S)
    used = 0.5 * PERIOD_S * speed + stopping_distance(speed, LIMIT[0], PERIOD_S)
    assert np.allclose(used, room, rtol=1e-12, atol=1e-12)


def test_joints_stop_each_in_its_own_time() -> None:
    history = History.at_rest(np.zeros(2), 1).extended(np.array([1.0, -0.1]), PERIOD_S)
    begin = history.position[-1]
    stop = stop_from(history, np.array([10.0, 10.0]), PERIOD_S)
    assert stop.ticks.tolist() == [0, 1, 2, 10, 11]
    assert np.allclose(stop.position[-1] - begin, [0.05, -0.0005])


def test_a_low_jerk_limit_is_kept_by_averaging_over_more_periods() -> None:
    assert averaged_periods(np.array([15.0]), np.array([7500.0]), PERIOD_S) == 1
    assert averaged_periods(np.array([10.0, 5.0]), np.array([500.0, 1e4]), PERIOD_S) == 4


@given(place=st.floats(-3.0, 3.0), window=st.integers(1, 20))
def test_the_average_of_a_joint_that_stands_is_where_it_stands_to_the_last_digit(place: float, window: int) -> None:
    """The monitor compares where a motion starts with where the last one ended."""
    history = History.at_rest(np.array([place]), window)
    average = averaged_motion.average(history.position, history.velocity, history.mean, PERIOD_S)
    assert average[0, 0] == place
    assert (stop_from(history, LIMIT, PERIOD_S).position == place).all()
