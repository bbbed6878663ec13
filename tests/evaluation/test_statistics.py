"""Paired differences: known cases, symmetry, and an interval that holds its difference."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendon.evaluation.statistics import paired_difference

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
