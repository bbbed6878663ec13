"""A process follows one publisher of simulated time: what jumps is somebody else's, until that one is silent."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tendon.core.time_follower import SILENCE_NS, TimeFollower

START_NS, TICK_NS, HOUR_NS = 1_700_000_000_000_000_000, 10_000_000, 3_600_000_000_000


class Hearing:
    """A follower and the wall clock it looks at."""

    def __init__(self) -> None:
        self.wall_ns = 5_000_000_000
        self.follower = TimeFollower(lambda: self.wall_ns)
        assert self.follower.now_ns == 0

    def hear(self, stamp_ns: int, after_ns: int = TICK_NS) -> bool:
        self.wall_ns += after_ns
        return self.follower.hear(stamp_ns)


@given(st.lists(st.integers(-(2**31) * 10**9, 2**31 * 10**9)))
def test_no_message_that_jumps_moves_the_time_of_the_publisher_that_goes_on(strays: list[int]) -> None:
    hearing, now_ns = Hearing(), START_NS
    assert hearing.hear(now_ns)
    for stray_ns in strays:
        if abs(stray_ns - now_ns) > 10_000_000_000:
            assert not hearing.hear(stray_ns)
            assert hearing.follower.take_stray()
        now_ns += TICK_NS
        assert hearing.hear(now_ns)
        assert hearing.follower.now_ns == now_ns
        assert not hearing.follower.take_stray()


def test_a_stray_time_is_told_once_with_its_distance() -> None:
    hearing = Hearing()
    hearing.hear(START_NS)
    assert not hearing.hear(START_NS + HOUR_NS)
    assert hearing.follower.take_stray().startswith("a time +3600.000 s from now: ")
    assert hearing.follower.take_stray() == ""


def test_a_time_that_is_none_is_refused_even_as_the_first() -> None:
    hearing = Hearing()
    for stamp_ns in (0, -5_000_000_000):
        assert not hearing.hear(stamp_ns, SILENCE_NS)
    assert hearing.follower.now_ns == 0


def test_one_message_is_not_enough_to_be_followed_however_long_the_other_is_silent() -> None:
    hearing = Hearing()
    hearing.hear(START_NS)
    assert not hearing.hear(START_NS + HOUR_NS, after_ns=60_000_000_000)
    assert hearing.hear(START_NS + TICK_NS)


def test_who_is_heard_alone_for_long_enough_is_followed_also_back_in_time() -> None:
    for step_ns in (-HOUR_NS, HOUR_NS):
        hearing = Hearing()
        hearing.hear(START_NS)
        times = [START_NS + step_ns + k * TICK_NS for k in range(2 * SILENCE_NS // TICK_NS)]
        followed = [hearing.hear(time_ns) for time_ns in times]
        assert followed.index(True) == SILENCE_NS // TICK_NS
        assert all(followed[followed.index(True) :])


def test_a_process_that_was_held_up_follows_at_once() -> None:
    hearing = Hearing()
    hearing.hear(START_NS)
    assert hearing.hear(START_NS + 60_000_000_000, after_ns=60_000_000_000)
