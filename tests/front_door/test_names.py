"""`import tendon` offers every public name, imports it when it is used, and nothing before."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import tendon
from tendon.core import errors

SOURCE = Path(tendon.__file__)
TREE = ast.parse(SOURCE.read_text(encoding="utf-8"))
ROOT = SOURCE.parents[1]

OPTIONAL = ("onnxruntime", "pybullet", "gymnasium", "rclpy", "websockets", "msgpack", "zmq", "torch", "onnx")
WITHOUT_EXTRAS = f"""
import sys
sys.modules.update(dict.fromkeys({OPTIONAL}))
import tendon
for name in tendon.__all__:
    getattr(tendon, name)
for call, extra in ((tendon.make_env, "sim"), (lambda: tendon.evaluate("tabletop", [100_000]), "sim")):
    try:
        call()
    except tendon.MissingDependencyError as error:
        assert f"[{{extra}}]" in str(error), error
    else:
        raise AssertionError("it must say what to install")
"""


def imported_for_type_checkers() -> dict[str, str]:
    """Returns each name that `tendon/__init__.py` imports under TYPE_CHECKING, with where it is from."""
    (block,) = [node for node in TREE.body if isinstance(node, ast.If)]
    return {
        alias.asname or alias.name: f"{node.module}:{alias.name}"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_type_checkers_see_the_names_that_a_program_gets() -> None:
    assert imported_for_type_checkers() == tendon._HOMES
    assert sorted(tendon.__all__) == sorted(tendon._HOMES)
    assert len(set(tendon.__all__)) == len(tendon.__all__)


@pytest.mark.parametrize("name", tendon.__all__)
def test_a_name_is_the_object_at_its_home(name: str) -> None:
    module, _, attribute = tendon._HOMES[name].partition(":")
    assert getattr(tendon, name) is getattr(import_module(module), attribute)
    assert name in dir(tendon)


def test_every_error_is_public() -> None:
    known = {name for name, value in vars(errors).items() if isinstance(value, type) and value is not object}
    assert known <= set(tendon.__all__)


def test_a_wrong_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'tendon' has no attribute 'load_robots'"):
        tendon.load_robots  # noqa: B018
    assert not hasattr(tendon, "load_robots")


def test_importing_it_imports_nothing_else() -> None:
    """Neither numpy nor typing nor another module of its own."""
    code = "import sys; before = set(sys.modules); import tendon; print(*sorted(set(sys.modules) - before))"
    run = subprocess.run([sys.executable, "-S", "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)
    assert set(run.stdout.split()) <= {"__future__", "tendon"}


def test_every_name_can_be_had_without_the_extras() -> None:
    """And what needs one says so when it is called."""
    subprocess.run([sys.executable, "-c", WITHOUT_EXTRAS], cwd=ROOT, check=True)


def test_the_package_is_marked_as_typed() -> None:
    assert (Path(tendon.__file__).parent / "py.typed").is_file()
