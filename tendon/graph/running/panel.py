"""The picture of a running graph for a terminal: lines of a given width, as many as fit. Nothing is read or timed here.

Drawn twice a second beside a graph that keeps time, so it is plain lines: rich's tables take ten times as long.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size
from rich.style import Style
from rich.text import Text

from tendon.core.node_status import Level, PolicyStatus, StandInStatus
from tendon.graph.running.log import LogLine
from tendon.graph.running.state import POLICY_NODE, SILENT_S, STAND_INS, Advice, RunState, Word

WIDE = 120
"""From this width on nodes and numbers stand side by side."""
NUMBERS_WIDTH = 62
IDLE = " 0.0 Hz"
MIN_LOG = 3
"""Lines of the log for which empty lines, idle numbers and at last others give way."""

_PLAIN, _DIM, _BOLD = Style(), Style(dim=True), Style(bold=True)
_GOOD, _LOOK, _BAD = Style(color="green"), Style(color="yellow"), Style(color="red")
_WORDS = {
    Word.STARTING: Style(bold=True, reverse=True, color="yellow"),
    Word.NOT_READY: Style(bold=True, reverse=True, color="yellow"),
    Word.READY: Style(bold=True, reverse=True, color="green"),
    Word.ARMED: Style(bold=True, reverse=True, color="cyan"),
    Word.RUNNING: Style(bold=True, reverse=True, color="green"),
    Word.STOPPED: Style(bold=True, reverse=True, color="red"),
    Word.ENDING: Style(bold=True, reverse=True, color="yellow"),
}
_LEVELS = {Level.OK: _GOOD, Level.WARN: _LOOK, Level.ERROR: _BAD, Level.STALE: _BAD}
_LOG_STYLES = {"warning": _LOOK, "error": _BAD}

Number = tuple[str, tuple[tuple[str, str], ...]]
"""A label, and where its rate and latency are: node and name of a meter, the first that is there."""


def numbers_of(cameras: Sequence[str]) -> tuple[Number, ...]:
    """Returns what is measured in a graph with these cameras, from sensors to commands."""
    return (
        ("joint states", (("control_node", "joint_states"),)),
        *(
            (f"camera {name}", (("policy_node", f"camera {name}"), *((node, name) for node in STAND_INS.values())))
            for name in cameras
        ),
        ("inference", (("policy_node", "inference"),)),
        ("observation to chunk", (("policy_node", "chunk"),)),
        ("observation to command", (("control_node", "chunk"),)),
        ("control tick, late by", (("control_node", "tick"),)),
    )


def draw(
    state: RunState,
    advice: Advice,
    log: Sequence[LogLine],
    numbers: Sequence[Number],
    size: tuple[int, int],
    title: str,
    log_title: str,
) -> list[Text]:
    """Returns the picture: at most as many lines as fit, none wider than fits.

    Args:
        state: of the graph.
        advice: what follows from it.
        log: what the processes said, the newest last.
        numbers: see `numbers_of`.
        size: columns and lines of the terminal.
        title: of the picture.
        log_title: says where all of the log is.
    """
    width, height = size
    head = [_rule(title, width), *_advice(advice, width)]
    nodes = [_node(node, state) for node in state.nodes]
    table = _numbers(state, numbers)
    blocks = [head, [_modes(state)], nodes, table]
    if width >= WIDE:
        left = width - NUMBERS_WIDTH - 2
        blocks[2:] = [[_beside(_at(nodes, k), _at(table, k), left) for k in range(max(len(nodes), len(table)))]]
    spare = height - sum(map(len, blocks)) - 1 - MIN_LOG
    if spare < 0 and width < WIDE:
        blocks[-1] = [row for row in table if IDLE not in row.plain][: max(len(table) + spare, 0)]
    lines: list[Text] = []
    for block in [*blocks, [_rule(log_title, width)]]:
        if lines and spare > 0:
            lines.append(Text())
            spare -= 1
        lines += block
    lines += [_log_line(line) for line in log[-max(height - len(lines), 1) :]]
    for line in lines:
        line.truncate(width, overflow="ellipsis")
    return lines[:height]


def _rule(title: str, width: int) -> Text:
    return Text.assemble(("── ", _DIM), (title, _BOLD), (" " + "─" * width, _DIM))


def _advice(advice: Advice, width: int) -> list[Text]:
    word = f" {advice.word.value} "
    indent = cell_len(word) + 1
    lines = _wrapped(advice.reason, max(width - indent, 20))[:3]
    first = Text.assemble((word, _WORDS[advice.word]), " ", (lines[0], _BOLD))
    rest = [Text(" " * indent + line, _BOLD) for line in lines[1:]]
    commands = []
    if advice.commands:
        broad = max(cell_len(command) for command, _ in advice.commands)
        commands = [Text(f"type in {advice.where}:", _DIM)]
        for command, effect in advice.commands:
            commands.append(Text.assemble("  ", (set_cell_size(command, broad), _BOLD), "  ", (effect, _DIM)))
    return [first, *rest, *commands]


def _modes(state: RunState) -> Text:
    permission = "-"
    if state.monitor is not None:
        permission, speed = state.monitor.permission.state.value, state.monitor.permission.speed
        if state.monitor.permission.armed and speed != 1.0:
            permission += f" at {100 * speed:.0f} % speed"
    parts = [("mode", "-" if state.control is None else state.control.mode.value), ("permission", permission)]
    for status in state.statuses.values():
        if isinstance(status, StandInStatus) and status.real_time_factor is not None:
            parts.append(("real time", f"x {status.real_time_factor:.2f}"))
    if POLICY_NODE in state.nodes:
        parts.append(("task", "-" if state.policy is None else _task(state.policy)))
    return Text.assemble(*(piece for name, value in parts for piece in ((f"{name} ", _DIM), f"{value}   ")))


def _task(policy: PolicyStatus) -> str:
    """Returns the instruction, and how much of it the policy takes for done."""
    told = "" if policy.progress is None else f" ({100 * policy.progress:.0f} % done, by its estimate)"
    return policy.instruction + told if policy.instruction else "-"


def _node(name: str, state: RunState) -> Text:
    age_s, status = state.age_s.get(name), state.statuses.get(name)
    if age_s is None:
        return Text.assemble(("○ ", _DIM), f"{name:<15} ", ("starting", _DIM))
    if age_s >= SILENT_S:
        return Text.assemble(("● ", _BAD), f"{name:<15} ", (f"silent for {age_s:.0f} s", _BAD))
    if status is None:
        return Text.assemble(("● ", _PLAIN), f"{name:<15} ")
    return Text.assemble(("● ", _LEVELS[status.level]), f"{name:<15} ", status.text)


def _numbers(state: RunState, numbers: Sequence[Number]) -> list[Text]:
    rows = [Text(f"{'':<24}{'rate':>9}{'p50':>10}{'p99':>10}{'lost':>7}", _DIM)]
    for label, places in numbers:
        found = (state.meter(node, name) for node, name in places)
        meter = next((each for each in found if each is not None), None)
        if meter is not None:
            latency = meter.latency
            p50, p99 = ("", "") if latency is None else (f"{latency.p50_ms:.1f} ms", f"{latency.p99_ms:.1f} ms")
            rows.append(Text(f"{label:<24}{meter.rate_hz:>6.1f} Hz{p50:>10}{p99:>10}{meter.drops:>7}"))
    return rows


def _log_line(line: LogLine) -> Text:
    at = time.strftime("%H:%M:%S", time.localtime(line.time_s))
    return Text.assemble((f"{at} ", _DIM), f"{line.process} ", (line.text, _LOG_STYLES.get(line.level, _PLAIN)))


def _at(lines: Sequence[Text], k: int) -> Text:
    return lines[k] if k < len(lines) else Text()


def _beside(left: Text, right: Text, width: int) -> Text:
    left.truncate(width, overflow="ellipsis", pad=True)
    return Text.assemble(left, "  ", right)


def _wrapped(text: str, width: int) -> list[str]:
    lines = [""]
    for word in text.split():
        if lines[-1] and cell_len(lines[-1]) + 1 + cell_len(word) > width:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return lines
