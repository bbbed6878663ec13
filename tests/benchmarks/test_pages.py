"""Pages of results come from rows alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from harness.claims import read_pages
from harness.pages import MAX_LINES, number_text, write_pages
from harness.rows import FOLDER, ROWS, Number, Row, RowError, read_rows, write_row
from write_results import take

from tendon.core.errors import ConfigError
from tendon.evaluation.statistics import wilson

CLAIMS = """
title: Filter
order: 1
claim: It costs little.
tables:
  time: {title: Time of a step, text: Bound 100.}
  laws: {title: Laws}
"""
ROW = Row(
    claim="filter/time",
    case={"robot": "panda"},
    values={"p50": Number(0.153, "ms"), "done": wilson(39, 40)},
    command="python benchmarks/filter.py",
    date="2026-11-21",
    commit="30ba610",
    machine={"processor": "EPYC", "cores": 2},
    load={},
    busy=False,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "claims").mkdir()
    (tmp_path / "claims/filter.yaml").write_text(CLAIMS)
    (tmp_path / "rows").mkdir()
    return tmp_path


def written(folder: Path) -> str:
    write_pages(folder, folder / "claims", folder / "rows")
    return (folder / "filter.md").read_text()


def test_committed_pages_are_what_the_rows_give(tmp_path: Path) -> None:
    """Nobody edits them by hand, and nobody forgets `make results`."""
    paths = {path.name for path in write_pages(tmp_path)}
    assert paths == {path.name for path in FOLDER.glob("*.md")}, "run `make results`; delete pages without claims"
    for name in paths:
        assert (FOLDER / name).read_text() == (tmp_path / name).read_text(), f"{name}: run `make results`"


def test_every_committed_row_is_whole() -> None:
    """Every field is there and right, and the rows of a table are told apart by the same words."""
    for name, page in read_pages().items():
        for key in page.tables:
            rows = read_rows(f"{name}/{key}")
            assert len({tuple(row.case) for row in rows}) <= 1, f"{name}/{key}: cases of several forms"
            for row in rows:
                assert row.imported or row.load, f"{name}/{key} {dict(row.case)}: load is missing"
    assert ROWS.is_dir()


def test_a_table_shows_units_rates_and_how_it_was_measured(folder: Path) -> None:
    """One run: its line stands below, no column for it."""
    write_row(ROW, folder / "rows")
    text = written(folder)
    assert "| robot | p50 [ms] | done |\n" in text
    assert "| panda | 0.153 | 97.5 % [87.1, 99.6] (39/40) |\n" in text
    assert "\n`python benchmarks/filter.py`, 2026-11-21, commit 30ba610, 2 x EPYC\n" in text
    assert "## Laws\n\nNot measured yet.\n" in text


def test_busy_rows_are_marked_in_the_table_below_it_and_in_the_index(folder: Path) -> None:
    """One row idle, one busy."""
    write_row(ROW, folder / "rows")
    load = {"others_before": 0.9, "others_during": 1.25, "steal": 0.07}
    write_row(replace(ROW, case={"robot": "g1"}, busy=True, load=load, command="make bench"), folder / "rows")
    text = written(folder)
    assert "| panda | 0.153 | 97.5 % [87.1, 99.6] (39/40) | a |\n" in text
    assert "| g1 | 0.153 | 97.5 % [87.1, 99.6] (39/40) | b, **busy** |\n" in text
    assert "**busy** machine, others took up to 1.25 cores, the host 7 %" in text
    assert "| 1 of 2 |" in (folder / "index.md").read_text()


def test_the_same_rows_give_the_same_bytes(folder: Path) -> None:
    """Also in another process's order of files."""
    write_row(ROW, folder / "rows")
    assert written(folder) == written(folder)


def test_units_that_differ_stand_in_the_cells(folder: Path) -> None:
    """A column of ms and MB says so cell by cell, and what was not measured is a dash."""
    for what, value in (("time", {"value": Number(3, "ms")}), ("size", {"value": Number(5, "MB")}), ("x", {"y": "z"})):
        write_row(replace(ROW, case={"what": what}, values=value), folder / "rows")
    text = written(folder)
    assert "| what | value | y |" in text and "| time | 3 ms | - |" in text and "| size | 5 MB | - |" in text


def test_a_page_that_nobody_reads_to_its_end_is_refused(folder: Path) -> None:
    """More lines than the most a page has."""
    for k in range(MAX_LINES):
        write_row(replace(ROW, case={"robot": str(k)}), folder / "rows")
    with pytest.raises(RowError, match=r"page filter has .* lines, at most 150"):
        written(folder)


def test_rows_without_a_table_are_refused(folder: Path) -> None:
    """A number that no page shows is lost."""
    write_row(replace(ROW, claim="filter/tme"), folder / "rows")
    with pytest.raises(RowError, match="no table filter/tme"):
        written(folder)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (CLAIMS.replace("claim:", "clam:"), "unknown key clam; did you mean claim"),
        (CLAIMS.replace("title: Filter\n", ""), "lacks title"),
        (CLAIMS.replace("text: Bound", "txt: Bound"), "tables.time: unknown key txt"),
        ("[", "is not YAML"),
        ("title: x", "must hold a mapping with title, order, claim and tables"),
    ],
)
def test_a_wrong_claim_file_is_named(folder: Path, text: str, said: str) -> None:
    """With the key that is wrong."""
    (folder / "claims/filter.yaml").write_text(text)
    with pytest.raises(ConfigError, match=rf"filter.yaml.*{said}"):
        written(folder)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.0, "0"),
        (1000000, "1000000"),
        (927.4, "927"),
        (16.86, "16.9"),
        (3.14159, "3.14"),
        (0.0515, "0.0515"),
        (1.7e-6, "1.7e-6"),
        (-0.25, "-0.25"),
        (100.0, "100"),
    ],
)
def test_numbers_have_three_digits_that_count(value: float, text: str) -> None:
    """And whole numbers are whole."""
    assert number_text(value) == text


def quoting(folder: Path, sentence: str) -> str:
    (folder / "claims/filter.yaml").write_text(CLAIMS.replace("It costs little.", f"'{sentence}'"))
    return written(folder)


def test_a_sentence_quotes_a_row_on_its_page_and_in_the_index(folder: Path) -> None:
    """A number in words is the number in the table."""
    write_row(ROW, folder / "rows")
    assert "It costs 0.153 ms." in quoting(folder, "It costs {filter/time | panda | p50}.")
    assert "It costs 0.153 ms." in (folder / "index.md").read_text()


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("{filter/tme | panda | p50}", "no table filter/tme"),
        ("{filter/time | g1 | p50}", "0 rows have this case; known: panda"),
        ("{filter/time | panda | p51}", "the row has no p51, only p50, done"),
        ("{filter/time panda}", "is no quote of a row"),
    ],
)
def test_a_sentence_whose_row_is_gone_is_refused(folder: Path, sentence: str, said: str) -> None:
    """It cannot keep a number that nobody measured."""
    write_row(ROW, folder / "rows")
    with pytest.raises(RowError, match=said):
        quoting(folder, sentence)


def test_rows_of_another_machine_are_taken_over(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Busy ones do not replace idle ones, here neither."""
    other, here = folder / "other", folder / "rows"
    write_row(ROW, here)
    write_row(replace(ROW, busy=True, values={"p50": Number(9, "ms")}), other)
    write_row(replace(ROW, case={"robot": "g1"}), other)
    monkeypatch.setattr("write_results.ROWS", here)
    monkeypatch.setattr("write_results.read_pages", lambda: read_pages(folder / "claims"))
    assert take(other) == 1
    assert [(row.case["robot"], row.busy) for row in read_rows("filter/time", here)] == [
        ("panda", False),
        ("g1", False),
    ]
    with pytest.raises(RowError, match=r"no rows in .*nothing"):
        take(folder / "nothing")
