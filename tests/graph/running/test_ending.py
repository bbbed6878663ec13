"""What asks a process to end: a terminal that is closed does, unless `nohup` was before it."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from tendon.graph.running.ending import END_REQUESTS, on_end_request


@pytest.fixture(autouse=True)
def handlers_are_put_back() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in END_REQUESTS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_each_request_is_heard_and_what_was_before_is_told(number: signal.Signals) -> None:
    signal.signal(number, signal.SIG_DFL)
    heard: list[int] = []
    before = on_end_request(lambda number, _: heard.append(number))
    signal.raise_signal(number)  # to this thread: one to the process may be heard later than the next line
    assert heard == [number]
    assert before[number] is signal.SIG_DFL


def test_under_nohup_a_terminal_may_be_closed() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    heard: list[int] = []
    on_end_request(lambda number, _: heard.append(number))
    signal.raise_signal(signal.SIGHUP)
    assert not heard
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
