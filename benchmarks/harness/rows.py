"""Rows of results: what was found, by which command, on which machine, how busy it was. One JSON line a row."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

from tendon.core.errors import ConfigError
from tendon.evaluation.statistics import Proportion, spread, wilson

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "results"
ROWS = FOLDER / "rows"
CLAIM = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*/[a-z0-9]+(-[a-z0-9]+)*")
DATE = re.compile(r"\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}:\d{2}Z)?")


class RowError(ConfigError):
    """A row or a file of rows is not what it must be. The message names file, line and field."""


@dataclass(frozen=True)
class Number:
    """A number with its unit ("" for a count) and, where there is one, its 95 % interval."""

    value: float
    unit: str = ""
    lower: float | None = None
    upper: float | None = None

    def __post_init__(self) -> None:
        """Refuses what JSON and readers have no word for."""
        for name in ("value", "lower", "upper"):
            number = getattr(self, name)
            if name != "value" and number is None:
                continue
            if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
                raise RowError(f"{name} is {number!r}, expected a finite number; leave out what was not measured")
        if (self.lower is None) != (self.upper is None):
            raise RowError(f"interval of {self.value} has one end: give lower and upper, or neither")


Value = Number | Proportion | str
"""A number, a success rate (`tendon.evaluation.statistics.wilson`) or a few words."""


def spread_of(values: Iterable[float], unit: str) -> dict[str, Number]:
    """Returns p50, p99 and max of some numbers; empty when there are none.

    They keep three decimals, so choose a unit in which that is enough.
    """
    found = spread(values)
    return {name: Number(value, unit) for name in ("p50", "p99", "max") if (value := found[name]) is not None}


@dataclass(frozen=True, kw_only=True)
class Row:
    """One case of a claim.

    Attributes:
        claim: page and table, such as "safety-filter/step-time".
        case: what tells this row from the others of its table, such as {"robot": "panda"}; the first columns.
        values: by name; the other columns.
        command: that was typed.
        date: when, UTC.
        commit: of the code, followed by " + changes" when the checkout differed from it.
        machine: processor, cores, memory_gib, gpu, platform, versions.
        load: average_before and average_after (1, 5, 15 minutes), others_before and others_during (cores that other
            processes took), steal (share of the time that the host took). Empty where nobody wrote it down.
        busy: whether others took more than an idle machine's share before or during it.
        note: on this row alone.
        imported: whether it is from the time before rows were written by the benchmark itself.
    """

    claim: str
    case: Mapping[str, str]
    values: Mapping[str, Value]
    command: str
    date: str
    commit: str
    machine: Mapping[str, Any]
    load: Mapping[str, Any]
    busy: bool
    note: str = ""
    imported: bool = False

    def __post_init__(self) -> None:
        """Refuses what a page could not show."""
        for name, kind in KINDS.items():
            if not isinstance(getattr(self, name), kind):
                raise RowError(f"{name} is {getattr(self, name)!r}, expected {EXPECTED[kind]}")
        if not CLAIM.fullmatch(self.claim):
            raise RowError(
                f"claim is {self.claim!r}, expected page/table in lower case, such as safety-filter/step-time"
            )
        if not DATE.fullmatch(self.date):
            raise RowError(f"date is {self.date!r}, expected such as 2026-11-21 or 2026-11-21T12:00:00Z")
        if not self.values:
            raise RowError("values is empty: a row without a value says nothing")
        if not self.command:
            raise RowError("command is empty: nobody could measure this again")
        for name, text in self.case.items():
            if not isinstance(text, str):
                raise RowError(f"case {name} is {text!r}, expected text")
        if "processor" not in self.machine or "cores" not in self.machine:
            raise RowError(f"machine lacks processor or cores, has {', '.join(self.machine) or 'nothing'}")


KINDS = {
    "claim": str,
    "case": Mapping,
    "values": Mapping,
    "command": str,
    "date": str,
    "commit": str,
    "machine": Mapping,
    "load": Mapping,
    "busy": bool,
    "note": str,
    "imported": bool,
}
EXPECTED = {str: "text", Mapping: "a mapping", bool: "true or false"}


def _to_json(value: Value) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, Proportion):
        return {"successes": value.successes, "total": value.total}
    interval = {} if value.lower is None else {"lower": value.lower, "upper": value.upper}
    return {"value": value.value, "unit": value.unit, **interval}


def _from_json(name: str, value: Any) -> Value:
    if isinstance(value, str):
        return value
    try:
        if isinstance(value, dict) and set(value) == {"successes", "total"}:
            return wilson(value["successes"], value["total"])
        if isinstance(value, dict) and "value" in value:
            return Number(**value)
    except (TypeError, ValueError) as error:
        raise RowError(f"value {name}: {error}") from error
    raise RowError(f"value {name} is {value!r}, expected text, {{value, unit}} or {{successes, total}}")


def to_line(row: Row) -> str:
    """Returns the row as one JSON line."""
    record = {name: getattr(row, name) for name in KINDS}
    record["values"] = {name: _to_json(value) for name, value in row.values.items()}
    return json.dumps(record, ensure_ascii=False, allow_nan=False)


def from_line(line: str) -> Row:
    """Returns the row of a JSON line.

    Raises:
        RowError: not JSON, a field is missing, unknown or of the wrong type.
    """
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise RowError(f"not JSON: {error}") from error
    if not isinstance(record, dict):
        raise RowError(f"expected a mapping, got {type(record).__name__}")
    needed = [field.name for field in fields(Row) if field.default is MISSING]
    if missing := [name for name in needed if name not in record]:
        raise RowError(f"lacks {', '.join(missing)}")
    if unknown := sorted(set(record) - set(KINDS)):
        raise RowError(f"unknown field {', '.join(unknown)}; known: {', '.join(KINDS)}")
    if isinstance(record["values"], dict):
        record["values"] = {name: _from_json(name, value) for name, value in record["values"].items()}
    return Row(**record)


def path_of(claim: str, folder: Path) -> Path:
    """Returns the file of a claim's rows."""
    return folder / f"{claim}.jsonl"


def read_rows(claim: str, folder: Path = ROWS) -> list[Row]:
    """Returns the rows of a claim in the order of the file; none when there is no file.

    Raises:
        RowError: a line is wrong, is of another claim, or repeats a case. Says file and line.
    """
    path = path_of(claim, folder)
    if not path.is_file():
        return []
    rows: list[Row] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            row = from_line(line)
            if row.claim != claim:
                raise RowError(f"claim is {row.claim}, expected {claim} in this file")
            if any(row.case == other.case for other in rows):
                raise RowError(f"a second row of case {dict(row.case)}")
        except RowError as error:
            raise RowError(f"{path}, line {number}: {error}") from error
        rows.append(row)
    return rows


def write_row(row: Row, folder: Path = ROWS) -> None:
    """Writes a row in the place of the one of the same case, or after the last."""
    rows = read_rows(row.claim, folder)
    same = [k for k, other in enumerate(rows) if other.case == row.case]
    if same:
        rows[same[0]] = row
    else:
        rows.append(row)
    path = path_of(row.claim, folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_suffix(".part")
    half.write_text("".join(f"{to_line(one)}\n" for one in rows), encoding="utf-8")
    half.replace(path)


def replace_row(row: Row, folder: Path = ROWS, *, simulated: bool = False) -> Row | None:
    """Writes a row unless it is of a busy machine, and one of an idle machine is there.

    Args:
        row: to write.
        folder: of the rows.
        simulated: whether load cannot change it: then it is always written.

    Returns:
        The row that stays; `None` when `row` was written.
    """
    for old in read_rows(row.claim, folder):
        if old.case == row.case and row.busy and not old.busy and not simulated:
            return old
    write_row(row, folder)
    return None


def said_to_stay(row: Row) -> str:
    """Returns the line about a row that stays."""
    return f"{row.claim}, {', '.join(row.case.values())}: the row of an idle machine ({row.date[:10]}) stays"
