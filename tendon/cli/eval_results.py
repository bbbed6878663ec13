"""Episodes as they end, and what is left of them: also of those before Ctrl-C, SIGTERM or an error."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from tendon.cli.outputs import is_stream, require_apart, require_file, require_ours, write_whole, writing
from tendon.cli.progress import CountingBar
from tendon.cli.termination import interrupted_by_sigterm
from tendon.core.errors import ConfigError
from tendon.core.files import set_aside

if TYPE_CHECKING:
    from collections.abc import Generator

    from tendon.evaluation.episode import Episode
    from tendon.evaluation.pool import Job

EngineOption = Annotated[
    str, typer.Option(metavar="NAME", help="processes of this machine, or ray: a cluster (RAY_ADDRESS), else Ray here.")
]
ReportOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="A .html that needs nothing else; FILE.json with all is beside it.")
]
VideosOption = Annotated[int, typer.Option(min=0, max=24, help="Of failures, at most, in the report.")]
RESULTS = b'"ended_early"'
"""A key that the JSON of each of these commands has."""


@dataclass
class Gathered:
    """What has ended.

    Attributes:
        jobs: that were to run.
        runs: in the order in which they ended.
        ended_early: how many did of how many, and why not all; empty when all did.
        error: that ended it, to be raised when what there is has been written.
    """

    jobs: Sequence[Job]
    runs: list[tuple[Job, Episode]] = field(default_factory=list)
    ended_early: str = ""
    error: BaseException | None = None

    @property
    def counted(self) -> list[tuple[Job, Episode]]:
        """Those before the first that is missing after an early end: one that fails ends later than others."""
        ended = dict(self.runs)
        return [(job, ended[job]) for job in itertools.takewhile(ended.__contains__, self.jobs)]

    @property
    def episodes(self) -> list[Episode]:
        """Of these, by seed."""
        return sorted((episode for _, episode in self.counted), key=lambda episode: episode.seed)

    def raise_error(self) -> None:
        """Raises what ended it early, if anything did."""
        if self.error is not None:
            raise self.error

    def raise_empty(self) -> None:
        """Raises what ended it before anything counts, and says so to who saw episodes end."""
        if self.runs:
            print("none of them counts, the first in order had not ended: nothing was written")
        self.raise_error()


def gather(
    title: str,
    jobs: Sequence[Job],
    workers: int,
    engine: str = "processes",
    take: Callable[[Job, Episode], bool] = lambda job, episode: False,
    note: Callable[[], str] = str,
) -> Gathered:
    """Runs jobs behind a bar.

    Args:
        title: of the bar.
        jobs: to run.
        workers: how many at once.
        engine: see `run_jobs`.
        take: is given each as it ends; returns whether that is enough.
        note: for the bar.

    Raises:
        ConfigError: there is no such engine.
        MissingDependencyError: it is not installed.
    """
    from tendon.evaluation import pool

    pool.check_engine(engine)
    found = Gathered(jobs)
    try:
        with (
            interrupted_by_sigterm(),
            CountingBar(title, len(jobs)) as bar,
            closing(cast("Generator[tuple[Job, Episode]]", pool.run_jobs(jobs, workers, engine))) as runs,
        ):
            for job, episode in runs:
                found.runs.append((job, episode))
                enough = take(job, episode)
                bar.advance(1, note())
                if enough:
                    break
    except (KeyboardInterrupt, Exception) as error:  # raised again when what there is has been written
        why = str(error) or "Ctrl-C" if isinstance(error, KeyboardInterrupt) else str(error)
        found.ended_early, found.error = f"{len(found.runs)} of {len(jobs)} episodes: {why}", error
    if found.runs and found.ended_early:
        print(f"ended early, {found.ended_early}")
    return found


def require_results(report: Path | None, out: Path | None, **others: Path | None) -> None:
    """Checks that a report with its JSON, and the JSON of `--out`, can be written; see `require_report`.

    Args:
        report: see there.
        out: JSON; that beside the report is the same, and may be the same file.
        **others: files that the command reads or writes besides, by option.

    Raises:
        ConfigError: they cannot be, or one would replace another, or what is no result.
    """
    require_report(report)
    require_apart(report=report, out=out, **others)
    if report is not None:
        require_apart(report=report.with_suffix(".json"), **others)
    if out is not None:
        require_file(out)
        require_ours(out, "--out", RESULTS)


def require_report(report: Path | None) -> None:
    """Checks that a report and its JSON can be written.

    Raises:
        ConfigError: they cannot, or it is no .html, or one would replace something else.
    """
    if report is None:
        return
    if report.suffix != ".html":
        raise ConfigError(f"--report {report} must end in .html: its JSON is beside it")
    from tendon.evaluation.page.document import GENERATOR

    beside = report.with_suffix(".json")
    for file, mark in ((report, GENERATOR.encode()), (beside, RESULTS)):
        require_file(file, "--report")
        require_ours(file, "--report", mark)


def write_results(
    found: Mapping[str, Any],
    out: Path | None,
    report: Path | None,
    page: Callable[[Mapping[str, Any]], str],
    *,
    goes_on: bool = False,
) -> None:
    """Writes what was found, where it was asked for; what ended early leaves earlier results beside.

    Args:
        found: with "ended_early", why, and "origin".
        out: JSON.
        report: a page, with the JSON beside it.
        page: makes it.
        goes_on: it has all that earlier results have.
    """
    files = [] if out is None else [out]
    files += [] if report is None else [report, report.with_suffix(".json")]
    for file in dict.fromkeys(files) if found["ended_early"] and not goes_on else ():
        keep_before(file)
    text = json.dumps(found, indent=1)
    if out is not None:
        write_whole(out, text)
    if report is not None:
        write_whole(report.with_suffix(".json"), text)  # first of all: drawing a page may fail
        write_whole(report, page(found))
        print(f"report: {report}")


def keep_before(file: Path) -> None:
    """Copies what a run that ended early would replace, and says where to."""
    with writing(file):
        kept = None if is_stream(file) else set_aside(file)
    if kept is not None:
        print(f"the one before: {kept}")


def draw_films(gathered: Gathered, most: int) -> list[tuple[bytes, str]]:
    """Returns videos of failures, drawn behind a bar: none after an early end; Ctrl-C leaves those that there are."""
    from tendon.evaluation.page.films import films, worth_seeing

    if gathered.error is not None:
        return []
    chosen, drawn = worth_seeing(gathered.runs, most), list[tuple[bytes, str]]()
    if not chosen:
        return []
    with CountingBar("videos", len(chosen)) as bar:
        try:
            drawn.extend(films(chosen, lambda: bar.advance(1, "")))
        except KeyboardInterrupt:
            print(f"Ctrl-C: {len(drawn)} of {len(chosen)} videos")
    return drawn
