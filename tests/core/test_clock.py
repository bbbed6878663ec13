"""The laws of a clock, held by every implementation."""

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendon.core.clock import AwakeClock, Clock, ManualClock, SteadyClock


@pytest.mark.parametrize("make", [SteadyClock, ManualClock])
class TestClockConformance:
    """What the control path relies on."""

    def test_time_never_goes_back(self, make: Callable[[], Clock]) -> None:
        clock = make()
        times = [clock.now_ns() for _ in range(100)]
        assert times == sorted(times)

    def test_after_a_sleep_the_deadline_has_passed(self, make: Callable[[], Clock]) -> None:
        clock = make()
        deadline_ns = clock.now_ns() + 3_000_000
        clock.sleep_until_ns(deadline_ns)
        assert clock.now_ns() >= deadline_ns

    def test_a_deadline_in_the_past_returns_at_once_and_moves_nothing(self, make: Callable[[], Clock]) -> None:
        clock = make()
        before_ns = clock.now_ns()
        started = time.monotonic()
        clock.sleep_until_ns(before_ns - 3_600_000_000_000)
        assert time.monotonic() - started < 1.0
        assert clock.now_ns() >= before_ns


def test_a_steady_clock_is_the_machines_monotonic_one() -> None:
    """Stamps of two processes of one machine can be compared."""
    low, now, high = time.monotonic_ns(), SteadyClock().now_ns(), time.monotonic_ns()
    assert low <= now <= high


@given(st.integers(0, 10**15), st.lists(st.integers(0, 10**9)))
def test_a_manual_clock_stands_still_but_for_its_steps(start_ns: int, steps: list[int]) -> None:
    """Its time is the start and the sum of the steps, exactly."""
    clock = ManualClock(start_ns)
    for step_ns in steps:
        clock.advance_ns(step_ns)
    assert clock.now_ns() == start_ns + sum(steps)


@given(st.integers(0, 10**15), st.lists(st.integers(0, 10**15)))
def test_waiting_on_a_manual_clock_is_what_makes_time_pass(start_ns: int, deadlines: list[int]) -> None:
    """After any sleeps it shows the latest deadline, or its start when all were past."""
    clock = ManualClock(start_ns)
    for deadline_ns in deadlines:
        clock.sleep_until_ns(deadline_ns)
    assert clock.now_ns() == max([start_ns, *deadlines])


def test_a_manual_clock_does_not_go_back() -> None:
    """A negative step is an error that changes nothing."""
    clock = ManualClock(5)
    with pytest.raises(ValueError, match="does not go back"):
        clock.advance_ns(-1)
    assert clock.now_ns() == 5


class TestAwakeClock:
    """A process that was held up counts only what it could have noticed."""

    def make(self) -> tuple[ManualClock, AwakeClock]:
        other = ManualClock(1_000_000_000)
        return other, AwakeClock(other, period_ns=20_000_000, allowed_ns=45_000_000, longest_ns=2_500_000_000)

    def test_it_goes_like_the_other_clock_while_it_is_looked_at(self) -> None:
        other, awake = self.make()
        for _ in range(100):
            other.advance_ns(45_000_000)
            assert awake.now_ns() == other.now_ns()
        assert awake.sleeps(0) == ()

    def test_a_sleep_counts_as_one_period_and_is_remembered_with_its_length(self) -> None:
        other, awake = self.make()
        before_ns = awake.now_ns()
        other.advance_ns(250_000_000)
        assert awake.now_ns() - before_ns == 20_000_000
        (sleep,) = awake.sleeps(before_ns)
        assert sleep.end_ns - sleep.begin_ns == 250_000_000
        assert awake.sleeps(sleep.end_ns + 1) == ()

    def test_a_sleep_that_is_too_long_is_not_forgiven(self) -> None:
        other, awake = self.make()
        before_ns = awake.now_ns()
        other.advance_ns(2_600_000_000)
        assert awake.now_ns() - before_ns == 2_600_000_000

    def test_a_clock_that_starts_at_zero_has_not_slept(self) -> None:
        other = ManualClock()
        awake = AwakeClock(other, period_ns=20_000_000, allowed_ns=45_000_000, longest_ns=2_500_000_000)
        other.advance_ns(1_000_000_000)
        assert awake.now_ns() == 1_000_000_000

    def test_a_clock_that_goes_back_stands_still_for_whoever_measures_ages(self) -> None:
        other, awake = self.make()
        before_ns = awake.now_ns()
        other.advance_ns(3_600_000_000_000)
        assert awake.now_ns() - before_ns == 3_600_000_000_000
        other._now_ns = before_ns
        assert awake.now_ns() - before_ns == 3_600_000_000_000
        other.advance_ns(20_000_000)
        assert awake.now_ns() - before_ns == 3_600_020_000_000
