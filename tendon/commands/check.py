"""Repeat a bundle's parity with its source on this machine: every output, over the inferences that it keeps.

Exit code 0 when every output is within its bound, 1 when one is not, 2 when the check could not be made.

Examples:
  tendon check bundles/mine                       on the best engine there is
  tendon check bundles/mine --engine openvino:bf16
  tendon check bundles/mine --engine cpu --engine cuda --engine tensorrt:fp16
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from tendon.policies.bundle import load_bundle
from tendon.policies.bundle_parity import Repetition, repeat_parity
from tendon.policies.parity import Row
from tendon.policies.runtime import Engine

EXIT_DIFFERS = 1
COLUMNS = ("output", "precision", "max abs", "cosine", "relative", "bound", "at import", "")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.epilog = __doc__.partition("\n\n")[2] if __doc__ else None
    parser.add_argument("bundle", type=Path, metavar="BUNDLE", help="folder of the bundle")
    parser.add_argument(
        "--engine",
        action="append",
        metavar="ENGINE",
        help="cpu, cuda, tensorrt:fp16, openvino:bf16, ...; may be repeated (default: the best there is)",
    )
    parser.add_argument("--threads", type=int, default=2, help="CPU threads of one run (%(default)s)")


def run(args: argparse.Namespace) -> int:
    """Prints a table an engine.

    Raises:
        TendonError: the bundle is refused or keeps no inferences, or an engine does not start.
    """
    bundle, console = load_bundle(args.bundle), Console()
    engines = [Engine.parse(text) for text in args.engine] if args.engine else [None]
    passed = True
    for engine in engines:
        with console.status(f"{bundle.manifest.name} on {engine or 'the best engine'}"):
            repetition = repeat_parity(bundle, engine, args.threads)
        show(console, bundle.manifest.name, repetition)
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
