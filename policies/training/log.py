"""What a training run says of itself: `log.jsonl`, the same as curves in `curves.png`, and events for TensorBoard."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from tendon.core.distribution import pip_install
from tendon.core.errors import MissingDependencyError
from tendon.core.files import replace_file
from tendon.core.json_lines import json_lines_so_far, open_json_lines

LOG_FILE, CURVES_FILE, EVENTS_FOLDER = "log.jsonl", "curves.png", "events"
COLUMNS = 3


class TrainingLog:
    """The log of a run's folder; a run that goes on goes on with it, and draws it when it ends.

    Args:
        folder: of the run; `tensorboard --logdir` takes it, or one above several.
        by: name of the number that counts how far it is, such as "steps".
        done: how far the run goes on from; what was logged beyond comes again. `None` where nothing does.

    Raises:
        MissingDependencyError: TensorBoard is not installed.
    """

    def __init__(self, folder: Path, by: str, done: int | None = None) -> None:
        try:
            from torch.utils.tensorboard.writer import SummaryWriter
        except ImportError as error:
            raise MissingDependencyError(f"training needs tensorboard ({error}): {pip_install('train')}") from error

        self._folder, self._by = folder, by
        rows = json_lines_so_far(folder / LOG_FILE)  # one that is none is not gone on with
        if done is not None and any(row[by] > done for row in rows):
            kept = "".join(json.dumps(row) + "\n" for row in rows if row[by] <= done)
            replace_file(folder / LOG_FILE, kept.encode())
        self._file = open_json_lines(folder / LOG_FILE)
        purged = None if done is None else done + 1
        self._events: Any = SummaryWriter(str(folder / EVENTS_FOLDER), purge_step=purged)

    def __enter__(self) -> TrainingLog:
        """Returns itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends it, and draws it, whatever ended the run."""
        self._file.close()
        self._events.close()
        draw_curves(self._folder, self._by)

    def add(self, row: Mapping[str, float]) -> None:
        """Writes a row, with how far the run is in it."""
        self._file.write(json.dumps(row) + "\n")
        self._file.flush()
        for name, value in row.items():
            if name != self._by:
                self._events.add_scalar(name, value, int(row[self._by]))


def draw_curves(folder: Path, by: str) -> None:
    """Draws every number of a run's log over `by`; a log without rows gives no picture."""
    from matplotlib.figure import Figure

    rows = list(json_lines_so_far(folder / LOG_FILE))
    names = list(dict.fromkeys(name for row in rows for name in row if name != by))
    if not names:
        return
    lines = -(-len(names) // COLUMNS)
    figure = Figure(figsize=(3.4 * COLUMNS, 2.2 * lines + 0.3), facecolor="white", layout="constrained")
    plots = figure.subplots(lines, COLUMNS, squeeze=False).ravel()
    for plot, name in zip(plots, names, strict=False):
        known = [(row[by], row[name]) for row in rows if name in row]
        plot.plot(*zip(*known, strict=True), color="#1f77b4", lw=1.2, marker="." if len(known) < COLUMNS else "")
        plot.set_title(name.replace("_", " "), fontsize=10)
        plot.spines[["top", "right"]].set_visible(False)
    for spare in plots[len(names) :]:
        spare.set_visible(False)
    figure.supxlabel(by, fontsize=9)
    figure.savefig(folder / CURVES_FILE, dpi=110)
