"""Laws of the safety filter: whatever it is asked, what it answers obeys every limit and can stop."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendon.control.filter import SafetyFilter
from tendon.core.types import Array
from tendon.robots.profile import RobotProfile
from tests.control.limits_checker import PERIOD_S, TOLERANCE, assert_inside, assert_stops
from tests.laws import law_settings

KINDS = ("uniform", "bang-bang", "walk", "huge", "garbage", "outside", "hold", "sine")
Sent = tuple[object, object]


def stream(kind: str, rng: np.random.Generator, profile: RobotProfile, steps: int) -> Iterator[Sent]:
    """Targets and target velocities of one kind, hostile ones among them."""
    lower, upper = profile.vector("lower"), profile.vector("upper")
    point, n = rng.uniform(lower, upper), len(lower)
    garbage: list[object] = [
        None,
        "up",
        np.zeros(n - 1),
        np.full(n, np.nan),
        np.full(n, -np.inf),
        3.0,
        np.zeros((n, 1)),
    ]
    for k in range(steps):
        velocity: object = rng.choice([0.0, 1.0, 1e3, np.nan, 1e300]) * rng.standard_normal(n)
        if kind == "uniform":
            yield rng.uniform(lower, upper), velocity
        elif kind == "bang-bang":
            yield np.where(rng.random(n) < 0.5, lower, upper) if k % int(rng.integers(1, 9)) == 0 else point, velocity
        elif kind == "walk":
            point = point + 0.05 * rng.standard_normal(n)
            yield point, None
        elif kind == "huge":
            yield rng.choice([-1e308, 1e308, 1e-308], n), velocity
        elif kind == "garbage":
            yield garbage[int(rng.integers(len(garbage)))], garbage[int(rng.integers(len(garbage)))]
        elif kind == "outside":
            yield np.where(rng.random(n) < 0.5, lower - rng.random(n), upper + rng.random(n)), velocity
        elif kind == "hold":
            yield point, None
        else:
            phase = 0.2 * k
            yield point + 0.3 * np.sin(phase), np.full(n, 0.3 * 0.2 / PERIOD_S * np.cos(phase))


@law_settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=6))
def test_any_stream_stays_inside_every_limit_and_can_always_stop(
    profile: RobotProfile, seed: int, kinds: list[str]
) -> None:
    rng = np.random.default_rng(seed)
    start = rng.uniform(profile.vector("lower"), profile.vector("upper"))
    filter_ = SafetyFilter(profile)
    filter_.reset(start)
    positions, velocities = [start], [np.zeros_like(start)]
    for kind in kinds:
        for target, velocity in stream(kind, rng, profile, 50):
            verdict = filter_.step(target, velocity)  # type: ignore[arg-type]
            positions.append(verdict.position)
            velocities.append(verdict.velocity)
            assert not any("refused" in reason for reason in verdict.reasons)
            assert_stops(verdict.stop)
            assert np.array_equal(verdict.stop.position[0], verdict.position)
            assert -TOLERANCE <= verdict.margin <= 1.0
    assert_inside(positions, velocities, [PERIOD_S] * (len(positions) - 1))


@law_settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_target_at_rest_is_reached_without_overshoot_and_kept(profile: RobotProfile, seed: int) -> None:
    rng = np.random.default_rng(seed)
    start, goal = rng.uniform(profile.vector("lower"), profile.vector("upper"), (2, len(profile.joints)))
    filter_ = SafetyFilter(profile)
    filter_.reset(start)
    before = start
    for _ in range(500):
        position = filter_.step(goal).position
        assert (np.sign(goal - start) * (position - before) >= -1e-12).all(), "went back"
        assert (np.sign(goal - start) * (goal - position) >= -1e-12).all(), "went past"
        before = position
    assert np.allclose(before, goal, atol=1e-12) and np.allclose(filter_.velocity, 0.0, atol=1e-12)


def test_a_target_at_rest_is_reached_in_the_time_that_the_limits_allow(profile: RobotProfile) -> None:
    filter_ = SafetyFilter(profile)
    filter_.reset(profile.vector("home"))
    goal = profile.vector("home") + np.array([1.0, 0, 0, 0, 0, 0, 0, 0])
    steps = 0
    while not np.allclose(filter_.position, goal, atol=1e-9):
        filter_.step(goal)
        steps += 1
    ideal_s = 1.0 / 2.175 + 2.175 / 15.0  # distance at full speed, plus one ramp
    assert steps * PERIOD_S <= ideal_s + 2 * filter_.delay_s + 2 * PERIOD_S


def smooth(profile: RobotProfile, time_s: float) -> tuple[Array, Array]:
    """A motion well inside the limits, and its velocity."""
    home, size = profile.vector("home").copy(), np.array([0.4, 0.3, 0.3, 0.4, 0.5, 0.5, 0.5, -0.01])
    home[-1] = 0.03
    wave = 0.5 - 0.5 * np.cos(2.0 * time_s)
    return home + size * wave, size * np.sin(2.0 * time_s)


def test_a_feasible_moving_target_is_followed_without_lag(profile: RobotProfile) -> None:
    filter_ = SafetyFilter(profile)
    filter_.reset(smooth(profile, 0.0)[0])
    for k in range(1, 400):
        verdict = filter_.step(*smooth(profile, k * PERIOD_S + filter_.delay_s))
        assert verdict.reasons == () or k < 3
        # The average of a curve is off it by its curvature, T^2 / 24 of its acceleration.
        assert np.abs(verdict.position - smooth(profile, k * PERIOD_S)[0]).max() < (3e-5 if k > 5 else 1e-3)


def test_a_jump_of_the_target_is_caught_up_with_and_then_followed(profile: RobotProfile) -> None:
    filter_ = SafetyFilter(profile)
    filter_.reset(smooth(profile, 0.0)[0])
    errors = []
    for k in range(1, 200):
        time_s = k * PERIOD_S + (0.2 if k > 50 else 0.0)
        verdict = filter_.step(*smooth(profile, time_s + filter_.delay_s))
        errors.append(np.abs(verdict.position - smooth(profile, time_s)[0]).max())
        if errors[-1] > 0.02:
            assert verdict.reasons and verdict.margin < 1e-9
    assert max(errors[60:]) > 1e-3 > 3e-5 > max(errors[100:])


def test_unusable_targets_follow_the_stop_exactly(profile: RobotProfile) -> None:
    filter_ = SafetyFilter(profile)
    for _ in range(20):
        stop = filter_.step(profile.vector("upper")).stop
    for tick in range(1, int(stop.ticks[-1]) + 1):
        verdict = filter_.step(np.full(8, np.nan))
        assert verdict.reasons == ("target is not n finite numbers",)
        if tick in stop.ticks:
            point = int(np.flatnonzero(stop.ticks == tick)[0])
            assert np.allclose(verdict.position, stop.position[point], atol=1e-12)
            assert np.allclose(verdict.velocity, stop.velocity[point], atol=1e-12)
            assert np.allclose(verdict.acceleration, stop.acceleration[point], atol=1e-9)
    assert (filter_.velocity == 0).all()


@law_settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_start_outside_the_limits_only_moves_back_and_then_stays_inside(profile: RobotProfile, seed: int) -> None:
    rng = np.random.default_rng(seed)
    lower, upper = profile.vector("lower"), profile.vector("upper")
    start = np.where(rng.random(8) < 0.5, lower - 0.2 * rng.random(8), upper + 0.2 * rng.random(8))
    filter_ = SafetyFilter(profile)
    filter_.reset(start)
    before = start
    for _ in range(300):
        position = filter_.step(rng.uniform(lower - 1, upper + 1), rng.standard_normal(8)).position
        farther = np.maximum(position - np.maximum(before, upper), np.minimum(before, lower) - position)
        assert farther.max() <= TOLERANCE
        before = position
    inside = (before >= lower - TOLERANCE) & (before <= upper + TOLERANCE)
    assert inside.all()


def test_reasons_name_the_joint_and_the_limit_that_binds(profile: RobotProfile) -> None:
    filter_ = SafetyFilter(profile)
    filter_.reset(profile.vector("home"))
    goal = profile.vector("home").copy()
    goal[0] += 1.0
    first = filter_.step(goal)
    assert first.reasons == ("panda_joint1 acceleration limit",)
    assert first.binding in ("panda_joint1 acceleration", "panda_finger_joint1 position")
    for _ in range(21):
        verdict = filter_.step(goal)
    assert verdict.reasons == ("panda_joint1 velocity limit",)
    goal[0] = 9.0
    assert "panda_joint1 target beyond its position limit" in filter_.step(goal).reasons


def test_a_step_that_leaves_no_stop_is_refused(profile: RobotProfile, monkeypatch: pytest.MonkeyPatch) -> None:
    filter_ = SafetyFilter(profile)
    for _ in range(5):
        filter_.step(profile.vector("upper"))
    stop = filter_.step(profile.vector("upper")).stop
    for lie in (np.full(8, 1e3), np.full(8, 1e6), np.full(8, 1e300), np.full(8, np.nan)):
        monkeypatch.setattr(filter_, "_shape", lambda goal, rate, lie=lie: (lie, lie, ()))
        verdict = filter_.step(profile.vector("home"))
        assert any("refused" in reason for reason in verdict.reasons)
    assert int(verdict.stop.ticks[-1]) <= int(stop.ticks[-1]) - 2


@pytest.mark.parametrize("kind", [np.int64, np.float32])
def test_it_starts_wherever_numbers_say(profile: RobotProfile, kind: type) -> None:
    filter_ = SafetyFilter(profile)
    filter_.reset(np.array([0, 0, 0, -1, 0, 1, 0, 0], dtype=kind))
    assert filter_.step(profile.vector("home")).position[3] < -0.99
