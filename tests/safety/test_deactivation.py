"""Controllers become inactive after a latch, but not while the verified stop is played."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from tendon.robots.profile import load_profile
from tendon.safety.deactivation import MARGIN_NS, REACTION_NS, REST_NS, Deactivation
from tendon.safety.laws import longest_stop_ns

PROFILE = load_profile("ur5e")
TICK_NS, START_NS = 10_000_000, 5_000_000_000
LONGEST_NS = longest_stop_ns(PROFILE) + MARGIN_NS


def look(needed: Deactivation, at_rest: bool | None, breaches: int, now_ns: int) -> str:
    """One tick after the latch; `None` is a tick without a joint state."""
    if at_rest is not None:
        needed.measured(at_rest, now_ns)
    needed.latched(breaches, now_ns)
    return needed.reason


@given(st.lists(st.sampled_from([True, False, None]), min_size=1, max_size=round(LONGEST_NS / TICK_NS) + 20))
def test_no_stop_is_cut_and_none_is_waited_for_longer_than_stated(rests: list[bool | None]) -> None:
    """Whatever is measured: inactive only after rest without a break, or the time of the longest stop."""
    needed = Deactivation(PROFILE)
    measured = []
    for k, at_rest in enumerate(rests):
        now_ns = START_NS + k * TICK_NS
        measured += [] if at_rest is None else [(now_ns, at_rest)]
        reason = look(needed, at_rest, 0, now_ns)
        moved_ns = max([at_ns for at_ns, still in measured if not still], default=START_NS)
        later_ns = [at_ns for at_ns, still in measured if still and at_ns >= moved_ns]
        rested = bool(later_ns) and later_ns[-1] - later_ns[0] >= REST_NS
        overdue = now_ns - START_NS > LONGEST_NS
        if reason:
            assert rested or overdue
            return
        assert not rested and not overdue


def test_one_that_is_not_latched_is_left_alone() -> None:
    needed = Deactivation(PROFILE)
    for k in range(1000):
        needed.measured(True, START_NS + k * TICK_NS)
    assert not needed.reason


def test_a_robot_that_stood_before_the_latch_is_waited_for_too() -> None:
    """It may just have begun to move, too slowly to be measured yet."""
    needed = Deactivation(PROFILE)
    needed.measured(True, START_NS - REST_NS)
    assert not look(needed, True, 0, START_NS)
    assert look(needed, True, 0, START_NS + REST_NS)


@pytest.mark.parametrize("joints", [True, False], ids=["moving", "without joint states"])
def test_a_command_against_the_laws_ends_the_wait(joints: bool) -> None:
    """Not those of the moment of the latch: the first commands of the control node's own stop may break a law."""
    needed, at_rest = Deactivation(PROFILE), False if joints else None
    assert not look(needed, at_rest, 7, START_NS)
    assert not look(needed, at_rest, 9, START_NS + REACTION_NS - 1)
    assert not look(needed, at_rest, 9, START_NS + REACTION_NS + TICK_NS)
    assert look(needed, at_rest, 10, START_NS + REACTION_NS + 2 * TICK_NS)


def test_arming_begins_anew() -> None:
    needed = Deactivation(PROFILE)
    assert not look(needed, None, 0, START_NS) and look(needed, None, 0, START_NS + LONGEST_NS + 1)
    needed.armed()
    assert not needed.reason
    assert not look(needed, None, 5, START_NS + 2 * LONGEST_NS)
    needed.refused()
    assert needed.reason


def test_the_way_back_of_a_robot_that_is_held_is_not_cut() -> None:
    """It is measured at rest since it met something, and its setpoint is still on the way to it."""
    needed = Deactivation(PROFILE)
    needed.commanded(START_NS + 2 * REST_NS)
    assert not look(needed, True, 0, START_NS)
    assert not look(needed, True, 0, START_NS + 2 * REST_NS - 1)
    assert look(needed, True, 0, START_NS + 2 * REST_NS) == "the robot has come to rest"
    rogue = Deactivation(PROFILE)
    assert not look(rogue, True, 0, START_NS)
    rogue.commanded(START_NS + 10 * LONGEST_NS)
    assert look(rogue, True, 0, START_NS + LONGEST_NS + 1), "however long commands are said to last"
