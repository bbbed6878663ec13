"""Recipes go on where they were cut, and take nothing of a cut evaluation for its answer."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

RECIPE = Path(__file__).parents[2] / "recipes" / "lerobot_residual.sh"


def run(work: Path, exit_code: int) -> subprocess.CompletedProcess[str]:
    """Runs the recipe with a `tendon` that writes its --out, as an evaluation that is cut does, and ends so."""
    tool = work / "bin" / "tendon"
    tool.parent.mkdir(exist_ok=True)
    lines = ("#!/bin/sh", 'while [ "$1" != --out ]; do shift; done', 'echo "{}" > "$2"', f"exit {exit_code}")
    tool.write_text("\n".join(lines) + "\n")
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    path = f"{tool.parent}:{os.environ['PATH']}"
    asked = ["bash", str(RECIPE), str(work)]
    return subprocess.run(asked, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("exit_code", [2, 130, 137])
def test_an_evaluation_that_was_cut_ends_the_recipe_and_is_run_again(exit_code: int, tmp_path: Path) -> None:
    for _ in range(2):
        assert run(tmp_path, exit_code).returncode == exit_code
        assert not list(tmp_path.glob("drawer_arm-*.json")) and not (tmp_path / "drawer_arm.yaml").exists()


def test_a_strength_at_which_too_little_is_shown_is_kept_and_the_next_one_tried(tmp_path: Path) -> None:
    ended = run(tmp_path, 1)
    assert ended.returncode == 1 and "the policy alone does too few drawers" in ended.stderr
    assert len(list(tmp_path.glob("drawer_arm-*.json"))) == 6
