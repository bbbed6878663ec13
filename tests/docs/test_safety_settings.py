"""The reference of safety thresholds says what the code says: value, bounds, meaning and reason of each."""

from __future__ import annotations

import ast
import inspect
from dataclasses import fields
from itertools import pairwise

import pytest

from tendon.robots.safety_settings import SafetySettings, bounds_of
from tests import ROOT

PAGE = ROOT / "docs" / "reference" / "safety-settings.md"


def docstrings() -> dict[str, str]:
    """Returns what the source says below each field."""
    (settings,) = ast.parse(inspect.getsource(SafetySettings)).body
    assert isinstance(settings, ast.ClassDef)
    found = {}
    for field, text in pairwise(settings.body):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
            found[ast.unparse(field.target)] = " ".join(str(text.value.value).split())
    return found


def rows() -> list[str]:
    """Returns the rows of the page's tables: field, default, tightest, loosest, meaning and reason."""
    texts = docstrings()
    lines = []
    for field in fields(SafetySettings):
        bounds = bounds_of(field.name)
        loosest = f"{bounds.loosest:g}" if bounds.loosest != field.default else "the default"
        default = f"{field.default:g} {bounds.unit}"
        lines.append(f"| `{field.name}` | {default} | {bounds.tightest:g} | {loosest} | {texts[field.name]} |")
    return lines


def test_the_page_has_the_table_of_the_code() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith("| `")] == rows()


@pytest.mark.parametrize("field", fields(SafetySettings), ids=lambda field: field.name)
def test_a_field_says_when_it_may_be_loosened(field: object) -> None:
    name, default = field.name, field.default  # type: ignore[attr-defined]
    said = "May be loosened" in docstrings()[name]
    assert said == (bounds_of(name).loosest != default)
