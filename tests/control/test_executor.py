"""The executor: chunks on the timeline, continuous across replacements."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendon.control.executor import FADE_NS, Executor, Placement
from tendon.core.errors import InvalidDataError
from tendon.core.types import ActionChunk, Array
from tests.control.limits_checker import make_chunk
from tests.laws import law_settings

AHEAD_NS = 1_000_000_000
MS = 1_000_000
STEP_NS = 100 * MS
ROWS = 16


def wave_rows(observation_ns: int, rows: int = ROWS) -> Array:
    times_s = (observation_ns + STEP_NS * np.arange(1, rows + 1)) * 1e-9
    return np.stack([0.4 * np.sin(2.0 * times_s), 0.2 * np.cos(1.5 * times_s)], axis=1)


def wave(observation_ns: int) -> ActionChunk:
    return make_chunk(wave_rows(observation_ns), observation_ns)


def assert_continuous(executor: Executor, at_ns: int) -> None:
    """Holds that position and velocity do not jump at an instant, seen a nanosecond on either side."""
    before, after = executor.sample(at_ns - 1), executor.sample(at_ns + 1)
    assert before is not None and after is not None
    assert np.allclose(before[0], after[0], atol=1e-7) and np.allclose(before[1], after[1], atol=1e-5)


def test_rows_are_met_when_they_are_due_and_nothing_is_due_outside() -> None:
    executor = Executor(2, AHEAD_NS)
    chunk = wave(0)
    assert executor.sample(0) is None and executor.end_ns is None
    assert executor.submit(chunk, 30 * MS) is Placement.ACCEPTED
    assert executor.end_ns == chunk.end_ns
    for k, row in enumerate(chunk.actions):
        motion = executor.sample(chunk.start_ns + k * STEP_NS)
        assert motion is not None and np.allclose(motion[0], row, atol=1e-12)
    assert executor.sample(chunk.start_ns - 1) is None
    assert executor.sample(chunk.end_ns + 1) is None


def test_a_smooth_motion_is_interpolated_closely_with_its_velocity() -> None:
    executor = Executor(2, AHEAD_NS)
    executor.submit(wave(0), 30 * MS)
    for at_ns in range(300 * MS, 1300 * MS, 7 * MS):
        motion = executor.sample(at_ns)
        assert motion is not None
        assert abs(motion[0][0] - 0.4 * np.sin(2e-9 * at_ns)) < 2e-4
        assert abs(motion[1][0] - 0.8 * np.cos(2e-9 * at_ns)) < 1e-2


@law_settings(max_examples=60)
@given(delay_ms=st.integers(20, 500), offset_ms=st.integers(150, 900), jump=st.floats(-0.5, 0.5))
def test_a_replacement_is_continuous_in_position_and_velocity(delay_ms: int, offset_ms: int, jump: float) -> None:
    executor = Executor(2, AHEAD_NS)
    executor.submit(wave(0), 30 * MS)
    observation_ns = offset_ms * MS
    from_ns = observation_ns + delay_ms * MS
    rows = wave_rows(observation_ns)
    prefix = executor.window(observation_ns + STEP_NS, STEP_NS, -(-delay_ms // 100))
    assert prefix is not None
    rows[: len(prefix.actions)] = prefix.actions
    before = executor.sample(from_ns - 1)
    assert before is not None
    assert executor.submit(make_chunk(rows + jump, observation_ns), from_ns) is Placement.ACCEPTED
    again = executor.sample(from_ns - 1)
    assert again is not None and np.array_equal(before, again), "the past changed"
    for at_ns in (from_ns, from_ns + FADE_NS, *range(observation_ns + STEP_NS, from_ns + 500 * MS, STEP_NS)):
        assert_continuous(executor, at_ns)


def test_chunks_that_agree_give_one_motion_on_any_grid() -> None:
    executor = Executor(2, AHEAD_NS)
    executor.submit(wave(0), 30 * MS)
    for observation_ns in range(170 * MS, 3000 * MS, 170 * MS):
        from_ns = observation_ns + 130 * MS
        assert executor.submit(wave(observation_ns), from_ns) is Placement.ACCEPTED
        for at_ns in range(from_ns, from_ns + 200 * MS, 10 * MS):
            motion = executor.sample(at_ns)
            assert motion is not None
            # The first rows have no row before them yet, so their tangents are one-sided.
            assert abs(motion[0][0] - 0.4 * np.sin(2e-9 * at_ns)) < 3e-3
            assert abs(motion[1][0] - 0.8 * np.cos(2e-9 * at_ns)) < 0.1


def test_a_first_chunk_leads_away_from_where_the_robot_is() -> None:
    executor = Executor(2, AHEAD_NS)
    origin = np.array([0.3, -0.3]), np.array([0.1, 0.0])
    executor.submit(wave(0), 30 * MS, origin)
    motion = executor.sample(30 * MS)
    assert motion is not None and np.allclose(motion, origin, atol=1e-12)
    for at_ns in (100 * MS, 30 * MS + FADE_NS, 200 * MS):
        assert_continuous(executor, at_ns)
    row = executor.sample(400 * MS)
    assert row is not None and np.allclose(row[0], wave_rows(0)[3])


def test_older_duplicate_past_and_early_chunks_are_not_taken() -> None:
    executor = Executor(2, AHEAD_NS)
    executor.submit(wave(500 * MS), 600 * MS)
    plan = executor.window(700 * MS, STEP_NS, 5)
    assert executor.submit(wave(500 * MS), 650 * MS) is Placement.OLDER
    assert executor.submit(wave(400 * MS), 650 * MS) is Placement.OLDER
    assert executor.submit(wave(700 * MS), 60_000 * MS) is Placement.OVER
    assert executor.submit(wave(3_600_000 * MS), 650 * MS) is Placement.AHEAD
    after = executor.window(700 * MS, STEP_NS, 5)
    assert plan is not None and after is not None and np.array_equal(plan.actions, after.actions)


def test_rows_of_another_length_are_an_error() -> None:
    with pytest.raises(InvalidDataError, match="rows of 2 joints, expected 3"):
        Executor(3, AHEAD_NS).submit(wave(0), 0)


def test_clear_forgets_the_plan_and_what_was_seen_before_it() -> None:
    executor = Executor(2, AHEAD_NS)
    executor.submit(wave(0), 30 * MS)
    executor.clear(200 * MS)
    assert executor.sample(300 * MS) is None and executor.window(300 * MS, STEP_NS, 2) is None
    assert executor.submit(wave(200 * MS), 300 * MS) is Placement.OLDER
    assert executor.submit(wave(201 * MS), 300 * MS) is Placement.ACCEPTED


def test_a_window_is_the_plan_on_another_grid_as_far_as_it_goes() -> None:
    executor = Executor(2, AHEAD_NS)
    chunk = wave(0)
    executor.submit(chunk, 30 * MS)
    window = executor.window(1450 * MS, STEP_NS, 5)
    assert window is not None and len(window.actions) == 2 and window.start_ns == 1450 * MS
    for k, row in enumerate(window.actions):
        motion = executor.sample(1450 * MS + k * STEP_NS)
        assert motion is not None and np.array_equal(row, motion[0])
    assert executor.window(chunk.end_ns + 1, STEP_NS, 3) is None


def test_a_chunk_of_one_row_is_a_point() -> None:
    executor = Executor(2, AHEAD_NS)
    executor.submit(make_chunk(np.array([[0.1, 0.2]]), 0), 30 * MS, (np.zeros(2), np.zeros(2)))
    motion = executor.sample(100 * MS)
    assert motion is not None
    assert executor.sample(101 * MS) is None
