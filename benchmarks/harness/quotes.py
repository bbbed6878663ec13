"""Numbers inside sentences, taken from rows, so that a sentence cannot keep a number that its row no longer has."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from harness.rows import Row, RowError, Value

QUOTE = re.compile(r"\{([a-z0-9-]+/[a-z0-9-]+) \| ([^|{}]*) \| ([^|{}]*)\}")
"""{page/table | what the case's columns say, joined by ", " | name of the value}"""

Rows = Mapping[str, list[Row]]
"""By claim."""


def find_value(claim: str, case: str, name: str, rows: Rows) -> Value:
    """Returns a value of the only row of a case.

    Raises:
        RowError: no such claim, row or value, or several rows.
    """
    where = f"{{{claim} | {case} | {name}}}"
    if claim not in rows:
        raise RowError(f"{where}: no table {claim}")
    found = [row for row in rows[claim] if ", ".join(row.case.values()) == case.strip()]
    if len(found) != 1:
        known = "; ".join(", ".join(row.case.values()) for row in rows[claim])
        raise RowError(f"{where}: {len(found)} rows have this case; known: {known}")
    if name not in found[0].values:
        raise RowError(f"{where}: the row has no {name}, only {', '.join(found[0].values)}")
    return found[0].values[name]


def fill(text: str, rows: Rows, show: Callable[[Value], str]) -> str:
    """Returns a text with each {page/table | case | value} replaced by what the row says.

    Raises:
        RowError: a row is not there, or a brace begins no quote.
    """
    filled = QUOTE.sub(lambda match: show(find_value(match[1], match[2], match[3], rows)), text)
    if "{" in filled:
        rest = filled[filled.index("{") :][:60]
        raise RowError(f"{rest!r} is no quote of a row, expected {{page/table | case | value}}")
    return filled
