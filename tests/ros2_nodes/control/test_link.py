"""Acknowledgements of commands, and what they do not tell."""

from __future__ import annotations

import time
from typing import Any

from tendon.ros2_nodes.control.link import Link

LIFESPAN_NS, OLDEST_NS = 60_000_000, 40_000_000


class Answering:
    """A publisher whose middleware answers."""

    def __init__(self, answer: bool | Exception) -> None:
        self.answer = answer

    def wait_for_all_acked(self, _: Any) -> bool:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def link(*answers: bool | Exception, lifespan_ns: int = LIFESPAN_NS) -> Link:
    made: Any = [Answering(answer) for answer in answers]
    return Link(made, lifespan_ns, OLDEST_NS)


def test_all_listeners_of_all_commands_have_to_have_them() -> None:
    for answers in ((True, True), (True, False), (False, True)):
        made = link(*answers)
        made.sent()
        assert made.arrived() == all(answers)


def test_what_has_expired_counts_for_nothing() -> None:
    """Fast DDS says that all is acknowledged when it has forgotten what was not."""
    made = link(True)
    made.sent()
    made.heard(16_000_000)
    assert made.arrived() and not made.loses
    time.sleep(0.06)
    assert not made.arrived() and made.loses


def test_where_nothing_is_lost_a_late_tick_is_no_doubt() -> None:
    made = link(False)
    made.heard(14_000_000)
    made.sent()
    time.sleep(0.06)
    assert made.arrived() and not made.loses


def test_a_middleware_that_cannot_say_is_believed_until_joint_states_do_not_come() -> None:
    made = link(RuntimeError("unsupported"))
    made.sent()
    assert made.arrived() and not made.loses
    made.heard(16_000_000)
    made.sent()
    assert not made.arrived() and made.loses


def test_in_simulated_time_nothing_is_asked() -> None:
    made = link(False, lifespan_ns=0)
    made.heard(10**9)
    made.sent()
    assert made.arrived() and not made.loses
