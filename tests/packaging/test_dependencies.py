"""Imports, setup.py and package.xml agree: what the code needs, pip and rosdep bring, and nothing else."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tendon.commands import doctor
from tendon.graph.arguments import ARGUMENTS
from tendon.graph.description import describe
from tendon.graph.node_imports import BACKEND_NODES, NODES, import_failures
from tests import ROOT

NEEDED: Mapping[str, tuple[str, str]] = {
    "coal": ("coal", "coal"),
    "cryptography": ("cryptography", "python3-cryptography"),
    "cv2": ("opencv-python-headless", "python3-opencv"),
    "daqp": ("daqp", ""),
    "numpy": ("numpy", "python3-numpy"),
    "pinocchio": ("pin", "pinocchio"),
    "rich": ("rich", "python3-rich"),
    "safetensors": ("safetensors", ""),
    "tokenizers": ("tokenizers", ""),
    "scipy": ("scipy", "python3-scipy"),
    "typer": ("typer", ""),
    "yaml": ("PyYAML", "python3-yaml"),
}
"""What a deployment imports: the names that pip and rosdep have for it; no rosdep key is an empty one."""

RUNTIMES = {"cpu": "onnxruntime", "gpu": "onnxruntime-gpu"}
"""Extras, and the package of each that holds `onnxruntime`; they hold the same files."""

OPTIONAL: Mapping[str, tuple[str, str]] = {
    "PIL": ("pillow", "sim"),
    "av": ("av", "sim"),
    "cma": ("cma", "redteam"),
    "evdev": ("evdev", "teleop"),
    "gymnasium": ("gymnasium", "sim"),
    "matplotlib": ("matplotlib", "sim"),
    "mcap": ("mcap", "data"),
    "msgpack": ("msgpack", "remote"),
    "mujoco": ("mujoco", "mujoco"),
    "onnx": ("onnx", "train"),
    "openvino": ("openvino", "openvino"),
    "pyarrow": ("pyarrow", "data"),
    "pybullet": ("pybullet", "sim"),
    "pyspacemouse": ("pyspacemouse", "teleop"),
    "pybullet_data": ("pybullet", "sim"),
    "pytest": ("pytest", "dev"),
    "ray": ("ray", "ray"),
    "rosbags": ("rosbags", "data"),
    "rerun": ("rerun-sdk", "view"),
    "torch": ("torch", "train"),
    "websockets": ("websockets", "remote"),
    "zstandard": ("zstandard", "data"),
    "zmq": ("pyzmq", "remote"),
}
"""What only a part imports: pip's name, and the extra of setup.py that brings it."""

ELSEWHERE = {"lerobot", "transformers", "rclpy", "launch", "launch_ros"}
"""From `make setup-lerobot` and from ROS, which test_metadata.py looks at."""


def imported() -> set[str]:
    """Top-level names that the code imports in any scope, but for messages of ROS."""
    names: set[str] = set()
    for folder in ("tendon", "policies", "sim", "ros2_nodes", "calibration", "launch"):
        for file in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    names |= {alias.name.split(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    names.add(node.module.split(".")[0])
    messages = {name for name in names if name.endswith(("_msgs", "_srvs", "_interfaces"))}
    return names - messages - set(sys.stdlib_module_names) - {"tendon"} - ELSEWHERE


@pytest.fixture(scope="module")
def requirements() -> dict[str, set[str]]:
    """What setup.py asks for, without versions: by extra, "" for what is always asked for."""
    code = (
        "import json; from distutils.core import run_setup; made = run_setup('setup.py', stop_after='init');"
        "print(json.dumps({'': made.install_requires, **made.extras_require}))"
    )
    told = subprocess.run(
        [sys.executable, "-c", f"import setuptools; {code}"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    asked: dict[str, list[str]] = json.loads(told.stdout.splitlines()[-1])
    return {extra: {re.split(r"[\[<>=~! ]", each)[0] for each in names} for extra, names in asked.items()}


def manifest(tag: str) -> list[str]:
    return [str(e.text) for e in ElementTree.parse(ROOT / "package.xml").iter(tag)]


def test_every_import_is_known_and_every_known_one_is_imported() -> None:
    """A new dependency has to be named here, and thereby in setup.py and package.xml; one that is gone, removed."""
    assert imported() == NEEDED.keys() | OPTIONAL.keys() | {"onnxruntime"}


def test_pip_brings_what_is_needed_and_nothing_else(requirements: dict[str, set[str]]) -> None:
    assert requirements[""] == {pip for pip, _ in NEEDED.values()}


def test_no_two_extras_bring_the_same_files_twice(requirements: dict[str, set[str]]) -> None:
    """Onnxruntime comes with `cpu` or with `gpu`, with nothing else, and never both with one of them."""
    for extra, names in requirements.items():
        assert names & set(RUNTIMES.values()) == ({RUNTIMES[extra]} if extra in RUNTIMES else set())
    assert "python3-onnxruntime-pip" in manifest("exec_depend")


@pytest.mark.parametrize(
    "place", ["README.md", *sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md"))]
)
def test_every_line_that_begins_an_environment_says_which_onnxruntime(place: str) -> None:
    """A base install has none. A line of one extra alone adds to an environment that has it."""
    found = re.findall(r"tendon-vla\[([a-z,]+)\]", (ROOT / place).read_text(encoding="utf-8"))
    wrong = [each for each in found if "," in each and len(RUNTIMES.keys() & each.split(",")) != 1]
    assert not wrong, f"{place}: say cpu or gpu, such as tendon-vla[cpu,{wrong[0]}]"


@pytest.mark.parametrize("name", OPTIONAL)
def test_an_optional_import_comes_with_its_extra(name: str, requirements: dict[str, set[str]]) -> None:
    pip, extra = OPTIONAL[name]
    assert pip in requirements[extra]


def test_package_xml_names_all_that_is_needed_to_rosdep_or_to_pip() -> None:
    keys, by_hand = set(manifest("exec_depend")), {re.split("[<>=]", name)[0] for name in manifest("pip_depend")}
    for pip, key in NEEDED.values():
        assert (key in keys) if key else (pip in by_hand), pip
    assert by_hand == {pip for pip, key in NEEDED.values() if not key}


@pytest.mark.parametrize("place", ["package.xml", "docs/how-to/robot.md"])
def test_the_line_for_pip_names_what_rosdep_has_not(place: str) -> None:
    """The line a ROS user pastes, in both places where it stands."""
    words = [f'"{name}"' if ">" in name else name for name in manifest("pip_depend")]
    assert f"pip install {' '.join(words)}\n" in (ROOT / place).read_text(encoding="utf-8")


@pytest.mark.parametrize("backend", ["sim", "mock"])
def test_the_doctor_tries_every_node_that_a_graph_starts(backend: str) -> None:
    everything = describe({**{a.name: a.default for a in ARGUMENTS}, "arm": "true", "backend": backend})
    modules = {process.module.rpartition(".")[2] for process in everything.processes}
    assert modules == {*NODES, *BACKEND_NODES[backend]}


def test_without_daqp_the_doctor_names_each_node_that_would_die(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As on a robot where only rosdep was asked: today's graph ended there, and the doctor saw nothing."""
    (tmp_path / "daqp.py").write_text("raise ModuleNotFoundError(\"No module named 'daqp'\", name='daqp')\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{ROOT}")
    failures = import_failures(NODES)
    assert failures["control_node"] == ("ModuleNotFoundError: No module named 'daqp'", "daqp")
    assert doctor.command() == 1
    printed = capsys.readouterr().out
    assert "control_node" in printed and "pip install daqp" in printed


def test_a_node_whose_libraries_crash_is_a_line_and_not_the_end_of_the_doctor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "daqp.py").write_text("import os\nos.abort()\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{ROOT}")
    (node,) = import_failures(["control_node"])
    assert node == "control_node"
