"""Messages that never came, of topics on which one node publishes, or another one too."""

from __future__ import annotations

from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from tendon.ros2_nodes.recorder.losses import Losses


def one() -> int:
    return 1


@given(st.lists(st.integers(1, 5), min_size=1, max_size=50), st.integers(1, 10**6))
def test_of_one_publisher_each_that_is_missing_counts(steps: list[int], first: int) -> None:
    losses, number = Losses(), first
    assert losses.before(first, one) == 0, "what was sent before the recorder came is no loss"
    for step in steps:
        number += step
        assert losses.before(number, one) == step - 1


@given(st.data(), st.lists(st.integers(1, 10**6), min_size=2, max_size=4, unique=True))
def test_where_all_came_none_is_missing_whoever_sent_it(data: st.DataObject, firsts: list[int]) -> None:
    """A recording with two publishers of a topic counted thousands."""
    losses, numbers, here = Losses(), list(firsts), 1
    assert losses.before(numbers[0], lambda: 1) == 0
    for _ in range(data.draw(st.integers(1, 60))):
        who = data.draw(st.integers(0, min(here, len(firsts) - 1)))
        numbers[who] += who < here
        here = max(here, who + 1)
        assert losses.before(numbers[who], partial(int, here)) == 0


def test_a_node_that_was_restarted_counts_anew() -> None:
    losses = Losses()
    assert [losses.before(number, one) for number in (500, 501, 1, 2, 4)] == [0, 0, 0, 0, 1]


def test_what_is_lost_after_another_publisher_has_gone_counts() -> None:
    losses = Losses()
    assert [losses.before(number, lambda: 2) for number in (500, 1, 2, 501)] == [0, 0, 0, 0]
    assert [losses.before(number, one) for number in (502, 510)] == [0, 7]
