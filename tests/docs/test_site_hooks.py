"""The front page of the site has its numbers from rows, and no page needs a network."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest
from harness.pages import HEAD
from harness.rows import RowError
from harness.site_hooks import on_page_markdown, on_post_page

from tests import ROOT


def page(name: str) -> SimpleNamespace:
    return SimpleNamespace(file=SimpleNamespace(src_uri=name))


def test_the_front_page_shows_five_numbers_of_rows() -> None:
    text = on_page_markdown((ROOT / "docs" / "index.md").read_text(encoding="utf-8"), page=page("index.md"))
    numbers = re.findall(r"^- \*\*(\d\S*(?: %| ms)?)\*\* ", text, re.MULTILINE)
    assert len(numbers) == 5
    assert not re.search(r"\{[a-z-]+/", text)


def test_a_number_of_the_front_page_whose_row_is_gone_is_refused() -> None:
    with pytest.raises(RowError, match="no table filter/tme"):
        on_page_markdown("{filter/tme | panda | p50}", page=page("index.md"))


def test_other_pages_stay_as_they_are_but_for_the_note_to_editors() -> None:
    """A brace there is what it is; the title of a page of results has to come first."""
    assert on_page_markdown("{a/b | c | d}", page=page("concepts/path.md")) == "{a/b | c | d}"
    assert on_page_markdown(f"{HEAD}\n# Filter", page=page("results/filter.md")) == "# Filter"


@pytest.mark.parametrize(
    "tag",
    [
        '<script src="https://cdn.example/x">',
        '<link rel="stylesheet" href="http://fonts.example/x">',
        "<img src=https://x.example/y>",
    ],
)
def test_a_page_that_loads_something_from_the_network_is_refused(tag: str) -> None:
    with pytest.raises(RowError, match=r"loads http"):
        on_post_page(f"<html>{tag}</html>", page=page("index.md"))


def test_a_link_to_click_is_no_load() -> None:
    assert on_post_page('<a href="https://example.org">', page=page("index.md")) == '<a href="https://example.org">'
