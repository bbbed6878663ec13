"""Rows of results: what is written is read again, and what is damaged says where."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from harness.rows import Number, Row, RowError, from_line, path_of, read_rows, spread_of, to_line, write_row

from tendon.evaluation.statistics import wilson

ROW = Row(
    claim="filter/step-time",
    case={"robot": "panda", "what": "filter, limits | clearances"},
    values={"mean": Number(153.25, "us"), "gain": Number(1.2, "", 1.0, 1.5), "done": wilson(39, 40), "broken": "none"},
    command="python benchmarks/filter.py --steps 8000",
    date="2026-11-21T12:00:00Z",
    commit="30ba610",
    machine={"processor": "EPYC", "cores": 2, "memory_gib": 24.0, "versions": {"python": "3.11.7"}},
    load={"average_before": [0.1, 0.1, 0.1], "others_before": 0.02, "others_during": 0.05, "steal": 0.001},
    busy=False,
    note="½ µs",
)


def test_a_row_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Numbers with and without interval, rates, words, and a note that is not ASCII."""
    write_row(ROW, tmp_path)
    assert read_rows(ROW.claim, tmp_path) == [ROW]


def test_a_new_run_takes_the_place_of_the_same_case_and_of_no_other(tmp_path: Path) -> None:
    """Rows keep their places, so that a page changes only where a number did."""
    other = replace(ROW, case={"robot": "g1", "what": "filter, limits"})
    for row in (ROW, other, replace(ROW, values={"mean": Number(99, "us")})):
        write_row(row, tmp_path)
    assert [row.case for row in read_rows(ROW.claim, tmp_path)] == [ROW.case, other.case]
    assert read_rows(ROW.claim, tmp_path)[0].values == {"mean": Number(99, "us")}


def test_no_rows_are_no_error(tmp_path: Path) -> None:
    """A claim that was not measured yet has no file."""
    assert read_rows("filter/step-time", tmp_path) == []


def changed(**fields: object) -> str:
    return json.dumps({**json.loads(to_line(ROW)), **fields})


def without(name: str) -> str:
    record = json.loads(to_line(ROW))
    del record[name]
    return json.dumps(record)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "not JSON"),
        ("", "not JSON"),
        ("[]", "expected a mapping, got list"),
        (without("machine"), "lacks machine"),
        (without("busy"), "lacks busy"),
        (changed(speed=1), "unknown field speed"),
        (changed(busy="no"), "busy is 'no', expected true or false"),
        (changed(values={}), "values is empty"),
        (changed(values=[]), r"values is \[\], expected a mapping"),
        (changed(values={"p50": 3.0}), "value p50 is 3.0, expected text"),
        (changed(values={"p50": {"value": "3", "unit": "ms"}}), "value p50: value is '3', expected a finite number"),
        (changed(values={"p50": {"value": math.nan, "unit": "ms"}}), "value p50: value is nan"),
        (changed(values={"p50": {"value": 1, "unit": "ms", "lower": 0}}), "give lower and upper, or neither"),
        (changed(values={"p50": {"value": 1, "typo": "ms"}}), "value p50"),
        (changed(values={"done": {"successes": 5, "total": 4}}), "value done: 5 successes of 4"),
        (changed(case={"robot": 3}), "case robot is 3, expected text"),
        (changed(date="yesterday"), "date is 'yesterday', expected such as"),
        (changed(command=""), "command is empty"),
        (changed(machine={"cores": 2}), "machine lacks processor or cores"),
        (changed(claim="../../etc/passwd"), "expected page/table"),
        (changed(claim="filter/other"), "claim is filter/other, expected filter/step-time in this file"),
        (to_line(ROW), "a second row of case"),
    ],
)
def test_a_damaged_line_is_named_by_file_line_and_field(tmp_path: Path, line: str, said: str) -> None:
    """Whoever broke a file by hand or by a merge finds the place."""
    write_row(ROW, tmp_path)
    path = path_of(ROW.claim, tmp_path)
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(RowError, match=rf"step-time.jsonl, line 2: .*{said}"):
        read_rows(ROW.claim, tmp_path)


@pytest.mark.parametrize("number", [math.nan, math.inf, True, "3", None])
def test_what_is_no_number_is_refused_when_it_is_made(number: object) -> None:
    """A benchmark whose median is of nothing leaves the value out."""
    with pytest.raises(RowError, match="expected a finite number"):
        Number(number, "ms")  # type: ignore[arg-type]


def test_a_spread_of_nothing_is_empty() -> None:
    """And of numbers it is p50, p99 and max."""
    assert spread_of([], "ms") == {}
    found = spread_of(range(101), "ms")
    assert found == {"p50": Number(50, "ms"), "p99": Number(99, "ms"), "max": Number(100, "ms")}


def test_every_line_is_one_row() -> None:
    """A note with a line break does not break the file."""
    row = replace(ROW, note="a\nb")
    assert "\n" not in to_line(row)
    assert from_line(to_line(row)) == row
