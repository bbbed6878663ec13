"""Pages of results: what is claimed and what a reader needs to know for it.

A number that was measured is not written in these texts but quoted from its row: {page/table | case | value}, see
`harness.quotes`.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from harness.rows import FOLDER, RowError
from tendon.core.config import build

CLAIMS = FOLDER / "claims"


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of a page.

    Attributes:
        title: its heading.
        text: how to read it, what its bound is. Markdown.
        simulated: times in it are simulated ones, which other load on the machine cannot change.
    """

    title: str
    text: str = ""
    simulated: bool = False


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page.

    Attributes:
        title: its heading.
        order: among the pages of the index, small first.
        claim: in a sentence.
        text: what holds for all of its tables. Markdown.
        picture: the drawing of `harness.pictures` above its tables, "" for none.
        tables: by name.
    """

    title: str
    order: int
    claim: str
    text: str = ""
    picture: str = ""
    tables: dict[str, Table] = field(default_factory=dict)


def read_page(path: Path) -> Page:
    """Reads `claims/NAME.yaml`.

    Raises:
        ConfigError: not YAML, an unknown or a missing key.
    """
    try:
        raw: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise RowError(f"{path} is not YAML: {error}") from error
    if not isinstance(raw, dict) or not isinstance(raw.get("tables"), dict):
        raise RowError(f"{path} must hold a mapping with title, order, claim and tables")
    tables = {name: build(Table, f"{path.name} tables.{name}", values) for name, values in raw["tables"].items()}
    return build(Page, path.name, {**raw, "tables": tables})


def read_pages(folder: Path = CLAIMS) -> dict[str, Page]:
    """Returns every page by name, in the order of the index."""
    pages = {path.stem: read_page(path) for path in sorted(folder.glob("*.yaml"))}
    return dict(sorted(pages.items(), key=lambda item: (item[1].order, item[0])))


def find_table(claim: str, pages: dict[str, Page]) -> Table:
    """Returns the table of a claim "page/table".

    Raises:
        RowError: there is none; names the closest one and where to add it.
    """
    page, _, table = claim.partition("/")
    if page in pages and table in pages[page].tables:
        return pages[page].tables[table]
    known = [f"{name}/{each}" for name in pages for each in pages[name].tables]
    close = difflib.get_close_matches(claim, known, n=1)
    hint = f"; did you mean {close[0]}?" if close else ""
    raise RowError(f"no table {claim}{hint} To add one: docs/results/claims/{page}.yaml, under tables, {table}")
