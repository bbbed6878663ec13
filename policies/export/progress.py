"""What an export is at, for who waits: each stage as a line when it begins, and that it goes on while it lasts.

A stage can take minutes (torch makes a graph of a billion weights in one call). A terminal shows its running time;
where there is none, as in a log, it is said again every `REMIND_S`.
"""

from __future__ import annotations

import threading
import time
from types import TracebackType

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

REMIND_S = 15.0
"""Long enough that a log of an import stays readable, short enough that nobody takes it for dead."""


class Stages:
    """Shows stages while it is entered; a `Report`. Called from one thread.

    Args:
        console: to print to.
        remind_s: how often a stage is said again where there is no terminal.
    """

    def __init__(self, console: Console, remind_s: float = REMIND_S) -> None:
        self._console = console
        self._remind_s = remind_s
        self._begin_s = time.monotonic()
        self._stage, self._stage_s = "", self._begin_s
        self._left = threading.Event()
        self._live = Progress(
            SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), console=console, transient=True
        )
        self._reminder = threading.Thread(target=self._remind, name="export stages", daemon=True)

    def __enter__(self) -> Stages:
        """Begins to show."""
        if self._console.is_terminal:
            self._live.start()
        else:
            self._reminder.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leaves the lines and takes away what is live."""
        self._left.set()
        if self._console.is_terminal:
            self._live.stop()
        else:
            self._reminder.join()

    def __call__(self, stage: str) -> None:
        """Says that a stage begins, which ends the one before."""
        self._stage, self._stage_s = stage, time.monotonic()
        self.note(stage)
        for task in self._live.task_ids:
            self._live.remove_task(task)
        self._live.add_task(stage, total=None)

    def note(self, text: str) -> None:
        """Says something that is no stage."""
        seconds = time.monotonic() - self._begin_s
        self._console.print(f"{seconds:6.1f} s  {text}", highlight=False, markup=False, soft_wrap=True)

    def _remind(self) -> None:
        while not self._left.wait(self._remind_s):
            taken = time.monotonic() - self._stage_s
            if self._stage and taken >= self._remind_s:
                self.note(f"still at it for {taken:.0f} s: {self._stage}")
