"""The programs in examples/ do what they say, each in a process of its own, as a reader would start them."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT

EXAMPLES = ROOT / "examples"

SAYS = {
    "arm_ur5e": r"3\.0 s: running  turned by 0\.500 rad",
    "collision_distances": r"panda_link5 - panda_hand +0\.\d+ m",
    "compare_timings": r"difference of the rates: .* points \[",
    "evaluate_bundle": r"\d+\.\d % \[.*\] \(\d/2\)",
    "evaluate_own_policy": r"0\.0 % \[.*\] \(0/1\)",
    "filter_a_command": r"what holds it: panda_rightfinger - table",
    "infer_once": r"16 rows, one each 100 ms",
    "load_robot": r"at home panda_hand_tcp is at \[0\.428",
    "make_env": r"success True after \d+ steps",
    "own_bundle": r"digest [0-9a-f]{12}, fits panda",
    "own_suite": r"reach    100\.0 %  .* 4/4",
    "policy_server": r"the same as here, bit by bit: True",
    "read_event_log": r"whole\n[^$]*line 3 was altered",
    "stop_of_a_command": r"the sender is dead[^$]*, 0\.000 rad/s\n$",
}
"""What each prints, among other things."""

NEEDS_A_GRAPH = {"own_policy"}
"""A node that runs until Ctrl-C: tests/ros2_nodes/policy/test_examples.py."""


def test_every_example_is_run() -> None:
    assert {file.stem for file in EXAMPLES.glob("*.py")} == SAYS.keys() | NEEDS_A_GRAPH


@pytest.mark.parametrize("name", SAYS)
def test_an_example_does_what_it_says(name: str, tmp_path: Path) -> None:
    """From another folder: it finds robots and bundles itself."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py")],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    assert re.search(SAYS[name], run.stdout), run.stdout


@pytest.mark.parametrize("name", sorted(SAYS.keys() | NEEDS_A_GRAPH))
def test_an_example_says_what_it_shows_and_how_to_run_it(name: str) -> None:
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    said = ast.get_docstring(ast.parse(text)) or ""
    assert f"python examples/{name}.py" in said


def test_the_page_lists_every_example() -> None:
    page = (ROOT / "docs" / "start" / "python.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `examples/(\w+)\.py` \|", page, re.MULTILINE)
    assert sorted(listed) == sorted(SAYS.keys() | NEEDS_A_GRAPH)
