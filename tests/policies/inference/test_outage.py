"""An outage is told of when it begins, rarely while it lasts, and when it is over; nothing else is."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tendon.core.errors import InvalidDataError, RemoteError
from tendon.core.phrases import without_numbers
from tendon.policies.inference.outage import MAX_PHRASES, Outage
from tendon.policies.remote.transport.backoff import WaitingError

GONE = RemoteError("policy server ws://a:1 is out of reach: refused")


def texts(outage: Outage, failures: Iterable[tuple[float, Exception]]) -> list[str]:
    """Returns the texts in turn, each as often as it was changed to."""
    said: list[str] = []
    for now_s, error in failures:
        text = outage.failed(error, now_s)
        assert text == outage.text
        if not said or text != said[-1]:
            said.append(text)
    return said


def test_a_dead_server_is_told_of_once_and_rarely_again() -> None:
    """An hour at five failures a second, most of them a wait with another number in it: 8 texts."""
    waits = (
        (0.2 * k, GONE if k % 10 == 0 else WaitingError(f"{GONE}; the next attempt is in {k % 7 / 10} s"))
        for k in range(5 * 3600)
    )
    said = texts(Outage(), waits)
    now = "the robot stops at the end of its plan; the server is asked again within 2 s"
    assert said[0] == f"inference failed: {GONE}; {now}"
    assert said[1].startswith(f"inference failed for 30 s (151 times): {GONE}; the robot stops")
    after_s = [float(text.split(" s (")[0].rpartition(" ")[2]) for text in said[1:]]
    assert after_s == [30, 120, 600, 1200, 1800, 2400, 3000]


def test_reasons_in_turn_and_other_numbers_are_no_news() -> None:
    """A new reason is."""
    reasons = [GONE, RemoteError("late by 1 s"), RemoteError("late by 2.5 s"), GONE, InvalidDataError("-1e-3")]
    said = texts(Outage(), [(0.1 * k, reasons[k % 5]) for k in range(100)])
    assert [text.split(": ", 1)[1].split(";")[0] for text in said] == [str(GONE), "late by 1 s", "-1e-3"]


def test_reasons_without_end_end() -> None:
    """Such as names that a broken server makes up."""
    said = texts(Outage(), [(0.01 * k, RemoteError("a" * k)) for k in range(1, 500)])
    assert len(said) == MAX_PHRASES


def test_it_is_back_when_it_stays_back() -> None:
    """Once, with the time it was away; one good answer among bad ones is not it."""
    outage = Outage()
    assert outage.succeeded(0.0) == ""
    for k in range(10):
        outage.failed(GONE, 10.0 + k)
        assert outage.succeeded(10.5 + k) == ""
        assert outage.text
    assert outage.succeeded(20.0) == f"inference is back after 10.0 s (10 failed): {GONE}"
    assert outage.text == ""
    assert outage.succeeded(21.0) == ""
    assert outage.failed(GONE, 22.0).startswith("inference failed: ")


@pytest.mark.parametrize("error", [InvalidDataError("actions are not finite"), ValueError("broken")])
def test_a_failure_here_speaks_of_no_server(error: Exception) -> None:
    """A bundle's own."""
    assert Outage().failed(error, 0.0) == f"inference failed: {error}; the robot stops at the end of its plan"


def test_other_numbers_are_the_same_words() -> None:
    """Which is what a node logs by."""
    assert without_numbers("takes 760 ms, hold above 0.7 s, 1e-3") == without_numbers("takes 74 ms, hold above -1 s, 2")
    assert without_numbers("camera a") != without_numbers("camera b")
