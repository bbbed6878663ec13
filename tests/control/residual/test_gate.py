"""The gate: what it may lose, how soon it acts, and that it does not withdraw what is good."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendon.control.residual.gate import (
    ALPHA,
    MARGIN,
    MOST_SHARE,
    REMEMBERED,
    Evidence,
    Record,
    ResidualGate,
    Tally,
    bounds,
)
from tendon.core.errors import ConfigError

SHOWN = Evidence(base=Tally(successes=150, total=300), residual=Tally(successes=210, total=300))


def play(base: float, residual: float, episodes: int, seed: int, evidence: Evidence) -> tuple[ResidualGate, int, int]:
    """Returns a gate after some episodes, how many these were when it was withdrawn, and failures with the residual."""
    gate, rng = ResidualGate(Record(), evidence, seed=seed), random.Random(seed + 1000)
    lost = 0
    for episode in range(1, episodes + 1):
        acted = gate.draw()
        success = rng.random() < (residual if acted else base)
        lost += acted and not success
        gate.take(acted, success)
        if gate.record.withdrawn:
            return gate, episode, lost
    return gate, episodes, lost


def test_with_nothing_known_it_acts_in_as_many_episodes_as_may_be_lost() -> None:
    assert ResidualGate(Record(), Evidence()).share == pytest.approx(MARGIN)


def test_what_an_evaluation_showed_lets_it_act_more() -> None:
    assert ResidualGate(Record(), SHOWN).share > 2 * MARGIN


@pytest.mark.parametrize("evidence", [Evidence(), SHOWN])
def test_an_adversarial_residual_is_withdrawn_and_stays_so(evidence: Evidence) -> None:
    ended = [play(0.9, 0.0, 400, seed, evidence) for seed in range(40)]
    assert all(gate.record.withdrawn for gate, _, _ in ended)
    assert max(lost for _, _, lost in ended) <= 30
    gate = ended[0][0]
    assert gate.share == 0.0 and not gate.draw()
    assert "without it" in gate.record.withdrawn
    gate.take(False, False)
    assert gate.record.withdrawn and gate.share == 0.0


def test_one_that_is_as_good_is_withdrawn_in_few_runs_of_many_looks() -> None:
    withdrawn = sum(bool(play(0.6, 0.6, 200, seed, Evidence())[0].record.withdrawn) for seed in range(60))
    assert withdrawn <= 60 * ALPHA


def test_one_that_is_better_comes_to_act_nearly_always() -> None:
    shares = [play(0.5, 0.9, 600, seed, Evidence())[0].share for seed in range(10)]
    assert min(shares) == MOST_SHARE


@given(st.integers(0, 500), st.integers(0, 500))
@settings(max_examples=60)
def test_the_bounds_hold_the_seen_rate_and_narrow_with_more_of_the_same(successes: int, failures: int) -> None:
    low, high = bounds(successes, failures, ALPHA)
    assert 0.0 <= low <= high <= 1.0
    if total := successes + failures:
        assert low <= successes / total <= high
    wide = bounds(10 * successes, 10 * failures, ALPHA)
    assert wide[1] - wide[0] <= high - low + 1e-9


@given(st.floats(0.02, 0.98), st.integers(0, 2**31))
@settings(max_examples=60, deadline=None)
def test_the_truth_stays_inside_at_all_times_but_rarely(rate: float, seed: int) -> None:
    rng, outside, runs = random.Random(seed), 0, 40
    for _ in range(runs):
        counts, left = [0, 0], False
        for _ in range(60):
            counts[rng.random() >= rate] += 1
            low, high = bounds(counts[0], counts[1], ALPHA)
            left = left or not low <= rate <= high
        outside += left
    assert outside <= 10  # 40 * 0.05 are 2; more than 10 has a probability below 1e-5


def test_one_that_was_good_for_long_and_turns_bad_is_withdrawn_all_the_same() -> None:
    """After 2000 good episodes 256 failures were needed."""
    rng, good = random.Random(7), Record()
    for _ in range(2000):
        gate = ResidualGate(good, Evidence())
        gate.take(rng.random() < 0.9, rng.random() < 0.95)
        good = gate.record
    assert not good.withdrawn and good.residual.total <= REMEMBERED
    gate, failures = ResidualGate(good, Evidence()), 0
    while not gate.record.withdrawn:
        gate.take(True, False)
        failures += 1
    assert failures <= 80


def test_more_successes_than_episodes_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"total is 1000.*, must be"):
        Tally(total=10**400)
    with pytest.raises(ConfigError, match="successes is 3, must be at most total, 2"):
        Tally(successes=3, total=2)


@pytest.mark.parametrize("wrong", [1.5, True, math.inf, math.nan, -1, "NaN", None])
def test_counts_are_whole_numbers(wrong: Any) -> None:
    for name in ("successes", "total"):
        counts: dict[str, Any] = {"successes": 0, "total": 2, name: wrong}
        with pytest.raises(ConfigError, match=f"{name} is .*, must be a whole number"):
            Tally(**counts)
