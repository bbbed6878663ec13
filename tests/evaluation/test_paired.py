"""Which of two policies is better: tests that do not lie, whenever one looks at them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import binomtest

from tendon.evaluation.paired import ALPHA, PairedTest, log_evidence, looked_at_scenes, mcnemar, planned_scenes
from tendon.evaluation.statistics import paired_difference, wilson
from tests.laws import law_settings


@law_settings(max_examples=100)
@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_sum_of_what_is_no_likelier(first: int, second: int) -> None:
    total = first + second
    likelihood = [math.comb(total, k) / 2**total for k in range(total + 1)]
    expected = sum(p for p in likelihood if p <= likelihood[second] * (1 + 1e-7))
    assert mcnemar(first, second) == pytest.approx(min(1.0, expected), rel=1e-9)
    assert mcnemar(first, second) == mcnemar(second, first)


@law_settings(max_examples=50)
@given(st.integers(0, 40), st.integers(0, 40))
def test_evidence_is_the_mean_over_all_odds_above_one_half(wins: int, losses: int) -> None:
    value, _ = quad(lambda p: 2 * (2 * p) ** wins * (2 * (1 - p)) ** losses, 0.5, 1.0, limit=200)
    assert math.exp(log_evidence(wins, losses)) == pytest.approx(value, rel=1e-6)


def test_of_two_equal_policies_none_is_named_more_often_than_it_may_be_however_often_one_looks() -> None:
    rng, named, further, runs = np.random.default_rng(3), 0, 0, 400
    for _ in range(runs):
        test = PairedTest()
        for first, second in rng.random((150, 2)) < 0.6:
            test.take(bool(first), bool(second), float(rng.choice([-0.5, 0.0, 0.5])))
        named += bool(test.better)
        further += bool(test.further)
    allowed = ALPHA * runs + 3 * math.sqrt(ALPHA * runs)
    assert named <= allowed and further <= allowed, (named, further)


@pytest.mark.parametrize(("better", "rates"), [("second", (0.5, 0.8)), ("first", (0.8, 0.5))])
def test_a_better_policy_is_named_and_stays_named(better: str, rates: tuple[float, float]) -> None:
    rng, shown = np.random.default_rng(5), 0
    for _ in range(40):
        test = PairedTest()
        for drawn in rng.random((300, 2)):
            first, second = (bool(value < rate) for value, rate in zip(drawn, rates, strict=True))
            test.take(first, second, float(second) - float(first))
        shown += test.better == test.further == better
        for _ in range(20):
            test.take(better == "second", better == "first")  # a bad spell takes nothing back
        assert test.better in ("", better)
    assert shown >= 36


@law_settings(max_examples=50)
@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.floats(-1, 1)), max_size=60))
def test_policies_may_change_places(outcomes: list[tuple[bool, bool, float]]) -> None:
    one, other = PairedTest(), PairedTest()
    for first, second, progress in outcomes:
        one.take(first, second, progress)
        other.take(second, first, -progress)
    assert one.p_value == other.p_value and one.progress_p_value == pytest.approx(other.progress_p_value)
    assert 0 <= one.p_value <= 1 and one.count == len(outcomes)
    assert {"first": "second", "second": "first", "": ""}[one.better] == other.better


@law_settings(max_examples=100)
@given(st.integers(1, 400), st.data())
def test_the_interval_of_a_rate_is_that_of_scipy(total: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, total))
    found, expected = wilson(successes, total), binomtest(successes, total).proportion_ci(method="wilson")
    assert (found.lower, found.upper) == pytest.approx((expected.low, expected.high), abs=1e-9)


@law_settings(max_examples=60)
@given(st.integers(0, 100), st.integers(0, 100), st.integers(0, 100))
def test_the_interval_of_a_difference_is_the_plain_one_where_there_are_many_scenes(
    first: int, second: int, alike: int
) -> None:
    """Wald's interval has no width where no scene differs; there Tango's is widest beside it: 2 z^2 / (n + z^2)."""
    outcomes = [(True, False)] * first + [(False, True)] * second + [(True, True)] * alike
    assume(outcomes)
    found = paired_difference(*(list(side) for side in zip(*outcomes, strict=True)))
    count, rate = len(outcomes), (second - first) / len(outcomes)
    plain = 2 * 1.96 * math.sqrt(max((first + second) / count - rate**2, 0.0) / count)
    assert found.difference == pytest.approx(rate)
    assert found.lower - 1e-12 <= rate <= found.upper + 1e-12
    assert found.upper - found.lower == pytest.approx(plain, abs=2 * 1.96**2 / count)


@pytest.mark.laws
@pytest.mark.parametrize(("discordant", "success"), [(0.1, 0.9), (0.3, 0.6), (0.6, 0.5)])
def test_looking_after_each_of_300_scenes_names_one_of_two_equal_policies_as_seldom_as_promised(
    discordant: float, success: float
) -> None:
    """Success and progress, in 800 runs; three standard deviations above 5 % would be a broken promise."""
    rng, runs, named, further = np.random.default_rng(11), 800, 0, 0
    for _ in range(runs):
        test = PairedTest()
        differ = rng.random(300) < discordant
        wins = rng.random(300) < 0.5
        done = rng.random(300) < success
        partial = rng.uniform(-0.4, 0.4, 300)
        for k in range(300):
            first, second = (bool(wins[k]), not wins[k]) if differ[k] else (bool(done[k]),) * 2
            test.take(first, second, float(second) - float(first) if differ[k] else float(partial[k]))
        named += bool(test.better)
        further += bool(test.further)
    allowed = ALPHA * runs + 3 * math.sqrt(ALPHA * (1 - ALPHA) * runs)
    assert named <= allowed and further <= allowed, (named, further)


@pytest.mark.laws
@pytest.mark.parametrize(("difference", "discordant"), [(0.15, 0.25), (0.3, 0.4)])
def test_a_difference_is_shown_by_the_scenes_that_were_planned(difference: float, discordant: float) -> None:
    half, enough = looked_at_scenes(difference, discordant)
    rng, runs, early, late = np.random.default_rng(13), 400, 0, 0
    shares = [(discordant - difference) / 2, (discordant + difference) / 2, 1 - discordant]
    for _ in range(runs):
        test = PairedTest()
        for number, outcome in enumerate(rng.choice(3, size=enough, p=shares), start=1):
            test.take(outcome == 0, outcome == 1)
            early += number == half and test.better == "second"
        late += test.better == "second"
    assert early / runs == pytest.approx(0.5, abs=0.08) and late / runs == pytest.approx(0.8, abs=0.07)


def test_a_plan_has_the_power_that_it_promises() -> None:
    difference, discordant = 0.15, 0.25
    scenes, rng, runs = planned_scenes(difference, discordant), np.random.default_rng(7), 1500
    shares = [(discordant - difference) / 2, (discordant + difference) / 2]
    shown = 0
    for _ in range(runs):
        first, second, _ = rng.multinomial(scenes, [*shares, 1 - discordant])
        shown += mcnemar(int(first), int(second)) < ALPHA
    assert 0.77 < shown / runs < 0.86, "0.8 was asked for"
    half, enough = looked_at_scenes(difference, discordant)
    assert half < enough and half < 2 * scenes


@pytest.mark.parametrize(("difference", "discordant"), [(0.15, 0.25), (0.1, 0.3), (0.9, 0.9)])
def test_by_so_many_scenes_who_looks_has_seen_it_as_often_as_said(difference: float, discordant: float) -> None:
    """In 4000 runs, to within three standard deviations; 300 runs had named 144 scenes where 135 are enough."""
    half, enough = looked_at_scenes(difference, discordant)
    runs, shares = 4000, [(discordant - difference) / 2, (discordant + difference) / 2, 1 - discordant]
    outcomes = np.random.default_rng(17).choice(3, size=(runs, enough), p=np.maximum(shares, 0.0))
    wins, losses = (outcomes == 1).cumsum(axis=1), (outcomes == 0).cumsum(axis=1)
    most = np.arange(enough + 1)
    needed = [next((w for w in most if log_evidence(w, k) >= math.log(2 / ALPHA)), enough + 1) for k in most]
    shown = (wins >= np.array(needed)[losses]).cumsum(axis=1) > 0
    for scenes, wanted in ((half, 0.5), (enough, 0.8)):
        before = shown[:, scenes - 2].mean() if scenes > 1 else 0.0
        spread = 3 * math.sqrt(wanted * (1 - wanted) / runs)
        assert before - spread <= wanted <= shown[:, scenes - 1].mean() + spread
        assert shown[:, scenes - 1].mean() - before < 0.05 or difference == discordant
