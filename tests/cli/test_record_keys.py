"""`tendon record keys` on a pty: each key that is typed does what it says, however fast they come."""

from __future__ import annotations

import os
import pty
import sys
import termios
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tendon.cli.keys import Keys
from tendon.commands.record import keys as record_keys
from tendon.core.errors import ConfigError
from tendon.graph import topics


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> int:
    master, slave = pty.openpty()
    monkeypatch.setattr(sys, "stdin", os.fdopen(slave, encoding="utf-8"))
    return master


def test_keys_that_come_together_are_all_done_and_the_terminal_is_given_back(
    typed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    monkeypatch.setattr(record_keys, "call", lambda operator, service: done.append(service) or "done")
    before = termios.tcgetattr(sys.stdin)
    listening, waiting = Keys(), [b" sfdq"]

    def newest(kind: object) -> None:
        """Asked at each look: somebody types once it listens."""
        if waiting:
            os.write(typed, waiting.pop())

    operator = cast(Any, SimpleNamespace(reports=SimpleNamespace(newest=newest)))
    record_keys._listen(operator, listening)
    assert done == [topics.RECORD_START, topics.RECORD_SUCCESS, topics.RECORD_FAILURE, topics.RECORD_DISCARD]
    assert termios.tcgetattr(sys.stdin) == before


def test_without_a_terminal_it_says_what_to_take(monkeypatch: pytest.MonkeyPatch) -> None:
    read, _ = os.pipe()
    monkeypatch.setattr(sys, "stdin", os.fdopen(read))
    with pytest.raises(ConfigError, match="run it in a terminal; in a script take tendon record start"):
        record_keys.command()
