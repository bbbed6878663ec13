"""Repeat a bundle's parity with its source on this machine: every output, over the inferences that it keeps.

Exit code 0 when every output is within its bound, 1 when one is not, 2 when the check could not be made.

Examples:
  tendon policy check bundles/tabletop                            # on the best engine there is
  tendon policy check bundles/tabletop --engine openvino:bf16
  tendon policy check bundles/tabletop --engine cpu --engine cuda --engine tensorrt:fp16
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from tendon.cli.options import BundleArgument, EnginesOption, check_threads
from tendon.policies.bundle.places import find_bundle
from tendon.policies.engines.engine import Engine

if TYPE_CHECKING:
    from tendon.policies.parity.bundle import Repetition
    from tendon.policies.parity.graph import Row

EXIT_DIFFERS = 1
COLUMNS = ("output", "precision", "max abs", "cosine", "relative", "bound", "when made", "")


def command(
    bundle: BundleArgument,
    engine: EnginesOption = None,
    threads: Annotated[int, typer.Option(help="CPU threads of one run.")] = 2,
) -> int:
    """Prints a table an engine.

    Raises:
        TendonError: the bundle is refused or keeps no inferences, or an engine does not start.
    """
    from tendon.policies.bundle.bundle import load_bundle
    from tendon.policies.parity.bundle import repeat_parity

    check_threads(threads)
    loaded, console = load_bundle(find_bundle(bundle)), Console()
    engines = [Engine.parse(text) for text in engine] if engine else [None]
    passed = True
    for each in engines:
        with console.status(f"{loaded.manifest.name} on {each or 'the best engine'}"):
            repetition = repeat_parity(loaded, each, threads)
        show(console, loaded.manifest.name, repetition)
        passed = passed and repetition.passed
    return 0 if passed else EXIT_DIFFERS


def show(console: Console, name: str, repetition: Repetition) -> None:
    """Prints one engine's rows, each beside its relative error when the bundle was made."""
    made = {(r.graph, r.output): r.relative for r in repetition.receipt.rows if r.reference == "float32"}
    count = max(row.inferences for row in repetition.rows)
    title = f"{name} on {repetition.engine}, the worst of {count} inferences"
    table = Table(title=title, title_justify="left", box=SIMPLE, collapse_padding=True, pad_edge=False)
    for column in COLUMNS:
        table.add_column(column, justify="left" if column in ("output", "precision", "") else "right")
    for row in repetition.rows:
        table.add_row(*cells(row, made.get((row.graph, row.output))))
    console.print(table)
    console.print(f"compared with {repetition.receipt.source}", highlight=False, markup=False, soft_wrap=True)
    for graph, where in repetition.first.items():
        console.print(f"{graph} first differs from a plain run at: {where}", style="red", highlight=False)


def cells(row: Row, made: float | None) -> tuple[str, ...]:
    """Returns the cells of a row of the table."""
    return (
        row.output,
        row.precision,
        f"{row.max_abs:.1e}",
        f"{row.cosine:.7f}",
        f"{row.relative:.1e}",
        f"{row.bound:g}",
        "" if made is None else f"{made:.1e}",
        "[green]ok[/]" if row.passed else "[red]differs[/]",
    )
