"""The safety filter with a collision model: it keeps its clearances, slides along them, and can always leave."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tendon.control.clearance.model import Clearance
from tendon.control.filter import SafetyFilter, Verdict
from tendon.core.types import Array
from tendon.robots.environment import load_environment
from tendon.robots.spline import hermite
from tests.control.limits_checker import PERIOD_S, PROFILE, assert_inside
from tests.laws import law_settings

CLEARANCE = Clearance(PROFILE, load_environment("tabletop"))
HOME = PROFILE.vector("home")
GRIPPED = np.array([1.0] * 7 + [0.0])
"""Closes the gripper of a position."""


def free_position(rng: np.random.Generator) -> Array:
    while True:
        q = rng.uniform(PROFILE.vector("lower"), PROFILE.vector("upper"))
        if (CLEARANCE.distances(q) > CLEARANCE.margin).all():
            return q


def motion(verdicts: list[Verdict], start: Array) -> tuple[list[Array], list[Array]]:
    return [start, *(v.position for v in verdicts)], [np.zeros_like(start), *(v.velocity for v in verdicts)]


@law_settings(max_examples=12)
@given(seed=st.integers(0, 2**32 - 1))
def test_random_targets_never_bring_it_closer_than_the_margins_between_ticks_or_on_the_stop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    filter_, start = SafetyFilter(PROFILE, CLEARANCE), free_position(rng)
    filter_.reset(start)
    verdicts = []
    for k in range(150):
        if k % 30 == 0:
            target = rng.uniform(PROFILE.vector("lower"), PROFILE.vector("upper"))
        verdicts.append(filter_.step(target))
    positions, velocities = motion(verdicts, start)
    assert_inside(positions, velocities, [PERIOD_S] * len(verdicts))
    for i in range(len(verdicts)):
        begin, end = (positions[i], velocities[i]), (positions[i + 1], velocities[i + 1])
        for t in rng.uniform(0, PERIOD_S, 3):
            assert (CLEARANCE.distances(hermite(begin, end, PERIOD_S, t)[0]) >= CLEARANCE.margin - 1e-9).all()
    stop = verdicts[int(rng.integers(150))].stop
    for q in stop.position:
        assert (CLEARANCE.distances(q) >= CLEARANCE.margin - 1e-9).all()


@law_settings(max_examples=12)
@given(seed=st.integers(0, 2**32 - 1))
@example(seed=0)
@example(seed=1)
def test_a_closed_gripper_is_not_opened_to_keep_its_fingers_off_the_table(seed: int) -> None:
    rng = np.random.default_rng(seed)
    filter_, start = SafetyFilter(PROFILE, CLEARANCE), free_position(rng) * GRIPPED
    while (CLEARANCE.distances(start) <= CLEARANCE.margin).any():
        start = free_position(rng) * GRIPPED
    filter_.reset(start)
    for k in range(150):
        if k % 30 == 0:
            target = rng.uniform(PROFILE.vector("lower"), PROFILE.vector("upper")) * GRIPPED
        assert filter_.step(target).position[7] < 1e-6


def test_a_target_below_the_table_is_approached_to_the_margin_and_followed_sideways() -> None:
    """Neither a lock-up in front of the table nor a cheat: the hand comes near it and then slides along."""
    filter_ = SafetyFilter(PROFILE, CLEARANCE)
    filter_.reset(HOME)
    target = HOME.copy()
    target[1] += 1.2  # the whole arm leans forward and down
    for _ in range(300):
        verdict = filter_.step(target)
    room = (CLEARANCE.distances(verdict.position) - CLEARANCE.margin).min()
    assert 0.0 <= room < 0.02, "it stopped far from what it must not touch"
    assert verdict.reasons and verdict.margin < 0.2
    target[0] += 0.5
    for _ in range(200):
        verdict = filter_.step(target)
    assert abs(verdict.position[0] - target[0]) < 0.01, "it locked up instead of sliding"


def test_from_inside_a_margin_it_may_leave_and_never_goes_deeper() -> None:
    rng = np.random.default_rng(3)
    while True:
        start = rng.uniform(PROFILE.vector("lower"), PROFILE.vector("upper"))
        room = CLEARANCE.distances(start) - CLEARANCE.margin
        if -0.03 < room.min() < -0.005 and (room < 0).sum() == 1:
            break
    deep = int(room.argmin())
    filter_ = SafetyFilter(PROFILE, CLEARANCE)
    filter_.reset(start)
    before = CLEARANCE.distances(start)[deep]
    for k in range(400):
        verdict = filter_.step(rng.uniform(PROFILE.vector("lower"), PROFILE.vector("upper")) if k < 100 else HOME)
        now = CLEARANCE.distances(verdict.position)[deep]
        assert now >= min(before, CLEARANCE.margin[deep]) - 1e-6, "deeper"
        before = now
    assert before > CLEARANCE.margin[deep], "it did not get out"


def test_when_the_program_fails_or_lies_the_check_still_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    filter_ = SafetyFilter(PROFILE, CLEARANCE)
    filter_.reset(HOME)
    assert filter_._avoidance is not None
    monkeypatch.setattr(filter_._avoidance, "shape", lambda wanted, *_: wanted)
    target = HOME.copy()
    target[1] += 1.2
    refused = 0
    for _ in range(200):
        verdict = filter_.step(target)
        refused += verdict.refused
        assert (CLEARANCE.distances(verdict.position) >= CLEARANCE.margin - 1e-9).all()
    assert refused
