"""Functions that are compiled when they are imported."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tendon.core.compiled import NUMBER, ROW, compiled

ROOT = Path(__file__).parents[2]
SOURCES = [
    path
    for path in (ROOT / "tendon").rglob("*.py")
    if "import" in path.read_text() and "core.compiled" in path.read_text()
]
"""Of those that compile something."""


@compiled(ROW, NUMBER)
def shares(row: np.ndarray, whole: float) -> np.ndarray:
    return row / whole


def test_division_by_zero_is_that_of_numpy_and_other_arguments_are_refused() -> None:
    with np.errstate(all="ignore"):
        expected = np.array([1.0, 0.0, -1.0]) / 0.0
    assert np.array_equal(shares(np.array([1.0, 0.0, -1.0]), 0.0), expected, equal_nan=True)
    frozen = np.ones(2)
    frozen.setflags(write=False)
    assert shares(frozen, 2.0).tolist() == [0.5, 0.5]
    for wrong in (np.ones((2, 2)), np.ones(2, dtype=np.float32), np.ones(4)[::2], None):
        with pytest.raises(TypeError, match="No matching definition"):
            shares(wrong, 1.0)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_a_compiled_function_uses_nothing_of_ours_from_another_file(path: Path) -> None:
    """Numba keeps the result until that file changes, and would go on with what another file said before."""
    tree = ast.parse(path.read_text())
    foreign = {
        name.asname or name.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tendon")
        for name in node.names
    }
    kernels = [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and any("compiled" in ast.unparse(each) for each in node.decorator_list)
    ]
    for kernel in kernels:
        used = {node.id for line in kernel.body for node in ast.walk(line) if isinstance(node, ast.Name)}
        assert not used & foreign, kernel.name


KEPT = """
from tendon.core.compiled import NUMBER, compiled

@compiled(NUMBER)
def twice(value):
    return 2.0 * value

print(twice(2.0), len(twice.stats.cache_hits))
"""


def run(folder: Path, before: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": f"{folder}:{ROOT}", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", f"{before}\nimport kept"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", [b"", b"\x80\x05cut", bytes(range(256))])
def test_a_kept_result_that_a_power_cut_has_damaged_is_made_anew(tmp_path: Path, suffix: str, damage: bytes) -> None:
    (tmp_path / "kept.py").write_text(KEPT)
    assert run(tmp_path).stdout == "4.0 0\n"
    for file in (tmp_path / "__pycache__").glob(f"*.{suffix}"):
        file.write_bytes(damage)
    assert run(tmp_path).stdout == "4.0 0\n"
    assert run(tmp_path).stdout == "4.0 0\n"
    assert run(tmp_path).stdout == "4.0 1\n"


@pytest.mark.parametrize(
    "before",
    [
        "import numba.core.caching as c; c.CacheImpl._locator_classes = []",
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))",
    ],
    ids=["no folder can be written", "the disk is full"],
)
def test_where_nothing_can_be_kept_it_is_compiled_each_time(tmp_path: Path, before: str) -> None:
    (tmp_path / "kept.py").write_text(KEPT)
    done = run(tmp_path, before)
    assert done.stdout == "4.0 0\n", done.stderr
