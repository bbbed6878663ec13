"""What a running demo shows: a live table on a terminal, one line for each event elsewhere."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from tendon.core.modes import Mode
from tendon.core.node_status import MeterReport
from tendon.demo.recording import Attempt, Outcome, Recording
from tendon.demo.status import Status

MARKS = {Outcome.DONE: ("✔", "green"), Outcome.SWITCHED: ("↪", "yellow"), Outcome.NOT_DONE: ("✘", "bold red")}
MODES = {Mode.RUNNING: "green", Mode.ARMED: "cyan", Mode.STOPPING: "yellow", Mode.LATCHED: "red"}
PLAIN_EVERY_S = 2.0

Number = tuple[str, str, str]
"""Label, node, and name of the meter."""

SIMULATION: tuple[Number, ...] = (
    ("simulation", "sim_node", "physics"),
    ("scene camera", "camera_node", "scene"),
    ("wrist camera", "camera_node", "wrist"),
)
CHUNK: Number = ("policy, observation → chunk", "policy_node", "chunk")
TICK: Number = ("control, tick", "control_node", "tick")
COMMAND: Number = ("control, observation → command", "control_node", "chunk")


class Display:
    """Shows a `Status` again and again. Use it as a context manager.

    Args:
        title: above everything.
        console: where to print.
    """

    def __init__(self, title: str, console: Console) -> None:
        self._title = title
        self._console = console
        self._live = Live(console=console, auto_refresh=False) if console.is_terminal else None
        self._said = 0
        self._doing = ""
        self._next_s = 0.0

    def __enter__(self) -> Display:
        if self._live is not None:
            self._live.__enter__()
        else:
            self._print(self._title)
        return self

    def __exit__(self, *error: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self._live is not None:
            self._live.__exit__(None, None, None)

    def show(self, status: Status) -> None:
        """Shows the state as it is now."""
        if self._live is not None:
            self._live.update(picture(status, self._title), refresh=True)
            return
        if status.doing not in (self._doing, ""):
            self._print(f"  {status.doing}")
        self._doing = status.doing
        lines = _events(status)
        for line in lines[self._said :]:
            self._print(line)
        self._said = len(lines)
        if status.running_s is not None and time.monotonic() >= self._next_s:
            self._next_s = time.monotonic() + PLAIN_EVERY_S
            self._print(f"  {status.running_s:4.1f} s  {_numbers(status)}")

    def _print(self, line: str) -> None:
        self._console.print(line, highlight=False, markup=False, soft_wrap=True)


def picture(status: Status, title: str) -> RenderableType:
    """Returns the live view."""
    story = Table.grid(padding=(0, 1))
    for k, step in enumerate(status.story):
        mark, style, note = " ", "dim", ""
        if k < len(status.attempts):
            mark, style = MARKS[status.attempts[k].outcome]
            note = describe(status.attempts[k])
        elif k == len(status.attempts) and status.running_s is not None:
            mark, style, note = "▶", "bold", f"{status.running_s:.1f} s"
        story.add_row(Text(mark, style), Text(f"“{step.instruction}”", style), Text(note, style))
    numbers = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name, side in (("", "left"), ("rate", "right"), ("latency p50", "right"), ("p99", "right")):
        numbers.add_column(name, justify="right" if side == "right" else "left")
    for number in (*SIMULATION, CHUNK, TICK, COMMAND):
        meter = _meter(status, number)
        rate = "-" if meter is None else f"{meter.rate_hz:.1f} Hz"
        numbers.add_row(number[0], rate, *_percentiles(meter))
    mode = "…" if status.mode is None else status.mode.value
    head = Text.assemble(
        ("mode ", "dim"),
        (mode, "bold" if status.mode is None else MODES.get(status.mode, "bold")),
        "   ",
        (status.doing, "dim"),
    )
    return Panel(Group(story, Text(), head, numbers), title=title, border_style="cyan", padding=(1, 2), expand=False)


def describe(attempt: Attempt) -> str:
    """Returns what came of an instruction, in a few words."""
    if attempt.outcome is Outcome.DONE:
        return f"done in {attempt.duration_s:.1f} s"
    if attempt.outcome is Outcome.SWITCHED and attempt.approach is not None:
        seen = attempt.approach
        return (
            f"switched after {attempt.duration_s:.1f} s, on its way: {100 * seen.begin_m:.0f} → "
            f"{100 * seen.distance_m:.0f} cm, at {100 * seen.speed_m_s:.0f} cm/s"
        )
    return f"NOT DONE after {attempt.duration_s:.1f} s: {attempt.reason}"


def _meter(status: Status, number: Number) -> MeterReport | None:
    node = status.statuses.get(number[1])
    return None if node is None else node.meters.get(number[2])


def _percentiles(meter: MeterReport | None) -> tuple[str, str]:
    """Returns p50 and p99 of a meter's latency; empty where there is none."""
    if meter is None or meter.latency is None:
        return "", ""
    return f"{meter.latency.p50_ms:.1f} ms", f"{meter.latency.p99_ms:.1f} ms"


def _events(status: Status) -> list[str]:
    """Returns a line for each thing that has happened to the story; it only grows."""
    lines = []
    for attempt in status.attempts:
        lines += [f"“{attempt.instruction}”", f"  {MARKS[attempt.outcome][0]} {describe(attempt)}"]
    if status.running_s is not None and len(status.attempts) < len(status.story):
        lines.append(f"“{status.story[len(status.attempts)].instruction}”")
    return lines


def _numbers(status: Status) -> str:
    parts = ["mode unknown" if status.mode is None else status.mode.value]
    for number in (CHUNK, COMMAND):
        p50, p99 = _percentiles(_meter(status, number))
        parts += [f"{number[0].split(', ')[1]} p50 {p50} p99 {p99}"] if p50 else []
    tick = _meter(status, TICK)
    return ", ".join(parts if tick is None else [*parts, f"control {tick.rate_hz:.1f} Hz"])


def closing(recording: Recording, summary: Mapping[str, Any], out: Path) -> RenderableType:
    """Returns the last words: what was done, what was not, the numbers, and where everything is."""
    results = Table.grid(padding=(0, 1))
    for attempt in recording.attempts:
        mark, style = MARKS[attempt.outcome]
        results.add_row(Text(mark, style), Text(f"“{attempt.instruction}”"), Text(describe(attempt), style))
    latency, control = summary["measured"]["latency_ms"], summary["measured"]["control"]
    rows = [
        ("observation → chunk", latency["observation_to_chunk"]),
        ("observation → command", latency["observation_to_command"]),
        ("instruction → first chunk that knows it", latency["switch_to_first_chunk"]),
        ("control period, error", control["period_error_ms"]),
    ]
    numbers = Table.grid(padding=(0, 2))
    for name, spread in rows:
        if spread["count"]:
            numbers.add_row(Text(name, "dim"), f"p50 {spread['p50']:.1f} ms", f"p99 {spread['p99']:.1f} ms")
    note = Text("of simulated time, in which an answer takes the delay that was stated after the warm-up", "dim")
    files = Text("\n".join(str(out / name) for name in ("demo.mp4", "timeline.png", "summary.json")))
    done = summary["done"]
    missed = sum(not attempt.outcome.good for attempt in recording.attempts)
    title = (
        "DONE" if done else f"DEMO FAILED: {missed} of {len(recording.attempts)} instructions did not go as they should"
    )
    return Panel(
        Group(results, Text(), numbers, note, Text(), files),
        title=title,
        border_style="bold green" if done else "bold red",
        padding=(1, 2),
        expand=False,
    )
