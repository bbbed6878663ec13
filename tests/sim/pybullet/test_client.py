"""Importing PyBullet prints nothing, and hides nothing else that is said meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def run(code: str, *paths: Path) -> subprocess.CompletedProcess[str]:
    search = os.pathsep.join([*map(str, paths), *sys.path])
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": search}
    )


def test_nothing_is_printed() -> None:
    result = run("from tendon.sim.pybullet.client import pybullet; pybullet.connect(pybullet.DIRECT)")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_errors_are_not_hidden(tmp_path: Path) -> None:
    """A PyBullet that cannot be loaded says why, in C and in Python."""
    lines = ["import os", 'os.write(2, b"pybullet build time: now\\nEGL failed\\n")', 'raise ImportError("no libGL")']
    (tmp_path / "pybullet.py").write_text("\n".join(lines))
    result = run("import tendon.sim.pybullet.client", tmp_path)
    assert result.returncode == 1
    assert result.stderr.startswith("EGL failed\n")
    assert result.stderr.endswith("ImportError: no libGL\n")


def test_it_may_be_imported_without_stderr() -> None:
    result = subprocess.run(
        ["/bin/sh", "-c", '"$0" -c "import tendon.sim.pybullet.client; print(1)" 2>&-', sys.executable],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert (result.returncode, result.stdout) == (0, "1\n")
