"""Output that nobody reads any more stops nobody: the robot is to be stopped, whether its terminal is there or not."""

from __future__ import annotations

import os
import pty
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console
from rich.live import Live

from tendon.cli.terminal import lasting_output


def broken_pipe() -> int:
    reader, writer = os.pipe()
    os.close(reader)
    return writer


def closed_terminal() -> int:
    master, slave = pty.openpty()
    os.close(master)
    return slave


@pytest.mark.parametrize("gone", [broken_pipe, closed_terminal])
def test_a_reader_that_is_gone_costs_lines_and_nothing_else(
    gone: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    with open(gone(), "w") as stream:  # noqa: PTH123 - it is no path; closing it writes what waits
        monkeypatch.setattr(sys, "stdout", stream)
        monkeypatch.setattr(sys, "stderr", stream)
        with lasting_output():
            for _ in range(3):
                print("the robot is at rest", flush=True)
            print("the robot is at rest", file=sys.stderr)
            with Live("a picture", console=Console(force_terminal=True), screen=True) as live:
                live.update("another", refresh=True)
            print("what waits in a buffer")
        assert sys.stdout is stream


def test_a_full_disk_costs_what_was_written_then(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OSError, match="No space left"), Path("/dev/full").open("w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        with lasting_output():
            print("the robot is at rest", flush=True)
        print("what is written afterwards", flush=True)


def test_what_is_read_arrives(capsys: pytest.CaptureFixture[str]) -> None:
    @lasting_output()
    def speak() -> bool:
        print("words", end="")
        return sys.stdout.isatty()

    assert not speak()
    assert capsys.readouterr().out == "words"
