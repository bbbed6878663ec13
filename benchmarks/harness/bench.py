"""Begins a benchmark and takes its rows."""

from __future__ import annotations

import argparse
import datetime
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.claims import find_table, read_pages
from harness.load import Others, instant, look, others_between, refusal
from harness.rows import ROWS, Row, RowError, Value, read_rows, replace_row, said_to_stay
from tendon.core.errors import ConfigError
from tendon.core.machine import commit as commit_without
from tendon.core.machine import machine, versions

ROOT = Path(__file__).resolve().parents[2]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of every benchmark."""
    group = parser.add_argument_group("results")
    group.add_argument("--busy", action="store_true", help="measure although others use this machine; rows say so")
    group.add_argument("--rows", type=Path, default=ROWS, metavar="FOLDER", help="of the rows (docs/results/rows)")


def begin(args: argparse.Namespace, *claims: str) -> Bench:
    """Begins a benchmark: looks at the machine, says what it is, and takes rows of these claims ("page/table").

    Exits with a line of explanation when others use the machine and `--busy` was not given, when a claim is in no
    page, and when its file of rows is damaged: all before anything is measured.
    """
    try:
        pages = read_pages()
        for claim in claims:
            find_table(claim, pages)
            read_rows(claim, args.rows)
    except ConfigError as error:
        sys.exit(f"error: {error}")
    others = look()
    if others.busy and not args.busy:
        sys.exit(refusal(others))
    simulated = {claim for claim in claims if find_table(claim, pages).simulated}
    return Bench(claims, simulated, args.rows, others)


class Bench:
    """Takes the rows of a running benchmark; each is in its file as soon as it is added.

    Attributes:
        machine: what this machine is.
    """

    def __init__(self, claims: tuple[str, ...], simulated: set[str], folder: Path, before: Others) -> None:
        self._claims, self._simulated, self._folder, self._before = claims, simulated, folder, before
        self._begun = instant()
        found = machine()
        self._average = found.pop("load_average")
        self.machine: dict[str, Any] = {**found, "gpu": gpu(), "versions": versions()}
        self._commit = commit()
        print(
            f"{found['cores']} x {found['processor']}, {found['memory_gib']} GiB, "
            f"{self.machine['gpu'] or 'no GPU'}, {found['platform']}, Python {self.machine['versions']['python']}, "
            f"commit {self._commit}; load {self._average[0]:.2f}, others take {before.cores:.2f} cores, "
            f"steal {100 * before.steal:.1f} %",
            flush=True,
        )

    def add(self, case: Mapping[str, str], values: Mapping[str, Value], *, claim: str = "", note: str = "") -> Row:
        """Writes a row in the place of an earlier one of the same claim and case; returns it.

        A row measured on a busy machine does not replace one of an idle machine, unless times in its table are
        simulated ones: then a line says so, and `--rows` keeps it elsewhere.

        Args:
            case: what tells this row from others of its table, in the order of columns.
            values: by name, in the order of columns; what was not measured is left out.
            claim: one of those that the benchmark began with; may be left out when that is one.
            note: on this row alone.

        Raises:
            RowError: the claim is not one of those, or a value cannot be shown.
        """
        claim = claim or (self._claims[0] if len(self._claims) == 1 else "")
        if claim not in self._claims:
            raise RowError(f"claim is {claim!r}, expected one of {', '.join(self._claims)}")
        during = others_between(self._begun, instant())
        row = Row(
            claim=claim,
            case=case,
            values=values,
            command=command(),
            date=datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            commit=self._commit,
            machine=self.machine,
            load={
                "average_before": self._average,
                "average_after": [round(load, 2) for load in os.getloadavg()],
                "others_before": round(self._before.cores, 2),
                "others_during": round(during.cores, 2),
                "steal": round(during.steal, 4),
            },
            busy=self._before.busy or during.busy,
            note=note,
        )
        if (stays := replace_row(row, self._folder, simulated=claim in self._simulated)) is not None:
            print(f"{said_to_stay(stays)}; --rows FOLDER keeps this one elsewhere", file=sys.stderr)
        return row


def command() -> str:
    """Returns the command line as typed in the root of the repository."""
    script = Path(sys.argv[0]).resolve()
    name = str(script.relative_to(ROOT)) if script.is_relative_to(ROOT) else str(script)
    return shlex.join(["python", name, *sys.argv[1:]])


def commit() -> str:
    """Returns the commit of the code; results that changed since are no change of it."""
    return commit_without(":!docs/results") or "unknown"


def gpu() -> str:
    """Returns name, memory and driver of the GPUs, "" when there is none."""
    try:
        found = _run("nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader")
    except (OSError, subprocess.CalledProcessError):
        return ""
    return "; ".join(found.splitlines())


def _run(*words: str) -> str:
    return subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
