"""Topics have their names in one place, `tendon/graph/topics.py`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tendon.graph import topics
from tests import ROOT

ENDS = ("/action_chunk", "/image_raw", "/camera_info", "/joint_trajectory", "/commands")
NAMES = {value for value in vars(topics).values() if isinstance(value, str) and "/" in value}


def texts_of(path: Path) -> Iterator[str]:
    """Yields the texts in a module that are no docstrings."""
    tree = ast.parse(path.read_text())
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.value


def test_no_topic_is_spelled_twice() -> None:
    files = [path for folder in ("tendon/graph", "ros2_nodes") for path in (ROOT / folder).rglob("*.py")]
    found = {
        (path.name, text)
        for path in files
        if path != ROOT / "tendon" / "graph" / "topics.py"
        for text in texts_of(path)
        if text in NAMES or text.endswith(ENDS)
    }
    assert len(files) > 40 and not found
