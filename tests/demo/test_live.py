"""What the demo prints."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from tendon.core.modes import Mode
from tendon.core.node_status import LatencyReport, Level, MeterReport, NodeStatus
from tendon.demo.live import Display, closing, picture
from tendon.demo.measurements import measure
from tendon.demo.recording import Outcome, Recording
from tendon.demo.status import Status

LATENCY = LatencyReport(p50_ms=22.5, p99_ms=41.0, max_ms=50.0)
TICK, CHUNK = (MeterReport(rate_hz=rate_hz, drops=0, latency=LATENCY) for rate_hz in (100.0, 20.0))
SCENE = MeterReport(rate_hz=20.0, drops=0)
STATUSES = {
    "control_node": NodeStatus(
        node="control_node", level=Level.OK, text="running", meters={"tick": TICK, "chunk": CHUNK}
    ),
    "camera_node": NodeStatus(node="camera_node", level=Level.OK, text="drawing", meters={"scene": SCENE}),
}


def _show(recording: Recording, story: tuple, terminal: bool) -> str:
    output = io.StringIO()
    console = Console(file=output, force_terminal=terminal, width=120)
    with Display("a title", console) as display:
        status = Status(story=story, doing="arming")
        display.show(status)
        for done in range(len(story) + 1):
            status = replace(status, doing="", mode=Mode.RUNNING, statuses=STATUSES)
            status = replace(status, attempts=recording.attempts[:done], running_s=0.5 if done < 3 else None)
            display.show(status)
            display.show(status)
    return output.getvalue()


def test_without_a_terminal_each_event_is_one_plain_line_printed_once(
    make_recording: Callable[..., Recording], story: tuple
) -> None:
    text = _show(make_recording(last=Outcome.NOT_DONE), story, terminal=False)
    assert "\x1b" not in text
    lines = text.splitlines()
    assert lines[:2] == ["a title", "  arming"]
    for step in story:
        assert lines.count(f"“{step.instruction}”") == 1
    assert sum("done in" in line for line in lines) == 1
    assert sum("on its way: 30 → 20 cm, at 35 cm/s" in line for line in lines) == 1
    assert sum("NOT DONE after 0.7 s: not within 15 s" in line for line in lines) == 1
    assert "observation → command p50 22.5 ms p99 41.0 ms" in text


def test_on_a_terminal_it_is_a_live_table(make_recording: Callable[..., Recording], story: tuple) -> None:
    text = _show(make_recording(), story, terminal=True)
    assert "22.5 ms" in text
    assert "100.0 Hz" in text


def test_the_live_view_survives_a_graph_that_says_nothing(story: tuple) -> None:
    console = Console(file=io.StringIO(), width=100)
    console.print(picture(Status(story=story), "a title"))
    assert story[0].instruction in console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize(("last", "word"), [(Outcome.DONE, "DONE"), (Outcome.NOT_DONE, "DEMO FAILED: 1 of 3")])
def test_the_last_words_say_loudly_whether_it_worked(
    make_recording: Callable[..., Recording], last: Outcome, word: str
) -> None:
    recording = make_recording(last=last)
    console = Console(file=io.StringIO(), width=100)
    summary = {"done": last is Outcome.DONE, "measured": measure(recording)}
    console.print(closing(recording, summary, Path("outputs/demo")))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert word in text
    assert "outputs/demo/demo.mp4" in text
    assert ("NOT DONE" in text) is (last is Outcome.NOT_DONE)
