"""The reference of causes says what the code says."""

from __future__ import annotations

import ast
import inspect
from itertools import pairwise

from tendon.core.causes import Cause
from tests import ROOT

PAGE = ROOT / "docs" / "reference" / "topics.md"


def test_the_page_has_a_row_of_each_cause_with_what_to_look_at() -> None:
    (kind,) = ast.parse(inspect.getsource(Cause)).body
    assert isinstance(kind, ast.ClassDef)
    rows = []
    for member, text in pairwise(kind.body):
        if isinstance(member, ast.Assign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
            said = " ".join(str(text.value.value).split())
            rows.append(f"| `{Cause[ast.unparse(member.targets[0])].value}` | {said} |")
    assert len(rows) == len(Cause)
    assert "\n".join(["| cause | what it means, and what to look at |", "|---|---|", *rows]) in PAGE.read_text()
