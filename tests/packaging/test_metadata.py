"""The things written in two places agree, and each part of Tendon needs only what it says."""

import ast
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

import tendon
from tendon.core.distribution import DISTRIBUTION
from tests import ROOT

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


def test_pip_knows_tendon_by_one_name() -> None:
    """The name in setup.py is the one that hints print; ROS knows the package as `tendon`, which pip does not."""
    in_setup = re.search(r'^    name="(.+?)"', (ROOT / "setup.py").read_text(encoding="utf-8"), re.MULTILINE)
    assert in_setup
    assert in_setup[1] == DISTRIBUTION != "tendon"
    assert ElementTree.parse(ROOT / "package.xml").findtext("name") == "tendon"


def test_no_printed_line_installs_a_strangers_package() -> None:
    """`tendon` on the package index is another project: neither code nor docs may tell anyone to install it."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    stranger = re.compile(r"""pip3? install[^\n]*?[ "'`]tendon(\[|[ "'`=<>~,.)]|$)""", re.MULTILINE)
    files = [
        ROOT / name for name in listed.split("\0") if name.endswith((".py", ".md", ".sh", ".toml", ".yaml", ".xml"))
    ]
    wrong = {str(file) for file in files if file.is_file() and stranger.search(file.read_text(encoding="utf-8"))}
    assert not wrong


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


def test_a_robot_whose_policy_is_elsewhere_needs_no_onnxruntime() -> None:
    """The base install has none."""
    code = "import sys; sys.modules['onnxruntime'] = None; import tendon.ros2_nodes.policy_node, tendon.commands.doctor"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


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


@pytest.mark.parametrize("target", ["setup", "demo", "test", "lint", "types", "docs", "bench"])
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


def test_setup_says_what_it_does_and_what_to_type_next(tmp_path: Path) -> None:
    """Pip takes minutes: its progress is shown, and the last lines are commands that exist."""
    plan = subprocess.run(
        ["make", "--dry-run", f"VENV={tmp_path / 'venv'}", "setup"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    install = next(line for line in plan.splitlines() if "--editable" in line)
    assert "pip install" in install and "--quiet" not in install and "--progress-bar off" not in install
    assert plan.index("== installing Tendon") < plan.index("--editable") < plan.index("Next:")
    assert "make demo" in plan and "tendon --help" in plan
