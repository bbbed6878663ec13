"""Shows a running graph: a live panel on a terminal, else the processes' lines and a line when the state changes."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType

from rich.console import Console, ConsoleOptions
from rich.live import Live
from rich.segment import Segment
from rich.text import Span, Text

from tendon.graph.running.log import GraphLog
from tendon.graph.running.panel import Number, draw
from tendon.graph.running.process_group import Output
from tendon.graph.running.state import Advice, Adviser, RunState, Word

PERIOD_S = 0.5
"""Nodes report twice a second."""
SETTLE_S = 3.0
"""How long what keeps a graph from being ready must last before it is worth a line."""

FAILED_LINES = 20
"""Lines that are left on the terminal of a graph that failed."""


class _Watch:
    """Calls `_look` twice a second in a thread of its own, and once more at the end. A context manager."""

    def __init__(self) -> None:
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="display", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *error: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._closing.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._closing.wait(PERIOD_S):
            self._look()

    def _look(self) -> None:
        raise NotImplementedError


class PlainDisplay(_Watch):
    """Prints what can be typed next when that changes, between the processes' lines.

    Args:
        look: returns the graph's state.
        adviser: says what follows from it.
        output: where the processes' lines go.
    """

    def __init__(self, look: Callable[[], RunState], adviser: Adviser, output: Output) -> None:
        super().__init__()
        self._state, self._adviser, self.output = look, adviser, output
        self._said: Word | None = None
        self._seen: tuple[Word, float] = (Word.STARTING, time.monotonic())

    def _look(self) -> None:
        advice = self._adviser.advise(self._state())
        if advice.word is not self._seen[0]:
            self._seen = advice.word, time.monotonic()
        lasts = time.monotonic() - self._seen[1] >= SETTLE_S
        if advice.word is self._said or advice.word is Word.ENDING or (advice.word is Word.NOT_READY and not lasts):
            return
        self._said = advice.word
        self.output.write("".join(f"tendon | {line}\n" for line in plain_lines(advice)))
        self.output.flush()


def plain_lines(advice: Advice) -> list[str]:
    """Returns an advice for a log: the state and why, then a line for each command."""
    commands = [f"  {command}  ({effect})" for command, effect in advice.commands]
    where = [f"type in {advice.where}:"] if commands else []
    return [f"{advice.word.value}: {advice.reason}", *where, *commands]


class _Frame:
    """Lines for rich, which lays out only those that have changed: it halves the time a picture takes."""

    def __init__(self) -> None:
        self.lines: list[Text] = []
        self._laid_out: dict[tuple[str, tuple[Span, ...]], list[Segment]] = {}

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        del options
        before, self._laid_out = self._laid_out, {}
        for line in self.lines:
            key = line.plain, tuple(line.spans)
            self._laid_out[key] = before.get(key) or list(line.render(console))
            yield from self._laid_out[key]
            yield Segment.line()


class PanelDisplay(_Watch):
    """Draws the panel on the terminal's other screen, so that what was on it before comes back.

    Args:
        look: returns the graph's state.
        adviser: says what follows from it.
        log: takes the processes' lines.
        numbers: what is measured.
        title: of the picture.
        console: the terminal.
    """

    def __init__(
        self,
        look: Callable[[], RunState],
        adviser: Adviser,
        log: GraphLog,
        numbers: Sequence[Number],
        title: str,
        console: Console,
    ) -> None:
        super().__init__()
        self._state, self._adviser, self.output, self._numbers = look, adviser, log, numbers
        self._title, self._console = title, console
        self._begun_s = time.monotonic()
        self._frame = _Frame()
        self._live = Live(console=console, screen=True, auto_refresh=False, transient=True)

    def __enter__(self) -> None:
        self._live.__enter__()
        self._look()
        super().__enter__()

    def __exit__(self, *error: type[BaseException] | BaseException | TracebackType | None) -> None:
        super().__exit__(*error)
        self._live.__exit__(None, None, None)

    def _look(self) -> None:
        state, size = self._state(), self._console.size
        minutes, seconds = divmod(int(time.monotonic() - self._begun_s), 60)
        self._frame.lines = draw(
            state,
            self._adviser.advise(state),
            self.output.last(size.height),
            self._numbers,
            (size.width, size.height),
            f"{self._title} · {minutes}:{seconds:02d} · Ctrl-C to end",
            self.output.problem or f"log: {short(self.output.path)}",
        )
        self._live.update(self._frame, refresh=True)


def short(path: Path) -> str:
    """Returns a path as it may be typed, with ~ for the home folder."""
    home = str(Path.home())
    return f"~{str(path).removeprefix(home)}" if str(path).startswith(f"{home}{os.sep}") else str(path)


def closing(log: GraphLog, code: int) -> list[str]:
    """Returns what is left on the terminal when the panel is gone: the last words, more of them after a failure."""
    last = log.last(FAILED_LINES)
    shown = last if code else [line for line in last if line.process == "tendon"]
    return [*(f"{line.process} | {line.text}" for line in shown), log.problem or f"log: {short(log.path)}"]
