"""Paired differences: known cases, symmetry, and an interval that holds its difference."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendon.evaluation.statistics import doubt_of, paired_difference, wilson

CASES = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=300)


@given(CASES)
def test_the_interval_holds_the_difference_and_turns_around_with_the_two(pairs: list[tuple[bool, bool]]) -> None:
    first, second = map(list, zip(*pairs, strict=True))
    found, turned = paired_difference(first, second), paired_difference(second, first)
    assert found.lower <= found.difference * len(pairs) / (len(pairs) + 2) + 1e-12
    assert found.upper >= found.difference * len(pairs) / (len(pairs) + 2) - 1e-12
    assert (found.lower, found.upper) == pytest.approx((-turned.upper, -turned.lower))
    assert found.both + found.first + found.second + found.neither == len(pairs)


def test_a_known_case() -> None:
    """240 pairs of which 10 were lost and 4 gained: -6 of 242, by hand."""
    pairs = [(True, False)] * 10 + [(False, True)] * 4 + [(True, True)] * 220 + [(False, False)] * 6
    found = paired_difference(*(list(side) for side in zip(*pairs, strict=True)))
    assert found.difference == pytest.approx(-6 / 240)
    half = 1.959964 * (15 - 36 / 242) ** 0.5 / 242
    assert (found.lower, found.upper) == pytest.approx((-6 / 242 - half, -6 / 242 + half), abs=1e-6)


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
