"""Hooks of MkDocs: the front page quotes rows, as the pages of results do, and no page needs a network."""

from __future__ import annotations

import re
from typing import Any

from harness.claims import read_pages
from harness.pages import HEAD, read_all, value_text
from harness.quotes import QUOTE, find_value
from harness.rows import RowError, Value

FRONT_PAGE = "index.md"
LOADED = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*?\b(?:src|href)=[\"']?(https?://[^\"' >]+)")
"""What a browser fetches when it opens a page; a link that somebody has to click is none of it."""


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Returns the text of a page; in that of the front page each {page/table | case | value} is what its row says.

    The note to editors at the head of a page of results is left out: MkDocs takes a title from the first line only.

    Raises:
        RowError: a row is not there. It ends the build.
    """
    if page.file.src_uri != FRONT_PAGE:
        return markdown.removeprefix(HEAD).lstrip()
    rows = read_all(read_pages())
    return QUOTE.sub(lambda match: _short(find_value(match[1], match[2], match[3], rows)), markdown)


def on_post_page(output: str, *, page: Any, **_: Any) -> str:
    """Returns a page as it is.

    Raises:
        RowError: a browser would fetch something from the network for it. It ends the build.
    """
    if (found := LOADED.search(output)) is not None:
        raise RowError(f"{page.file.src_uri} loads {found[1]}: the site has to work without a network")
    return output


def _short(value: Value) -> str:
    """Returns a number without its interval, which the page behind it shows."""
    return value_text(value).partition(" [")[0]
