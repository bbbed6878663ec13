"""Acknowledgements of commands, and what they do not tell."""

from __future__ import annotations

from typing import Any

import pytest

from tendon.control.state_losses import StateLosses
from tendon.ros2_nodes.base.message_info import MessageInfo
from tendon.ros2_nodes.control.link import Link

LIFESPAN_NS, OLDEST_NS, PERIOD_NS, MS = 60_000_000, 40_000_000, 10_000_000, 1_000_000


class Clock:
    """In place of the module `time`: it stands until it is told."""

    def __init__(self) -> None:
        self.now_ns = 10**12

    def monotonic_ns(self) -> int:
        return self.now_ns

    def time_ns(self) -> int:
        return self.now_ns


CLOCK = Clock()


@pytest.fixture(autouse=True)
def _standing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tendon.ros2_nodes.control.link.time", CLOCK)


class Answering:
    """A publisher whose middleware answers."""

    def __init__(self, answer: bool | Exception) -> None:
        self.answer = answer
        self.sent: list[bytes] = []

    def publish(self, data: bytes) -> None:
        self.sent.append(data)

    def wait_for_all_acked(self, _: Any) -> bool:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def link(
    *answers: bool | Exception, lifespan_ns: int = LIFESPAN_NS, acknowledged: bool = True
) -> tuple[Link, list[Any]]:
    publishers: list[Any] = [Answering(answer) for answer in answers]
    losses = StateLosses(OLDEST_NS, PERIOD_NS, most=20)
    return Link(publishers, lifespan_ns, losses, lambda: acknowledged), publishers


def info(number: int = 0, ago_ms: int = 0) -> MessageInfo:
    return MessageInfo(sent_ns=0, received_ns=CLOCK.now_ns - ago_ms * MS, number=number)


def silence(made: Link, for_ms: int) -> None:
    """Lets a tick pass for so long after the last joint state came."""
    made.came(info(ago_ms=for_ms))
    made.heard(on_time=True)


def sent(made: Link, publishers: list[Any], last: bool = False) -> list[list[bytes]]:
    """Returns what each publisher is given when commands are sent, and what in the two ticks after it."""
    made.send([(each, b"command") for each in publishers], last)
    first = [len(each.sent) for each in publishers]
    made.repeat()
    made.repeat()
    made.repeat()
    return [[number, len(each.sent) - number] for number, each in zip(first, publishers, strict=True)]


def test_all_listeners_of_all_commands_have_to_have_them() -> None:
    for answers in ((True, True), (True, False), (False, True)):
        made, publishers = link(*answers)
        assert sent(made, publishers) == [[1, 0], [1, 0]]
        assert made.arrived() == all(answers)


def test_what_has_expired_counts_for_nothing() -> None:
    """Fast DDS says that all is acknowledged when it has forgotten what was not."""
    made, publishers = link(True)
    silence(made, 16)
    assert sent(made, publishers) == [[2, 0]], "nobody can be asked of a first command"
    assert made.arrived()
    publishers[0].sent.clear()
    assert sent(made, publishers) == [[1, 0]]
    CLOCK.now_ns += 60 * MS
    assert not made.arrived()


def test_where_nothing_is_lost_a_late_tick_is_no_doubt() -> None:
    made, publishers = link(False)
    silence(made, 14)
    assert sent(made, publishers) == [[1, 0]]
    CLOCK.now_ns += 60 * MS
    assert made.arrived()


def test_where_joint_states_are_lost_what_is_not_acknowledged_is_followed_by_two() -> None:
    made, publishers = link(False)
    silence(made, 16)
    made.send([(publishers[0], b"command")])
    publishers[0].sent.clear()
    assert sent(made, publishers) == [[2, 0]]


def test_a_middleware_that_cannot_say_is_believed_until_joint_states_do_not_come() -> None:
    made, publishers = link(RuntimeError("unsupported"))
    assert sent(made, publishers) == [[1, 0]] and made.arrived()
    silence(made, 16)
    publishers[0].sent.clear()
    assert sent(made, publishers) == [[2, 0]] and not made.arrived()


def test_a_robot_side_that_acknowledges_nothing_is_believed_until_joint_states_do_not_come() -> None:
    """As joint_trajectory_controller, which listens best-effort: others have acknowledged all."""
    made, publishers = link(True, acknowledged=False)
    assert sent(made, publishers) == [[1, 0]] and made.arrived()
    silence(made, 16)
    publishers[0].sent.clear()
    assert sent(made, publishers) == [[2, 0]] and not made.arrived()


@pytest.mark.parametrize(
    ("ticks", "lossy"),
    [
        ([[1], [2], [3]], False),
        ([[1], [3]], True),  # 100 Hz
        ([[1, 2], [3, 4], [6, 7]], True),  # 200 Hz
        ([[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]], False),  # 500 Hz
        ([[1, 2, 3, 4, 5], [6, 7, 9, 10]], True),
        ([[1], [], [3]], True),
        ([[1], list(range(15, 35))], False),  # so many came that the queue has dropped some
        ([[400], [7], [401], [8], [402]], False),  # two publishers
        ([[1004], [1001], [1005], [1002], [1006]], False),
        ([[500], [1], [2]], False),  # it was started again
        ([[0], [0], []], False),  # a middleware that does not count
    ],
)
def test_a_joint_state_that_is_lost_is_noticed_at_any_rate(ticks: list[list[int]], lossy: bool) -> None:
    made, _ = link(True, acknowledged=False)
    for numbers in [[0], *ticks]:
        for number in numbers:
            made.came(info(number))
        made.heard(on_time=False)
    assert made.arrived() is not lossy


def test_how_old_the_stamps_of_joint_states_are_and_a_late_tick_tell_of_no_loss() -> None:
    made, _ = link(False, acknowledged=False)
    made.came(info(1, ago_ms=39))
    made.heard(on_time=False)
    made.came(info(2))
    made.heard(on_time=True)
    assert made.arrived()


def test_what_nothing_follows_is_sent_three_times() -> None:
    made, publishers = link(True)
    assert sent(made, publishers, last=True) == [[1, 2]]
    made.send([(publishers[0], b"command")], last=True)
    made.send([(publishers[0], b"another")])
    publishers[0].sent.clear()
    made.repeat()
    assert not publishers[0].sent, "another followed"


def test_in_simulated_time_nothing_is_asked_and_nothing_sent_again() -> None:
    made, publishers = link(False, lifespan_ns=0)
    silence(made, 1000)
    assert sent(made, publishers, last=True) == [[1, 0]]
    assert made.arrived()
