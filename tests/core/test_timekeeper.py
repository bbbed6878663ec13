"""Simulated time waits for whoever is at work, for nobody who cannot answer; a pause of the host costs nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from tendon.core.timekeeper import Life, Timekeeper, life

TICK_NS = 10_000_000
START_NS = 1_000_000_000_000


class Wall:
    """A wall clock that goes on by a slice at every look."""

    def __init__(self, step_ns: int = 5_000_000) -> None:
        self.now_ns, self.step_ns = 0, step_ns

    def __call__(self) -> int:
        self.now_ns += self.step_ns
        return self.now_ns


def keeper(lives: dict[int, Life] | None = None, wall: Wall | None = None, speed: float = 0.0) -> Timekeeper:
    known = lives or {}
    return Timekeeper(START_NS, TICK_NS, speed, wall or Wall(), lambda _, pid: known.get(pid, Life.ALIVE))


def test_without_anybody_time_goes_on() -> None:
    time_ = keeper()
    assert time_.advance() == START_NS + TICK_NS
    assert time_.wait(0.0)


def test_time_waits_for_whoever_has_taken_part_once() -> None:
    time_ = keeper()
    time_.done("control_node", 7, START_NS)
    now_ns = time_.advance()
    assert not time_.wait(0.0)
    time_.done("control_node", 7, now_ns)
    assert time_.wait(0.0)


def test_time_waits_for_the_commands_that_were_announced_but_not_for_ever() -> None:
    time_ = keeper(wall=Wall(20_000_000))
    now_ns = time_.advance()
    time_.done("control_node", 7, now_ns, commands=2)
    time_.commanded(now_ns)
    assert not time_.wait(0.01)
    time_.commanded(now_ns)
    assert time_.wait(0.01)
    now_ns = time_.advance()
    time_.done("control_node", 7, now_ns, commands=1)
    assert next(k for k in range(100_000) if time_.wait(0.01)) > 10
    assert time_.lost_commands == 1


@pytest.mark.parametrize("state", list(Life))
def test_one_that_cannot_answer_is_given_up_after_what_its_state_deserves(state: Life) -> None:
    wall, lives = Wall(20_000_000), {7: Life.ALIVE}
    time_ = keeper(lives, wall)
    time_.done("policy_node", 7, START_NS)
    time_.advance()
    lives[7] = state
    begin_ns = wall.now_ns
    while not time_.wait(0.01):
        assert wall.now_ns - begin_ns < 60e9, "waits for ever"
    assert (wall.now_ns - begin_ns) * 1e-9 >= state.value
    assert time_.absent() == f"policy_node (process 7: {state.name.lower()})"
    time_.done("policy_node", 8, time_.now_ns)
    assert time_.absent() == ""


def test_a_process_that_is_no_node_of_that_name_is_named_and_never_waited_for() -> None:
    """The node that has the name is waited for as before."""
    time_ = keeper({1: Life.GONE})
    time_.done("control_node", 7, START_NS)
    now_ns = time_.advance()
    time_.done("control_node", 7, now_ns)
    for stamp_ns in (0, START_NS, now_ns):
        time_.done("control_node", 1, stamp_ns, commands=5)
        assert time_.wait(0.0)
    assert time_.absent() == "control_node (process 1: gone)"
    time_.advance()
    time_.done("control_node", 1, time_.now_ns)
    assert not time_.wait(0.0), "another process answered for it"


def test_nobody_takes_a_word_back_or_has_done_what_is_due_later() -> None:
    time_ = keeper()
    time_.done("control_node", 7, START_NS)
    now_ns = time_.advance()
    time_.done("control_node", 7, now_ns + TICK_NS)
    assert not time_.wait(0.0)
    time_.done("control_node", 7, now_ns)
    time_.done("control_node", 7, START_NS)
    assert time_.wait(0.0)


def test_many_that_are_none_of_its_nodes_take_no_memory() -> None:
    time_ = keeper(dict.fromkeys(range(1000), Life.GONE))
    for pid in range(1000):
        time_.done("nobody", pid, START_NS)
    assert time_.absent().count("nobody") < 20


def test_one_that_says_that_it_works_is_waited_for() -> None:
    wall = Wall(20_000_000)
    time_ = keeper({}, wall)
    time_.done("policy_node", 7, START_NS)
    now_ns = time_.advance()
    for _ in range(600):
        time_.done("policy_node", 7, now_ns - 1)
        assert not time_.wait(0.01)
    assert time_.absent() == ""  # for longer than the patience with one that lives


def test_a_host_that_stands_still_uses_nobody_s_patience_up() -> None:
    """A slice counts for twice its length at most, however long this process itself was held up in it."""
    time_ = keeper({}, Wall(step_ns=2_000_000_000))
    time_.done("control_node", 7, START_NS)
    time_.advance()
    for _ in range(100):
        assert not time_.wait(0.01)
    assert time_.absent() == ""


def test_time_goes_no_faster_than_it_may_and_makes_up_for_little() -> None:
    time_ = Timekeeper(START_NS, TICK_NS, speed=1.0)
    begin = time.monotonic()
    for _ in range(20):
        time_.advance()
        while not time_.wait(0.02):
            pass
    assert time.monotonic() - begin >= 0.2 - 0.03
    assert 0.0 < time_.real_time_factor <= 1.2


def test_the_process_table_tells_the_living_from_the_stopped_and_the_dead() -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", "lib/tendon/some_node"])
    try:
        while life("some_node", child.pid) is not Life.ALIVE:  # until it has become that program
            time.sleep(0.001)
        assert life("other_node", child.pid) is Life.GONE
        assert life("some_node", 1) is Life.GONE
        os.kill(child.pid, 19)
        while life("some_node", child.pid) is not Life.STOPPED:
            time.sleep(0.001)
        child.kill()
        deadline = time.monotonic() + 10.0
        while life("some_node", child.pid) is not Life.GONE:  # nobody has waited for it: a zombie
            assert time.monotonic() < deadline
            time.sleep(0.001)
    finally:
        child.kill()
        child.wait()
    assert life("some_node", child.pid) is Life.GONE
