"""The package of somebody's own robot in examples/own_robot: its tests pass, and its CI types what exists."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tendon.cli.seeds import parse_seeds
from tendon.robots.profile import load_profile
from tests import ROOT
from tests.docs.test_commands import wrong_words

EXAMPLE = ROOT / "examples" / "own_robot"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The folder as somebody copied it, away from this repository."""
    return shutil.copytree(EXAMPLE, tmp_path / "own_robot", ignore=shutil.ignore_patterns("__pycache__", ".*_cache"))


@pytest.mark.graph
def test_its_tests_pass(package: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=package,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "3 passed" in run.stdout


def commands() -> list[str]:
    """Returns what the workflow of its CI types."""
    workflow = yaml.safe_load((EXAMPLE / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8"))
    return [step["run"] for step in workflow["jobs"]["test"]["steps"] if "run" in step]


def test_its_workflow_runs_the_tests_and_an_evaluation_that_exists() -> None:
    assert "python -m pytest --junitxml=outputs/tests.xml" in commands()
    (line,) = [shlex.split(command) for command in commands() if command.startswith("tendon ")]
    assert wrong_words(line) == []
    assert line[:4] == ["tendon", "eval", "run", "my_arm/policy"] and (EXAMPLE / line[3] / "bundle.yaml").is_file()
    load_profile(str(EXAMPLE / line[line.index("--robot") + 1]))
    assert len(parse_seeds(line[line.index("--seeds") + 1], 100_000, 200_000)) == 20


def test_what_it_asks_pip_for_exists() -> None:
    asked = (EXAMPLE / "pyproject.toml").read_text(encoding="utf-8")
    assert 'dependencies = ["tendon-vla[cpu,ros,sim]"]' in asked


def test_its_readme_names_every_file_that_matters() -> None:
    readme = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    for name in ("my_arm/robot/", "my_arm/policy/", "my_arm/fit.py", "tests/test_my_arm.py"):
        assert f"`{name}`" in readme and (EXAMPLE / name).exists()
