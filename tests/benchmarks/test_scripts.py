"""Every script of benchmarks/ says what it is for, and every row names a script that is there."""

from __future__ import annotations

import json
import runpy
import shlex
import subprocess
import sys
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "benchmarks"
SCRIPTS = sorted(path for path in BENCHMARKS.rglob("*.py") if "__main__" in path.read_text())
OPTIONAL = {"torch", "lerobot"}
"""What `make setup-dev` does not install."""


def ask_all() -> None:
    """Asks each script for its help, in one process: libraries are loaded once. Prints what each says."""
    for script in SCRIPTS:
        path = mock.patch.object(sys, "path", [str(script.parent), *sys.path])
        with path, mock.patch.object(sys, "argv", [str(script), "--help"]):
            try:
                runpy.run_path(str(script), run_name="__main__")
            except SystemExit as end:
                assert not end.code, f"{script} ended with {end.code}"
            except ModuleNotFoundError as error:
                if error.name not in OPTIONAL:
                    raise
                print(f"usage: {script.name}: no {error.name} here")
        # The next one has to find the harness by itself.
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", "")).startswith(str(BENCHMARKS)):
                del sys.modules[name]


def test_every_script_answers_help() -> None:
    """A script that was moved, or whose imports were, fails here and not at the next measurement."""
    code = "from tests.benchmarks.test_scripts import ask_all; ask_all()"
    said = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert said.returncode == 0, said.stderr
    silent = [script.name for script in SCRIPTS if f"usage: {script.name}" not in said.stdout]
    assert not silent


def test_every_row_names_a_script_that_is_there() -> None:
    for path in (ROOT / "docs/results/rows").rglob("*.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            command = shlex.split(json.loads(line)["command"])
            if command[0] == "python":
                assert (ROOT / command[1]).is_file(), f"{path.relative_to(ROOT)}: {shlex.join(command)}"
