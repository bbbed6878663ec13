"""The things written in two places agree, and each part of Tendon needs only what it says."""

import ast
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from load_probe import ROOT

import tendon

CORE_MAY_IMPORT = {"numpy", "pinocchio", "coal", "yaml"}

# Imports everything that deployment needs as if the optional dependencies were not there.
IMPORT_WITHOUT = """
import importlib, pkgutil, sys
OPTIONAL = ("tendon.policies.training", "tendon.policies.export", "tendon.policies.remote.")
sys.modules.update(dict.fromkeys(["torch", "onnx", "pybullet", "gymnasium", "rclpy", "websockets", "msgpack", "zmq"]))
for package in ("tendon.core", "tendon.control", "tendon.policies"):
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, package + "."):
        if not module.name.startswith(OPTIONAL):
            importlib.import_module(module.name)
"""


def imports(folder: Path) -> set[str]:
    """Top-level names that the Python files of a folder import, in any scope."""
    names: set[str] = set()
    for file in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module.split(".")[0])
    return names - set(sys.stdlib_module_names) - {"tendon"}


def test_the_version_is_the_same_everywhere() -> None:
    """In setup.py, package.xml, the package and the newest entry of the changelog."""
    in_setup = re.search(r'version="(.+)"', (ROOT / "setup.py").read_text(encoding="utf-8"))
    in_changelog = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert in_setup
    assert in_changelog
    in_package = ElementTree.parse(ROOT / "package.xml").findtext("version")
    assert {in_setup[1], in_changelog[1], in_package} == {tendon.__version__}


def test_core_imports_numpy_pinocchio_with_its_coal_and_yaml_only() -> None:
    """Everything stands on core, so core stands on little."""
    assert imports(ROOT / "tendon" / "core") <= CORE_MAY_IMPORT


def test_package_xml_names_every_ros_package_that_is_imported() -> None:
    """A missing one works with the wheels, and fails on a robot with a minimal ROS."""
    depends = {e.text for e in ElementTree.parse(ROOT / "package.xml").iter("exec_depend")}
    used = imports(ROOT / "ros2_nodes") | imports(ROOT / "launch")
    ros = {name for name in used if name.endswith(("_msgs", "_srvs", "_interfaces")) or name in ("rclpy", "launch_ros")}
    assert ros <= depends


def test_deployment_needs_no_torch_simulator_ros_or_network() -> None:
    """The base install runs core, control and policies."""
    subprocess.run([sys.executable, "-c", IMPORT_WITHOUT], cwd=ROOT, check=True)


def test_launch_is_not_a_package() -> None:
    """An `__init__.py` there would shadow ROS's own `launch`."""
    assert not list((ROOT / "launch").rglob("__init__.py"))


def test_make_help_lists_every_target() -> None:
    """What can be typed is what is listed."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)
    assert phony
    listed = subprocess.run(["make", "help"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert re.findall(r"^  make (\S+)", listed, re.MULTILINE) == phony[1].split()


@pytest.mark.parametrize("target", ["setup", "demo", "test", "lint", "types", "bench"])
def test_a_bare_checkout_needs_nothing_typed_first(target: str, tmp_path: Path) -> None:
    """Each target makes the environment before it uses it."""
    plan = subprocess.run(
        ["make", "--dry-run", f"VENV={tmp_path / 'venv'}", target],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    assert plan.stdout.index(".ci/create-venv") < plan.stdout.index("pip install")
