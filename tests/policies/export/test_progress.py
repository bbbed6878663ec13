"""Who waits for an export sees what it is at: stages with times, and that a long one goes on."""

from __future__ import annotations

import io
import re
import time

import pytest
from rich.console import Console

from tendon.policies.export.progress import Stages


def test_a_log_has_each_stage_once_and_is_told_that_a_long_one_goes_on() -> None:
    log = io.StringIO()
    with Stages(Console(file=log), remind_s=0.01) as stages:
        stages("[2/3] to ONNX")
        deadline = time.monotonic() + 60.0
        while "still at it" not in log.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
        stages.note("a note")
    lines = log.getvalue().splitlines()
    assert re.fullmatch(r" +\d+\.\d s  \[2/3\] to ONNX", lines[0])
    assert re.fullmatch(r" +\d+\.\d s  still at it for \d+ s: \[2/3\] to ONNX", lines[1])
    assert any(line.endswith("s  a note") for line in lines[2:]) and "\x1b" not in log.getvalue()


def test_a_terminal_shows_how_long_the_stage_takes_and_is_left_clean() -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100)
    with Stages(console) as stages:
        stages("to ONNX")
        deadline = time.monotonic() + 60.0
        while "to ONNX 0:00:0" not in _plain(screen) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert "to ONNX 0:00:0" in _plain(screen)
    assert screen.getvalue().rstrip().endswith("\x1b[2K")  # the live line is taken away


def test_an_error_ends_it(recwarn: pytest.WarningsRecorder) -> None:
    """No thread is left that would print into what comes after."""
    log = io.StringIO()
    with pytest.raises(ValueError, match="wrong"), Stages(Console(file=log), remind_s=0.01) as stages:
        stages("reading")
        raise ValueError("wrong")
    said = log.getvalue()
    time.sleep(0.05)
    assert log.getvalue() == said and not recwarn.list


def _plain(screen: io.StringIO) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.getvalue())
