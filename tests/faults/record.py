"""The trials of one run in a file, a line each, so that a run that was interrupted goes on where it was."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping
from pathlib import Path

import harness

from tendon.evaluation.limits import Worst
from tests.faults.trial import Trial


def parser_of(doc: str) -> argparse.ArgumentParser:
    """Returns the options of every run of faults; the module's text has "Examples:" at its end."""
    parser = argparse.ArgumentParser(
        description=doc.partition("\n")[0],
        epilog=doc[doc.index("Examples") :],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seed", type=int, default=0, help="of the moments (%(default)s)")
    parser.add_argument("--resume", action="store_true", help="go on with the run that was interrupted")
    parser.add_argument("--results", action="store_true", help="add rows to docs/results; not on a busy machine")
    harness.add_arguments(parser)
    return parser


class Record:
    """Trials by the name of what was tried.

    Args:
        path: of the file; its first line says what the run is.
        run: what the run is, such as its commit and seed; only a run that is equal goes on.
        total: trials that it will have.
        resume: go on with the file's trials, if there are any; else they are dropped.

    Raises:
        SystemExit: `resume`, and the file is of another run.
    """

    def __init__(self, path: Path, run: Mapping[str, object], total: int, resume: bool) -> None:
        self._path, self._total = path, total
        self._trials: list[tuple[str, Trial]] = []
        self._began_s = time.monotonic()
        path.parent.mkdir(parents=True, exist_ok=True)
        if resume and path.is_file():
            self._read(run)
        else:
            path.write_text(json.dumps(dict(run)) + "\n", encoding="utf-8")
        self._kept = len(self._trials)

    def _read(self, run: Mapping[str, object]) -> None:
        text = self._path.read_text(encoding="utf-8")
        whole = text[: text.rindex("\n") + 1]  # the last line may be cut off
        first, *lines = whole.splitlines()
        was = json.loads(first)
        if other := [f"{key} {was.get(key)!r}, now {value!r}" for key, value in run.items() if was.get(key) != value]:
            raise SystemExit(f"--resume: {self._path} is of another run: {'; '.join(other)}; run without it")
        for line in lines:
            values = json.loads(line)
            self._trials.append((values.pop("tried"), trial_of(values)))
        self._path.write_text(whole, encoding="utf-8")

    def add(self, tried: str, trial: Trial) -> str:
        """Keeps a trial; returns how many there are and how long the rest will take."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"tried": tried, **trial.as_dict()}) + "\n")
        self._trials.append((tried, trial))
        done, now = len(self._trials), len(self._trials) - self._kept
        each_s = (time.monotonic() - self._began_s) / now
        return f"{done}/{self._total}, about {each_s * max(0, self._total - done) / 60:.0f} min left"

    def of(self, tried: str) -> list[Trial]:
        """Returns the trials of one thing."""
        return [trial for name, trial in self._trials if name == tried]

    @property
    def all(self) -> list[tuple[str, Trial]]:
        """Every trial with what was tried."""
        return list(self._trials)


def trial_of(values: Mapping[str, object]) -> Trial:
    """Returns a trial from its JSON."""
    worst = values["worst"]
    known = dict(values) | {"worst": Worst(**worst) if isinstance(worst, dict) else None}
    return Trial(**known)  # type: ignore[arg-type]
