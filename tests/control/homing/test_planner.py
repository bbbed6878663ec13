"""Every way home keeps position limits and clearances over its whole length, from wherever it begins."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tendon.control.homing.chunk import HomingChunks, rest_of_way
from tendon.control.homing.planner import HomePlanner
from tendon.control.homing.process import plan_apart
from tendon.core.errors import NoWayError
from tendon.core.types import Array
from tests.control.homing.walled import clearance_of, free_starts, outside_start, profile_of, room
from tests.laws import law_settings

ROBOTS = ("panda", "ur5e", "so101")
STUCK = (
    np.array([-2.1796, 0.0666, -2.4872, -2.7377, -2.1907, 1.1189, -1.1028, 0.0282]),
    np.array([-2.2189, -0.8109, -1.8207, -0.2611, -0.7339, 0.5061, 0.9645, 0.0389]),
)
"""Free starts at a face of the Panda's workspace from where a straight line in joint space leads nowhere."""
DETOUR = np.array([0.6712, 1.4693, 2.1007, -0.851, 0.5351, 0.8565, 1.4411, 0.0167])
"""One from where it leads along a face, which a planned way keeps away from."""


def assert_kept(robot: str, surroundings: str, way: Array, start: Array) -> None:
    """Samples the way as densely as the wire, and closer."""
    profile = profile_of(robot)
    lower = np.minimum(profile.vector("lower"), start) - 1e-9
    upper = np.maximum(profile.vector("upper"), start) + 1e-9
    least = np.minimum(room(robot, surroundings, start), 0.0) - 1e-6
    for a, b in itertools.pairwise(way):
        for share in np.linspace(0.0, 1.0, 60):
            q = a + share * (b - a)
            assert ((q >= lower) & (q <= upper)).all()
            assert (room(robot, surroundings, q) >= least).all()


@given(
    robot=st.sampled_from(ROBOTS),
    surroundings=st.sampled_from(["none", "cell"]),
    seed=st.integers(0, 10_000),
    face=st.booleans(),
)
@law_settings(max_examples=15)
def test_a_way_from_a_free_start_keeps_limits_and_clearances_and_ends_at_home(
    robot: str, surroundings: str, seed: int, face: bool
) -> None:
    """The rows of its chunk too, which a spline leads along; there may be none, which is said within the time."""
    profile, clearance = profile_of(robot), clearance_of(robot, surroundings)
    (start,) = free_starts(robot, surroundings, 1, seed, 0.03 if face else np.inf)
    try:
        way = HomePlanner(profile, clearance).plan(start, limit_s=0.3)
    except NoWayError as error:
        assert "no way home found within 0.3 s" in str(error) and "teleoperation" in str(error)
        return
    np.testing.assert_array_equal(way[0], start)
    np.testing.assert_array_equal(way[-1], profile.vector("home"))
    assert_kept(robot, surroundings, way, start)
    chunk = HomingChunks(profile).chunk(way, 1.0, 0, 0)
    for row in chunk.actions:
        assert room(robot, surroundings, row).min() >= 0.0
    speed = np.abs(np.diff(chunk.actions, axis=0)) / (chunk.step_ns * 1e-9)
    assert (speed <= 0.2 * profile.vector("velocity") + 1e-9).all()


@pytest.mark.parametrize("start", (*STUCK, DETOUR))
def test_where_the_straight_line_got_stuck_a_way_is_found(start: Array) -> None:
    way = HomePlanner(profile_of("panda"), clearance_of("panda", "none")).plan(start, limit_s=20.0)
    assert len(way) > 2
    assert_kept("panda", "none", way, start)
    finger, home = start[7], profile_of("panda").vector("home")[7]
    between = (way[:, 7] >= min(finger, home) - 1e-12) & (way[:, 7] <= max(finger, home) + 1e-12)
    assert between.all(), "a gripper takes part in no detour: it may hold something"


@given(seed=st.integers(0, 10_000), beyond=st.sampled_from([0.0, 0.0, 0.1]))
@law_settings(max_examples=6)
@example(seed=800, beyond=0.1)
def test_a_start_outside_the_workspace_or_a_limit_goes_inwards_first_and_never_deeper(seed: int, beyond: float) -> None:
    """What lacks room at the start only gains it."""
    profile, clearance = profile_of("panda"), clearance_of("panda", "none")
    start = outside_start(seed)
    if beyond:
        start[6] = profile.vector("upper")[6] + beyond
    try:
        way = HomePlanner(profile, clearance).plan(start, limit_s=0.3)
    except NoWayError:
        return
    begin = room("panda", "none", start)
    outside, best = begin < 0.0, begin
    assert outside.any()
    for a, b in itertools.pairwise(way):
        for share in np.linspace(0.0, 1.0, 40):
            here = room("panda", "none", a + share * (b - a))
            assert (here[outside] >= np.minimum(begin[outside], 0.0) - 1e-6).all()
            best = np.maximum(best, here)
    assert (best[outside] > 0.0).all()
    assert_kept("panda", "none", way, start)


def test_a_home_that_is_walled_in_is_said_at_once_with_what_is_there() -> None:
    (start,) = free_starts("panda", "around home", 1, 0)
    begin_s = time.process_time()
    with pytest.raises(NoWayError, match=r"at home panda_\w+ is \d+ mm inside box.*change home"):
        HomePlanner(profile_of("panda"), clearance_of("panda", "around home")).plan(start)
    assert time.process_time() - begin_s < 1.0


def test_the_same_start_gets_the_same_way_in_this_process_and_in_another() -> None:
    start = np.array(profile_of("panda").vector("home"))
    start[0] += 0.7
    here = HomePlanner(profile_of("panda"), clearance_of("panda", "none")).plan(start)
    np.testing.assert_array_equal(plan_apart("panda", "", start), here)
    with pytest.raises(NoWayError, match="its planning failed"):
        plan_apart("panda", "", start[:3])


@given(seed=st.integers(0, 1000), edge=st.integers(0, 3), share=st.floats(0.0, 1.0))
def test_the_rest_of_a_way_begins_where_the_robot_is_and_leaves_nothing_out(seed: int, edge: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    way = np.cumsum(rng.uniform(0.2, 1.0, (5, 3)), axis=0)  # it never comes near itself
    position = way[edge] + share * (way[edge + 1] - way[edge])
    left = rest_of_way(way, position)
    np.testing.assert_array_equal(left[0], position)
    np.testing.assert_array_equal(left[-1], way[-1])
    assert len(left) <= 6 - edge
    lengths = np.linalg.norm(np.diff(left, axis=0), axis=1).sum(), np.linalg.norm(np.diff(way, axis=0), axis=1)
    expected = (1.0 - share) * lengths[1][edge] + lengths[1][edge + 1 :].sum()
    assert lengths[0] == pytest.approx(expected, abs=1e-6)
