"""The prefix: rows of a plan that the robot follows, and of no other."""

from __future__ import annotations

import numpy as np
import pytest

from tendon.control.continuation import ON_PLAN_SHARE, continuation, on_plan_tolerance
from tendon.control.executor import Executor
from tendon.core.types import ActionChunk, Array, Observation
from tests.control.limits_checker import PROFILE, make_chunk

MS = 1_000_000
STEP_NS = 100 * MS
SEEN_NS = 1000 * MS
TOLERANCE = on_plan_tolerance(PROFILE)
RATE = 0.2


def planned(at_ns: int) -> Array:
    """Where the plan is: each joint moves on at the same rate, so that the spline meets it between rows too."""
    return PROFILE.vector("home") + RATE * 1e-9 * (at_ns - SEEN_NS)


@pytest.fixture
def executor() -> Executor:
    """Runs a chunk that was inferred from an observation half a second before."""
    executor = Executor(len(PROFILE.joints), 10**9)
    first_ns = SEEN_NS - 500 * MS
    rows = np.array([planned(first_ns + (k + 1) * STEP_NS) for k in range(16)])
    executor.submit(make_chunk(rows, first_ns), first_ns + 30 * MS)
    return executor


def seen(off: Array | float = 0.0, stamp_ns: int = SEEN_NS) -> Observation:
    position = planned(stamp_ns) + off
    return Observation(stamp_ns=stamp_ns, joint_position=position, joint_velocity=np.zeros_like(position))


def prefix(executor: Executor, observation: Observation, rows: int = 3) -> ActionChunk | None:
    return continuation(executor.window, observation, STEP_NS, rows, TOLERANCE)


def off_by(joint: int, distance: float) -> Array:
    off = np.zeros(len(PROFILE.joints))
    off[joint] = distance
    return off


@pytest.mark.parametrize("shift_ms", [0, 37])
def test_on_its_plan_it_continues_the_next_rows_on_the_grid_of_the_new_chunk(executor: Executor, shift_ms: int) -> None:
    stamp_ns = SEEN_NS + shift_ms * MS
    given = prefix(executor, seen(stamp_ns=stamp_ns))
    assert given is not None
    assert (given.start_ns, given.step_ns, given.observation_stamp_ns) == (stamp_ns + STEP_NS, STEP_NS, stamp_ns)
    expected = [planned(stamp_ns + (k + 1) * STEP_NS) for k in range(3)]
    np.testing.assert_allclose(given.actions, expected, atol=1e-9)


@pytest.mark.parametrize("side", [-1.0, 1.0])
@pytest.mark.parametrize("joint", PROFILE.group_indices("arm"))
def test_one_joint_further_off_than_its_tolerance_means_no_prefix(executor: Executor, joint: int, side: float) -> None:
    allowed = float(TOLERANCE[joint])
    assert prefix(executor, seen(off_by(joint, side * 0.99 * allowed))) is not None
    assert prefix(executor, seen(off_by(joint, side * 1.01 * allowed))) is None


def test_a_gripper_that_stays_on_what_it_holds_is_no_reason(executor: Executor) -> None:
    (finger,) = PROFILE.group_indices("gripper")
    assert prefix(executor, seen(off_by(finger, 0.04))) is not None


def test_the_tolerance_is_a_part_of_the_tracking_tolerance_and_none_is_any_distance() -> None:
    """So a robot that is off its plan is noticed before it is stopped for it."""
    assert 0.0 < ON_PLAN_SHARE < 1.0
    for joint, tolerance in zip(PROFILE.joints, TOLERANCE, strict=True):
        limit = joint.tracking_tolerance
        assert tolerance == (np.inf if limit is None else ON_PLAN_SHARE * limit)


def test_without_a_plan_there_is_none(executor: Executor) -> None:
    assert prefix(Executor(len(PROFILE.joints), 10**9), seen()) is None
    assert prefix(executor, seen(stamp_ns=SEEN_NS + 2000 * MS)) is None
    executor.clear()
    assert prefix(executor, seen()) is None


def test_where_the_plan_ends_there_are_fewer_rows(executor: Executor) -> None:
    assert executor.end_ns is not None
    given = prefix(executor, seen(stamp_ns=executor.end_ns - 2 * STEP_NS))
    assert given is not None and len(given.actions) == 2


def test_a_plan_that_begins_after_the_observation_is_continued(executor: Executor) -> None:
    """Frames jitter, so the second observation may come just before row 0 of the first chunk: nothing to be off yet."""
    given = prefix(executor, seen(stamp_ns=SEEN_NS - 402 * MS))
    assert given is not None and len(given.actions) == 3


def test_no_rows_asked_is_no_prefix_and_no_look_at_the_plan() -> None:
    def window(*_: int) -> ActionChunk | None:
        raise AssertionError("the plan was asked")

    assert continuation(window, seen(), STEP_NS, 0, TOLERANCE) is None
