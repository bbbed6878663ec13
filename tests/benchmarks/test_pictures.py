"""Pictures of the results come from rows alone, and the committed ones from the committed rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from harness.claims import read_pages
from harness.pages import PICTURES as FOLDER
from harness.pages import read_all
from harness.pictures import DRAWN_FROM, PICTURES, draw, source_of
from harness.quotes import Rows
from harness.rows import Number, RowError
from PIL import Image

from tendon.evaluation.statistics import wilson


@pytest.fixture(scope="module")
def rows() -> Rows:
    return read_all(read_pages())


@pytest.mark.parametrize("name", PICTURES)
def test_committed_pictures_are_of_the_committed_rows(rows: Rows, name: str) -> None:
    """A PNG says what it was drawn from; matplotlib's version may change its bytes."""
    with Image.open(FOLDER / f"{name}.png") as picture:
        assert picture.info[DRAWN_FROM] == source_of(name, rows), f"{name}.png is old: run `make results`"


@pytest.mark.parametrize("name", PICTURES)
def test_the_same_rows_draw_the_same_bytes(rows: Rows, name: str, tmp_path: Path) -> None:
    """So that `make results` changes a picture only where a number changed."""
    for number in (1, 2):
        draw(name, rows, tmp_path / f"{number}.png")
    assert (tmp_path / "1.png").read_bytes() == (tmp_path / "2.png").read_bytes()


def test_no_page_names_a_picture_that_does_not_exist() -> None:
    """And every picture is on a page."""
    assert {page.picture for page in read_pages().values() if page.picture} == set(PICTURES)


def test_all_scenes_done_or_none_is_drawn(rows: Rows, tmp_path: Path) -> None:
    """No bar of negative length, which matplotlib refuses."""
    ends = [replace(rows["success/families"][0], values={"success": wilson(k, 7)}) for k in (0, 7)]
    draw("success", {**rows, "success/families": ends}, tmp_path / "ends.png")
    assert (tmp_path / "ends.png").is_file()


def test_a_row_without_the_number_is_named(rows: Rows, tmp_path: Path) -> None:
    """Not drawn as a bar of no length."""
    broken = [replace(rows["peers/end-to-end"][0], values={"p50": "fast", "p99": Number(1, "ms")})]
    with pytest.raises(RowError, match="p50 is 'fast', the picture needs a number"):
        draw("peers", {**rows, "peers/end-to-end": broken}, tmp_path / "peers.png")


def test_an_unknown_picture_names_those_there_are(rows: Rows, tmp_path: Path) -> None:
    """A typing error in a claim's file."""
    with pytest.raises(RowError, match="no picture sucess; known: success, peers"):
        draw("sucess", rows, tmp_path / "sucess.png")
