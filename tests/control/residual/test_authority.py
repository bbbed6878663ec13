"""How much of a residual holds: no jump upward, and doubt lowers it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendon.control.residual.authority import FALL_S, RISE_S, Authority

PERIOD, FRESH = 10_000_000, 800_000_000
PERIOD_S = 1e-2
MOST_UP, MOST_DOWN = PERIOD_S / RISE_S, PERIOD_S / FALL_S


def run(authority: Authority, ticks: int, age_ns: int = 0, first: int = 1) -> float:
    for tick in range(first, first + ticks):
        authority.step(tick * PERIOD, age_ns)
    return authority.now


def test_it_ramps_in_and_is_whole_after_the_ramp() -> None:
    authority = Authority(PERIOD, FRESH)
    assert run(authority, 10) == pytest.approx(10 * MOST_UP)
    assert run(authority, 40, first=11) == pytest.approx(1.0)


def test_a_gap_begins_anew() -> None:
    authority = Authority(PERIOD, FRESH)
    run(authority, 100)
    assert run(authority, 1, first=200) == pytest.approx(MOST_UP)
    run(authority, 100, first=201)
    assert run(authority, 1, first=10) == pytest.approx(MOST_UP), "the clock went back"


@pytest.mark.parametrize(("age", "left"), [(FRESH, 1.0), (FRESH * 3 // 2, 0.5), (2 * FRESH, 0.0), (10 * FRESH, 0.0)])
def test_a_stale_observation_lowers_it(age: int, left: float) -> None:
    assert run(Authority(PERIOD, FRESH), 100, age) == pytest.approx(left)


def test_a_doubted_policy_and_a_withdrawn_residual_lower_it() -> None:
    authority = Authority(PERIOD, FRESH)
    authority.speed = 0.5
    assert run(authority, 100) == pytest.approx(0.5)
    authority.setting = 0.0
    assert run(authority, 20, first=101) == 0.0


@given(
    st.lists(
        st.tuples(
            st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**11), st.floats(allow_nan=False), st.floats(0, 1)
        ),
        max_size=60,
    )
)
def test_it_stays_within_0_and_1_and_changes_no_faster_than_its_ramps(
    steps: list[tuple[int, int, float, float]],
) -> None:
    authority, due = Authority(PERIOD, FRESH), 0
    for passed, age, setting, speed in steps:
        due += passed
        before, authority.setting, authority.speed = authority.now, setting, speed
        slope = authority.step(due, age)
        assert 0.0 <= authority.now <= 1.0
        passed_s = max(PERIOD_S, passed * 1e-9 if 0 < passed <= 3 * PERIOD else 0.0)
        assert authority.now <= before + passed_s / RISE_S + 1e-9
        assert -1 / FALL_S - 1e-6 <= slope <= 1 / RISE_S + 1e-6
