"""Joint states that are missing by their numbers, and for how long: the way of commands was out as long."""

from __future__ import annotations

import pytest

from tendon.control.state_losses import LOSSY_NS, StateLosses
from tests.control.robot_side import MS, OLDEST_NS, PERIOD_NS


def losses(*ticks: list[tuple[int, float]]) -> StateLosses:
    """Returns them after ticks in which joint states came, each a number and when it was sent [ms]."""
    made = StateLosses(OLDEST_NS, PERIOD_NS, most=20)
    for states in ticks:
        for number, sent_ms in states:
            made.came(number, round(sent_ms * MS), round(sent_ms * MS))
        made.look(made._came_ns, on_time=True)
    return made


def interrupted(every_ms: float, begin_ms: float, out_ms: float) -> bool:
    """Returns whether one was seen where those of an outage are lost, of states that are sent so often."""
    sent = [(k, k * every_ms) for k in range(1, 400)]
    came = [(number, at) for number, at in sent if not begin_ms <= at < begin_ms + out_ms]
    ticks = [[each for each in came if tick <= each[1] < tick + 10] for tick in range(0, 200, 10)]
    return any(losses(*ticks[: k + 1]).interrupted for k in range(len(ticks)))


@pytest.mark.parametrize("every_ms", [1, 2, 4, 5, 8, 10, 12.5])
@pytest.mark.parametrize("begin_ms", [100.1, 103.7, 109.9])
@pytest.mark.parametrize("out_ms", [20.1, 35])
def test_an_outage_of_more_than_two_periods_is_seen_at_any_rate(
    every_ms: float, begin_ms: float, out_ms: float
) -> None:
    assert interrupted(every_ms, begin_ms, out_ms)


@pytest.mark.parametrize("every_ms", [1, 2, 4, 5, 8, 10])
@pytest.mark.parametrize("begin_ms", [100.1, 103.7, 109.9])
def test_a_short_one_is_none(every_ms: float, begin_ms: float) -> None:
    assert not interrupted(every_ms, begin_ms, 5)


@pytest.mark.parametrize(("silent_ms", "interrupted"), [(14.4, False), (14.5, True)])
def test_an_outage_counts_before_the_next_one_has_come(silent_ms: float, interrupted: bool) -> None:
    """Of 500 Hz: the next command would be the first to come, where it takes less than the next joint state."""
    made = losses([(k, 2.0 * k) for k in range(5)])
    made.look(round((8.0 + silent_ms) * MS), on_time=False)
    assert made.interrupted is interrupted


def test_after_the_age_that_they_may_have_some_count_as_lost_for_a_late_loop_too() -> None:
    made = losses([(1, 0.0)])
    made.look(40 * MS, on_time=False)
    assert not made.lossy(40 * MS)
    made.look(40 * MS + 1, on_time=False)
    assert made.lossy(40 * MS + 1)


def test_it_is_said_once() -> None:
    assert losses([(1, 0.0)], [(4, 30.0)]).interrupted
    assert not losses([(1, 0.0)], [(4, 30.0)], [(5, 40.0)]).interrupted


@pytest.mark.parametrize(
    "ticks",
    [
        [[(1, 0.0)], [(2, 60.0)]],  # a driver that paused
        [[(1, 0.0)], [(n, 40.0 + n) for n in range(20, 40)]],  # a loop that did not look: the queue dropped some
        [[(400, 0.0)], [(7, 1.0)], [(404, 40.0)]],  # two publishers
    ],
)
def test_what_was_not_lost_on_its_way_is_no_outage(ticks: list[list[tuple[int, float]]]) -> None:
    made = losses(*ticks)
    assert not made.interrupted and not made.lossy(made._came_ns)


def test_where_they_are_not_counted_a_gap_counts_and_is_no_loss() -> None:
    made = losses([(0, 0.0)], [(0, 10.0)], [(0, 32.6)])
    assert made.interrupted and not made.lossy(made._came_ns)
    assert not losses([(0, 0.0)], [(0, 10.0)], [(0, 32.4)]).interrupted


def test_a_way_that_loses_does_so_for_a_while() -> None:
    made = losses([(1, 0.0)], [(3, 20.0)])
    assert not made.interrupted
    assert made.lossy(20 * MS + LOSSY_NS - 1) and not made.lossy(20 * MS + LOSSY_NS)
