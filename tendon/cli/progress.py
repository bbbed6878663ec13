"""The bar that long commands show."""

from __future__ import annotations

import sys

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn


class CountingBar:
    """A bar with a count, the time that is left, and a note; a context manager."""

    def __init__(self, title: str, total: int, passing: bool = False) -> None:
        """Makes the bar, unseen until it is entered; one that is passing leaves nothing, nor anything in a file."""
        columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.fields[note]}"))
        self._progress = Progress(
            TextColumn(title), *columns, transient=passing, disable=passing and not sys.stdout.isatty()
        )
        self._task: TaskID = self._progress.add_task(title, total=total, note="")

    def __enter__(self) -> CountingBar:
        """Shows it."""
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Leaves it as it is."""
        self._progress.stop()

    def advance(self, count: int, note: str) -> None:
        """Counts further."""
        self._progress.update(self._task, advance=count, note=note)

    def reach(self, count: float, note: str) -> None:
        """Counts up to a number."""
        self._progress.update(self._task, completed=count, note=note)
