"""Paired differences: known cases, symmetry, and an interval that holds its difference."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multinomial

from tendon.evaluation.statistics import difference_interval, doubt_of, paired_difference, wilson

CASES = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=300)


@given(CASES)
def test_the_interval_holds_the_difference_and_turns_around_with_the_two(pairs: list[tuple[bool, bool]]) -> None:
    first, second = map(list, zip(*pairs, strict=True))
    found, turned = paired_difference(first, second), paired_difference(second, first)
    assert -1.0 <= found.lower <= found.difference <= found.upper <= 1.0
    assert (found.lower, found.upper) == pytest.approx((-turned.upper, -turned.lower))
    assert found.both + found.first + found.second + found.neither == len(pairs)


@pytest.mark.parametrize("total", [1, 12, 120, 300])
def test_where_nothing_tells_two_apart_the_number_of_cases_does(total: int) -> None:
    """By hand: the score of a difference d is then d sqrt(total / (d - d^2)). Wald's kind gave half of it."""
    z2 = 1.959964**2
    assert difference_interval(0, 0, total) == pytest.approx((-z2 / (total + z2), z2 / (total + z2)), abs=1e-6)


@pytest.mark.parametrize(
    ("total", "first", "second"),
    [(120, 0.02, 0.0), (120, 0.08, 0.0), (12, 0.3, 0.0), (60, 0.05, 0.15), (120, 0.01, 0.3), (60, 0.2, 0.2)],
)
def test_it_holds_the_truth_as_often_as_it_says(total: int, first: float, second: float) -> None:
    """Exactly, over all that may come: nineteen times of twenty. The first three were held 91 times of a hundred."""
    held = 0.0
    for lost in range(total + 1):
        gained = np.arange(total + 1 - lost)
        cells = np.column_stack([np.full(len(gained), lost), gained, total - lost - gained])
        likely = multinomial.pmf(cells, total, [first, second, 1.0 - first - second])
        for k in np.flatnonzero(likely > 1e-7):
            lower, upper = difference_interval(lost, int(gained[k]), total)
            held += float(likely[k]) * (lower <= second - first <= upper)
    assert held > 0.94


def test_sides_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="1 and 2 cases"):
        paired_difference([True], [True, False])


@given(st.integers(1, 60), st.data(), st.sampled_from([0.1, 0.5, 0.8, 0.95]))
def test_as_many_episodes_as_are_asked_for_do_tell(total: int, data: st.DataObject, at_least: float) -> None:
    """The number in the message is right: with it the bound is outside the interval, with fewer it is inside."""
    successes = data.draw(st.integers(0, total))
    doubt = doubt_of(wilson(successes, total), at_least)
    needed = re.search(r"same rate (\d+) episodes", doubt)
    assert bool(doubt) == (wilson(successes, total).lower < at_least)
    if needed:
        many = int(needed[1])
        assert many > total
        scaled = wilson(successes * 1000, total * 1000).rate
        z = 1.959963984540054
        assert abs(scaled - at_least) >= z * (at_least * (1 - at_least) / many) ** 0.5 - 1e-12
        assert abs(scaled - at_least) < z * (at_least * (1 - at_least) / (many - 1)) ** 0.5
