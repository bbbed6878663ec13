"""Measure a bundle on every engine of this machine: time, memory, parity; and say which to take.

Examples:
  tendon policy bench bundles/tabletop
  tendon policy bench bundles/tabletop --engine cpu --engine openvino:bf16 --seconds 20
  tendon policy bench bundles/tabletop --robot panda --threads 4

Each engine has a process of its own, and inferences run one after the other on noise: times are from observation to
joint-space chunk [ms], "graphs" is the engine's part of the median, "CPU" the time of all cores together for
one inference, which other load hardly changes. MB is the memory of the process, without what a GPU has of its own.
Parity is the relative error of the output nearest to its bound: from the source's answers that the bundle keeps (its
receipt), or without those from engine cpu. Recommended is the engine with the lowest p95 that is within its bound; one
that computes in less than float32 has to save a tenth of the time. Times mean something only while nothing else runs.
Exit code 1 if no engine can be recommended.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from tendon.cli.options import BundleArgument, BundleRobotOption, EnginesOption, check_threads
from tendon.core.errors import ConfigError
from tendon.policies.bundle.places import find_bundle
from tendon.policies.engines.engine import Engine

if TYPE_CHECKING:
    from tendon.policies.engines.bench import Failed, Measured

EXIT_NONE = 1
COLUMNS = ("engine", "p50 ms", "p95", "p99", "graphs", "CPU", "Hz", "MB", "load s", "parity", "")
MAX_S = 3600.0
BUSY = 0.5


def command(
    bundle: BundleArgument,
    engine: EnginesOption = None,
    robot: BundleRobotOption = None,
    seconds: Annotated[float, typer.Option(help="Of inferences on each engine.")] = 5.0,
    threads: Annotated[int, typer.Option(help="CPU threads of one inference.")] = 2,
) -> int:
    """Measures and prints.

    Raises:
        ConfigError: an option is wrong.
        IntegrityError: the bundle is refused.
    """
    from tendon.policies.bundle.bundle import load_bundle
    from tendon.policies.engines.bench import Job, engines_here, measure, recommend

    check_threads(threads)
    if not 0.0 <= seconds <= MAX_S:
        raise ConfigError(f"--seconds is {seconds}, must be from 0 to {MAX_S:.0f}")
    engines = tuple(map(Engine.parse, engine)) if engine else engines_here()
    folder, console = find_bundle(bundle), Console()
    name = load_bundle(folder).manifest.name
    results: list[Measured | Failed] = []
    busy = os.getloadavg()[0]
    for count, each in enumerate(engines, start=1):
        with console.status(f"{name} on {each} ({count} of {len(engines)}), {seconds:g} s and what loading takes"):
            job = Job(bundle=folder, engine=each, robot=robot, seconds=seconds, threads=threads)
            results.append(measure(job))
    show(console, name, results)
    if busy > BUSY:
        console.print(f"the load was {busy:.1f} before: these are times of a busy machine", highlight=False)
    best, why = recommend(results)
    if best is None:
        console.print(f"recommended: none, {why}", style="red", highlight=False)
        return EXIT_NONE
    console.print(f"recommended: [bold]engine:={best.job.engine}[/], {why}", highlight=False)
    return 0


def show(console: Console, name: str, results: Iterable[Measured | Failed]) -> None:
    """Prints a table, and below it what could not be measured."""
    from tendon.policies.engines.bench import Failed, Measured

    measured = [result for result in results if isinstance(result, Measured)]
    if measured:
        first = measured[0]
        source = "its source" if first.parity.source else "engine cpu: it keeps no answers of its source"
        title = f"{name}, {first.size_mb:.1f} MB, {first.job.threads} threads, parity with {source}"
        table = Table(title=title, title_justify="left", box=SIMPLE, collapse_padding=True, pad_edge=False)
        for column in COLUMNS:
            table.add_column(column, justify="left" if column in ("engine", "") else "right", no_wrap=True)
        for each in measured:
            table.add_row(*cells(each))
        console.print(table)
    for result in results:
        if isinstance(result, Failed):
            console.print(f"{result.job.engine}: {result.reason}", style="red", highlight=False, markup=False)


def cells(each: Measured) -> tuple[str, ...]:
    """Returns the cells of a row of the table."""
    return (
        str(each.job.engine),
        *(f"{time:.2f}" for time in (each.whole.p50, each.whole.p95, each.whole.p99, each.graphs.p50)),
        f"{each.cpu_ms:.1f}",
        f"{each.rate_hz:.1f}",
        f"{each.memory_mb:.0f}",
        f"{each.load_s:.2f}",
        f"{each.parity.relative:.1e}",
        "[green]ok[/]" if each.parity.passed else f"[red]> {each.parity.bound:g}[/]",
    )
